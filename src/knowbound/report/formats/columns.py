"""Text in terminal columns: a Chinese character takes two, a combining one none."""

from __future__ import annotations

from unicodedata import combining, east_asian_width

_CLOSING = tuple("，。；：、！？）」”")
_EIGHTHS = " ▏▎▍▌▋▊▉"


def cells(text: str) -> int:
    """How many columns the text takes."""
    if text.isascii():
        return len(text)
    return sum(_cells_of(character) for character in text)


def _cells_of(character: str) -> int:
    if character in "\u200c\u200d" or combining(character):
        return 0
    return 2 if east_asian_width(character) in "WF" else 1


def pad(text: str, width: int, *, right: bool = False) -> str:
    """The text filled up to a width; `right` sets it at the right edge."""
    blank = " " * (width - cells(text))
    return blank + text if right else text + blank


def shorten(text: str, width: int) -> str:
    """The text, or its start with an ellipsis where it is wider."""
    return text if cells(text) <= width else _head(text, width - 1).rstrip() + "…"


def _head(text: str, width: int) -> str:
    taken = 0
    for at, character in enumerate(text):
        taken += _cells_of(character)
        if taken > width:
            return text[:at]
    return text


def wrap(text: str, width: int, most: int) -> list[str]:
    """The text in at most so many lines of a width, broken at spaces where there are any; then an ellipsis."""
    lines: list[str] = []
    rest = text
    while cells(rest) > width and len(lines) < most - 1:
        head = _head(rest, width + 1)
        cut = head.rfind(" ")
        line = rest[:cut] if cut > width // 2 else _head(rest, width)
        while len(line) > 1 and rest[len(line) : len(line) + 1] in _CLOSING:  # no line starts with a closing mark
            line = line[:-1]
        lines.append(line)
        rest = rest[len(line) :].lstrip()
    return [*lines, shorten(rest, width)]


def aligned(table: list[list[str]], right: tuple[str, ...]) -> list[list[str]]:
    """The cells of a table filled up to the width of their column; `right` names the heads of right-aligned ones."""
    widths = [max(cells(cell) for cell in column) for column in zip(*table, strict=True)]
    return [
        [pad(cell, width, right=head in right) for cell, width, head in zip(row, widths, table[0], strict=True)]
        for row in table
    ]


def bar(value: float, width: int) -> str:
    """A bar of block characters for a share of 0 to 1; anything above 0 shows."""
    eighths = max(round(value * width * 8), 1 if value > 0 else 0)
    return ("█" * (eighths // 8) + _EIGHTHS[eighths % 8]).rstrip()


def interval_bar(low: float, value: float, high: float, width: int) -> str:
    """A share and its interval on a line from 0 to 1."""
    at_low, at, at_high = (min(int(share * width), width - 1) for share in (low, value, high))
    line = ["┈"] * width
    line[at_low : at_high + 1] = ["─"] * (at_high - at_low + 1)
    line[at_low], line[at_high], line[at] = "├", "┤", "●"
    return "".join(line)
