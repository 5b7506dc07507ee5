"""Functions that write the values of `sections.py`; they take what a generator yields.

section("Sources", "sources", table("source | signals> | meaning", rows), Note("..."))
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from knowbound.report.sections import (
    Column,
    Entry,
    Facts,
    Inline,
    Line,
    Listing,
    Part,
    Row,
    Section,
    Span,
    Table,
    Tone,
    inlines,
)

_COLUMN = re.compile(r"(.*?)(>?)(?:\?(\d))?")


def joined(lines: Iterable[Line], separator: str = " · ") -> Line:
    """Lines in one, empty ones left out."""
    pieces: list[Inline] = []
    for line in lines:
        if line:
            pieces += [separator, *inlines(line)] if pieces else inlines(line)
    return tuple(pieces)


def data(text: str) -> Span | str:
    """Text that is not ours, or nothing."""
    return Span(text) if text else ""


def prose(text: str) -> Span | str:
    """Sentences that are not all ours, or nothing."""
    return Span(text, Tone.PROSE) if text else ""


def soft(text: str) -> Span:
    """Something beside the point."""
    return Span(text, Tone.SOFT)


def quote(text: str) -> Span:
    """Words of an agent or a user."""
    return Span(text, Tone.QUOTE)


def strong(text: str) -> Span:
    """What matters most in a line."""
    return Span(text, Tone.STRONG)


def columns(names: str) -> tuple[Column, ...]:
    """Columns by their names: `sample | cost> | place?2`. `>` sets numbers right, `?2` is `optional`."""
    found = (_COLUMN.fullmatch(name.strip()) for name in names.split("|"))
    return tuple(Column(one[1], bool(one[2]), int(one[3] or 0)) for one in found if one)


def table(names: str, rows: Iterable[Row | Sequence[Line]], shown: int = 25, hint: str = "--format json") -> Table:
    """A table from the names of its columns and its rows; a row without an anchor is its cells alone."""
    made = tuple(row if isinstance(row, Row) else Row(tuple(row)) for row in rows)
    return Table(columns(names), made, shown, hint)


def listing(found: Iterable[Entry | Line], shown: int = 10, hint: str = "", total: int = 0) -> Listing:
    """A list of entries, or of lines that are entries of their own."""
    return Listing(tuple(one if isinstance(one, Entry) else Entry(one) for one in found), shown, hint, total)


def facts(rows: Iterable[tuple[str, Line]]) -> Facts:
    """Names, each with a line."""
    return Facts(tuple(rows))


def section(title: str, name: str, *parts: Part, folded_in: tuple[str, ...] = ()) -> Section:
    """Parts under a title and an anchor."""
    return Section(title, parts, name, folded_in)
