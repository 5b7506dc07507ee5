"""Suggested corrections in any format: what was contradicted, what would replace it, how to answer (section 5)."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

import msgspec

from knowbound.core.suggestions import ANSWER_DAYS, Suggestion
from knowbound.report.format_names import PageFormat
from knowbound.report.formats import render
from knowbound.report.quality.item import turn_words
from knowbound.report.sections import Entry, Line, Listing, Note, Page, Section, Span, Tone, data, joined
from knowbound.text.printable import counted

VERB = "knowbound quality corrections"
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
    """All of them in a format; width and colour are for the terminal."""
    return render(format, lambda: _page(waiting), lambda: _document(waiting), width=width, colour=colour)


def _page(waiting: Sequence[Suggestion]) -> Page:
    return Page(
        verb="quality corrections",
        title="Suggested corrections",
        lead="Items that an agent contradicted, until somebody answers.",
        totals=f"{counted(len(waiting), 'suggested correction')} waiting for an answer",
        origin=(),
        sections=(Section("", (_listing(waiting),)),),
        commands=tuple(_commands(waiting)),
    )


def _listing(waiting: Sequence[Suggestion]) -> Listing | Note:
    if not waiting:
        return Note("Nothing: no item that is served was contradicted as it is worded now.")
    return Listing(tuple(map(_entry, waiting)), 10, "--format json")


def _entry(one: Suggestion) -> Entry:
    marks = " HELD_BACK" if one.held_by else " UNVERIFIED" if one.is_unverified else ""
    where = joined((one.raised[:10], *turn_words(one.session, one.turn, is_short=True)))
    return Entry((data(f"[{one.item}]"), f"{marks} ", Span(one.content, Tone.QUOTE)), tuple(_lines(one)), place=where)


def _lines(one: Suggestion) -> Iterator[Line]:
    times = f" ({counted(one.contradictions, 'time')})" if one.contradictions > 1 else ""
    if one.statement:
        yield f"contradicted{times}: ", Span(one.statement, Tone.QUOTE)
    if one.draft:
        yield "suggested: ", Span(one.draft, Tone.QUOTE)
        if one.needs_person:
            yield "check it: the value is neither in the tree nor in the user's words, so no agent can accept it"
    else:
        yield f"nothing drafted: {_WHY.get(one.missing, one.missing)}"


def _commands(waiting: Sequence[Suggestion]) -> Iterator[tuple[str, str]]:
    if not waiting:
        return
    first = waiting[0]
    id_ = shlex.quote(first.item)
    yield f"{VERB} accept {id_}" + ("" if first.draft else " --content '…'"), "supersedes the item"
    yield f"{VERB} edit {id_}", "the same, after you changed the words"
    yield f"{VERB} dismiss {id_}", "the item is right as it is"


def _document(waiting: Sequence[Suggestion]) -> dict[str, object]:
    return {"format": "knowbound.corrections/1", "answer_days": ANSWER_DAYS, "suggestions": list(map(_row, waiting))}


def _row(one: Suggestion) -> dict[str, object]:
    row: dict[str, object] = msgspec.to_builtins(one)
    del row["record"], row["answer"], row["content_sha"]
    return row | {"draft": one.draft or None, "missing": one.missing or None}
