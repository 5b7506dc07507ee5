"""Lines of a report: strings of ours, and spans of text that comes from a trace, a file or a model.

Every text is made safe by the format that shows it. Text that is not ours is a `Span` of the tone DATA, QUOTE, PROSE or
TITLE, so that a format can keep it apart from ours. The functions at the end write these values.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from typing import TypeAlias

from msgspec import Struct


class Tone(StrEnum):
    """The look of a span. A signal type is a tone as well."""

    DATA = "data"  # text of a trace, a file or a model: code
    QUOTE = "quote"  # what an agent said
    PROSE = "prose"  # sentences that are not all ours
    TITLE = "title"  # text of a trace that names an entry
    STRONG = "strong"
    SOFT = "soft"
    PILL = "pill"
    OPEN_PILL = "pill open"
    GOOD = "good"
    FAIR = "fair"
    BAD = "bad"
    UNSURE = "unsure"  # a verdict on too few samples: no hard colour


FOREIGN = (Tone.DATA, Tone.QUOTE, Tone.PROSE, Tone.TITLE)  # of spans whose text is not all ours


class Span(Struct, frozen=True):
    """A piece of text with a tone; `link` is the anchor of an entry or a row, or a page of the studio (/…), if any."""

    text: str
    tone: str = Tone.DATA
    link: str = ""


class Bar(Struct, frozen=True):
    """A share from 0 to 1, drawn."""

    share: float
    tone: str = ""


class Fold(Struct, frozen=True):
    """A summary, and longer texts behind it where a format can fold."""

    summary: str
    texts: tuple[str, ...]


Inline: TypeAlias = str | Span | Bar | Fold
Line: TypeAlias = Inline | tuple[Inline, ...]


def inlines(line: Line) -> tuple[Inline, ...]:
    """The pieces of a line."""
    return line if isinstance(line, tuple) else (line,)


def joined(lines: Iterable[Line], separator: str = " · ") -> Line:
    """Join lines to one line, without empty lines."""
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
    """Return the text as the most important part of a line."""
    return Span(text, Tone.STRONG)
