"""Sentences of text: of the prose in Markdown, or of plain text.

Fenced code, block quotes and rules are left out; inline code, quotations and addresses are masked. A mask is as long as
the text it hides, so positions in the mask are positions in the text. Every pattern is linear: a megabyte of one
character costs milliseconds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from knowbound.core.lazy_pattern import lazy

HIDDEN = "¤"  # in place of a character of code or of a quotation

_FENCE = lazy(r"[ \t]{0,12}(?:[-*+][ \t]+|\d{1,3}[.)][ \t]+)?(```|~~~)")
_QUOTE = lazy(r"[ \t]*>")
_RULE = lazy(r"[\s|:=─━_*+-]*\Z")  # a horizontal rule, a table's second line, nothing
_ITEM = lazy(r"(?:[-*+•–][ \t]+|\(?\d{1,3}[.)、][ \t]*+(?!\d)|\(?[a-hA-H][.)][ \t]+)")
_HEADING = lazy(r"#{1,6}[ \t]")
_ALL_BOLD = lazy(r"\*\*[^*]++(?<![.!?。！？])\*\*:?[ \t]*\Z")  # a whole sentence in bold is no heading
_HIDE = lazy(
    r"`[^`\n]+`"  # inline code
    r"|https?://[^\s)>\]]+"
    r'|"[^"\n]*"|“[^“”\n]*”|「[^「」\n]*」|『[^『』\n]*』'  # not over a second opening sign: that would be quadratic
    r"|'(?<![\w']')[^'\n]{1,80}'(?!\w)"  # its first sign comes first: the regex engine then finds it quickly
)
_END = lazy(  # begins with its signs for the same reason, and looks back from there
    r"[.!?…。！？；](?:(?<=[.!?…])(?<![.!?…]{2})[.!?…]*+[\"')\]*_”’]*+(?=\s)"
    r"|(?<=[。！？；])(?<![。！？；]{2})[。！？；]*+[”’）】」』*]*+)"
)
_PLAIN_END = lazy(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")
_ABBREVIATION = lazy(r"(?:\b(?:e\.g|i\.e|cf|vs|etc|approx|resp|incl|esp|fig|no|al|a\.k\.a|w\.r\.t)|^\W*\d+)\Z", re.I)
_STARTS_UPPER = lazy(r"\s{0,4}[^\w¤]{0,4}[A-Z¤一-鿿]")
_WRAPPED_CHARACTERS = 60  # a line at least this long may go on in the next one


class Sentence(NamedTuple):
    """A sentence with the list, heading or table sign in front of it, its mask, and its neighbours."""

    text: str
    masked: str
    before: str = ""
    after: str = ""


def sentences(text: str, worth: Callable[[str], bool] = bool) -> list[Sentence]:
    """Return the prose sentences of `text`, in order; each is a piece of `text`.

    A line that is not `worth` splitting stays whole with an empty mask, as a neighbour of other sentences.
    """
    found: list[tuple[str, str]] = []
    for line in _paragraphs(text):
        if line and worth(line):
            found += _split(line)
        elif whole := line.strip():
            found.append((whole, ""))
    last = len(found) - 1
    return [
        Sentence(raw, masked, found[i - 1][0] if i else "", found[i + 1][0] if i < last else "")
        for i, (raw, masked) in enumerate(found)
    ]


def plain_sentences(text: str) -> list[str]:
    """Return the sentences and lines of text without Markdown, in order."""
    return [part for part in map(str.strip, _PLAIN_END.split(text)) if part]


def mask(text: str) -> str:
    """Hide inline code, quotations and addresses, character for character."""
    return _HIDE.sub(lambda found: HIDDEN * len(found[0]), text)


def shape(sentence: str) -> str:
    """Return the kind of a sentence by the sign in front of it: `item`, `heading`, `cell` or `prose`."""
    if sentence.startswith("|"):
        return "cell"
    if _HEADING.match(sentence) or _ALL_BOLD.match(sentence):
        return "heading"
    return "item" if _ITEM.match(sentence) else "prose"


def prose_lines(text: str) -> Iterator[str]:
    """Yield the lines of `text`, with "" for lines of fenced code and block quotes."""
    if not (">" in text or "```" in text or "~~~" in text):
        yield from text.split("\n")
        return
    fence = ""
    for line in text.split("\n"):
        border = _FENCE.match(line)
        if border and fence in ("", border[1]):
            fence = "" if fence else border[1]
            yield ""
        else:
            yield "" if fence or _QUOTE.match(line) else line


def _paragraphs(text: str) -> Iterator[str]:
    """Yield prose lines, joined where only the width of a terminal broke them."""
    joined_lines: list[str] = []
    for line in prose_lines(text):
        if joined_lines and not (_may_go_on(joined_lines[-1]) and line[:1].islower()):
            yield "\n".join(joined_lines)
            joined_lines = []
        joined_lines.append(line)
    yield "\n".join(joined_lines)


def _may_go_on(line: str) -> bool:
    """Report whether a line is as long as a terminal is wide, and does not end a sentence."""
    return len(line) >= _WRAPPED_CHARACTERS and (line[-1].isalnum() or line[-1] in ",`)")


def _split(line: str) -> Iterator[tuple[str, str]]:
    """Yield the sentences of a line, each with its mask."""
    line = line.strip()
    if _RULE.match(line):  # a rule, the second line of a table
        return
    masked = mask(line)
    if line.startswith("|"):
        yield from _cells(line, masked)
        return
    start = 0
    for end in _END.finditer(masked):
        if _ends_sentence(masked, start, end):
            yield from _piece(line, masked, start, end.end())
            start = end.end()
    yield from _piece(line, masked, start, len(line))


def _cells(line: str, masked: str) -> Iterator[tuple[str, str]]:
    """Yield the cells of a table's row, each with the `|` in front of it."""
    start = 0
    while start < len(line) - 1:
        end = masked.find("|", start + 1)
        end = len(line) if end < 0 else end
        if line[start + 1 : end].strip():
            yield line[start:end].rstrip(), masked[start:end].rstrip()
        start = end


def _ends_sentence(masked: str, start: int, end: re.Match[str]) -> bool:
    """Report whether a sign ends the sentence: no dot of an abbreviation, no `…` before a small letter."""
    sign = end[0]
    if sign[0] in "。！？；!?":
        return True
    if sign.startswith(("...", "…")):
        return bool(_STARTS_UPPER.match(masked, end.end()))
    return not _ABBREVIATION.search(masked, max(start, end.start() - 12), end.start())


def _piece(line: str, masked: str, start: int, end: int) -> Iterator[tuple[str, str]]:
    """Yield a part of a line and of its mask without spaces around it, or nothing."""
    raw = line[start:end]
    left = len(raw) - len(raw.lstrip())
    raw = raw.strip()
    if raw:
        yield raw, masked[start + left : start + left + len(raw)]
