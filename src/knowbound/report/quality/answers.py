"""What waits for a person's answer: suggested corrections, and choices of the shadow before anything is injected."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

import msgspec

from knowbound.core.quality import ANSWER_DAYS, Suggestion
from knowbound.report.format_names import PageFormat
from knowbound.report.formats import render
from knowbound.report.formats.json import document
from knowbound.report.quality.item import COUNTS, turn_words
from knowbound.report.quality.model import TO_LOOK_AT, ShadowChoice, ShadowStatus
from knowbound.report.sections import Entry, Line, Note, Page
from knowbound.report.writing import data, joined, listing, quote, section
from knowbound.text.printable import counted

CORRECTIONS, SHADOW = "knowbound quality corrections", "knowbound quality shadow"
_WHY = {
    "empty": "the agent gave no other content",
    "question": "the agent asked a question",
    "unknown": "the agent only said that it is not known",
    "other subject": "the agent spoke of something else",
    "too long": "what the agent said is far longer than the item",
    "same": "what the agent said is the item itself",
    "old value": "no sentence says what is true without the value that is wrong",
    "screened": "what the agent said is kept back: it may command an agent",
    "secret": "what the agent said holds a secret",
}


def render_suggestions(
    waiting: Sequence[Suggestion], format: PageFormat, *, width: int = 100, colour: bool = False
) -> str:
    """All suggested corrections in a format; width and colour are for the terminal."""

    def keys() -> dict[str, object]:
        rows = list(map(_row, waiting))
        return {"format": "knowbound.corrections/1", "answer_days": ANSWER_DAYS, "suggestions": rows}

    return render(format, lambda: _page(waiting), keys, width=width, colour=colour)


def _row(one: Suggestion) -> dict[str, object]:
    row: dict[str, object] = msgspec.to_builtins(one)
    del row["record"], row["answer"], row["content_sha"]
    return row | {"draft": one.draft or None, "missing": one.missing or None}


def _page(waiting: Sequence[Suggestion]) -> Page:
    nothing = Note("Nothing: no item that is served was contradicted as it is worded now.")
    shown = listing(map(_entry, waiting), 10, "--format json") if waiting else nothing
    return Page(
        verb="quality corrections",
        title="Suggested corrections",
        lead="Items that an agent contradicted, until somebody answers.",
        totals=f"{counted(len(waiting), 'suggested correction')} waiting for an answer",
        sections=(section("", "", shown),),
        commands=tuple(_commands(waiting)),
    )


def _entry(one: Suggestion) -> Entry:
    marks = " HELD_BACK" if one.held_by else " UNVERIFIED" if one.is_unverified else ""
    where = joined((one.raised[:10], *turn_words(one.session, one.turn, is_short=True)))
    return Entry((data(f"[{one.item}]"), f"{marks} ", quote(one.content)), tuple(_lines(one)), where)


def _lines(one: Suggestion) -> Iterator[Line]:
    times = f" ({counted(one.contradictions, 'time')})" if one.contradictions > 1 else ""
    if one.statement:
        yield f"contradicted{times}: ", quote(one.statement)
    if not one.draft:
        yield f"nothing drafted: {_WHY.get(one.missing, one.missing)}"
        return
    yield "suggested: ", quote(one.draft)
    if one.needs_person:
        yield "check it: the value is neither in the tree nor in the user's words, so no agent can accept it"


def _commands(waiting: Sequence[Suggestion]) -> Iterator[tuple[str, str]]:
    for first in waiting[:1]:
        id_ = shlex.quote(first.item)
        yield f"{CORRECTIONS} accept {id_}" + ("" if first.draft else " --content '…'"), "supersedes the item"
        yield f"{CORRECTIONS} edit {id_}", "the same, after you changed the words"
        yield f"{CORRECTIONS} dismiss {id_}", "the item is right as it is"


def render_shadow(
    found: ShadowStatus, shown: Sequence[ShadowChoice], format: PageFormat, *, width: int = 100, colour: bool = False
) -> str:
    """Return the choices to look at in a format; width and colour are for the terminal."""
    page, keys = (lambda: _shadow_page(found, shown)), (lambda: shadow_document(found))
    return render(format, page, keys, width=width, colour=colour)


def shadow_document(found: ShadowStatus) -> dict[str, object]:
    """Return the shadow as JSON."""
    return document("knowbound.shadow/1", found, f"is_on since? answered left counts({COUNTS}) choices")


def _shadow_page(found: ShadowStatus, shown: Sequence[ShadowChoice]) -> Page:
    state = "Nothing reaches your agent here" if found.is_on else "Items are injected here"
    commands: tuple[tuple[str, str], ...] = ()
    if shown:
        commands = (
            (f"{SHADOW} --accept {shown[0].key}", "it would have helped"),
            (
                f"{SHADOW} --reject {shown[0].key}",
                "the item is held back",
            ),
        )
    elif found.is_on and not found.left:
        commands = ((f"{SHADOW} --start", "items are injected in this project"),)
    part = listing(map(_choice, shown), TO_LOOK_AT, "--format json") if shown else Note("Nothing is left to look at.")
    return Page(
        verb="quality shadow",
        title="What would have been injected",
        lead="Choices of the hooks, for you to accept or reject before anything reaches the agent.",
        totals=f"{state}: {counted(len(found.choices), 'choice')}, {found.answered} of {TO_LOOK_AT} looked at.",
        sections=(section("", "", part),),
        commands=commands,
    )


def _choice(one: ShadowChoice) -> Entry:
    asked = ("for the prompt: ", quote(one.prompt))
    return Entry((data(one.key), f" [{one.item}] ", quote(one.content)), (asked,), one.time[:10])
