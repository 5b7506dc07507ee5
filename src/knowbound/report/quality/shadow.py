"""What would have been injected, in any format, with how to accept and reject it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from knowbound.report.format_names import PageFormat
from knowbound.report.formats import render
from knowbound.report.formats.json import as_json, fields
from knowbound.report.quality.model import TO_LOOK_AT, ShadowChoice, ShadowStatus
from knowbound.report.sections import Entry, Listing, Note, Page, Section, Span, Tone, data
from knowbound.text.printable import counted

VERB = "knowbound quality shadow"


def render_shadow(
    found: ShadowStatus, shown: Sequence[ShadowChoice], format: PageFormat, *, width: int = 100, colour: bool = False
) -> str:
    """Return the choices to look at in a format; width and colour are for the terminal."""
    return render(format, lambda: _page(found, shown), lambda: shadow_document(found), width=width, colour=colour)


def shadow_document(found: ShadowStatus) -> dict[str, object]:
    """Return the shadow as JSON."""
    counts = fields(found.counts, "judged on_topic used contradicted unjudged")
    known = fields(found, "is_on since? answered left")
    return {"format": "knowbound.shadow/1", **known, "counts": counts, "choices": as_json(found.choices)}


def _page(found: ShadowStatus, shown: Sequence[ShadowChoice]) -> Page:
    state = "Nothing reaches your agent here" if found.is_on else "Items are injected here"
    return Page(
        verb="quality shadow",
        title="What would have been injected",
        lead="Choices of the hooks, for you to accept or reject before anything reaches the agent.",
        totals=f"{state}: {counted(len(found.choices), 'choice')}, {found.answered} of {TO_LOOK_AT} looked at.",
        origin=(),
        sections=(Section("", (_listing(shown),)),),
        commands=tuple(_commands(found, shown)),
    )


def _listing(shown: Sequence[ShadowChoice]) -> Listing | Note:
    if not shown:
        return Note("Nothing is left to look at.")
    return Listing(tuple(map(_entry, shown)), TO_LOOK_AT, "--format json")


def _entry(one: ShadowChoice) -> Entry:
    asked = ("for the prompt: ", Span(one.prompt, Tone.QUOTE))
    return Entry((data(one.key), f" [{one.item}] ", Span(one.content, Tone.QUOTE)), (asked,), place=one.time[:10])


def _commands(found: ShadowStatus, shown: Sequence[ShadowChoice]) -> Iterator[tuple[str, str]]:
    if shown:
        yield f"{VERB} --accept {shown[0].key}", "it would have helped"
        yield f"{VERB} --reject {shown[0].key}", "the item is held back"
    elif found.is_on and not found.left:
        yield f"{VERB} --start", "items are injected in this project"
