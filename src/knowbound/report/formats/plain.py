"""Text made safe for a terminal, and fitted into its columns."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, TypeVar, cast
from unicodedata import combining, east_asian_width

import msgspec

# CSI, OSC and other string sequences (only when they end), and the short escapes.
_TERMINAL_CODES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-Z\\^-~]"
)
# Control and format characters, but not the two joiners that emoji and several scripts need.
UNSEEN = re.compile(
    r"[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    r"\U000e0000-\U000e007f]"
)
UNSEEN_BUT_LINES = re.compile(UNSEEN.pattern.replace(r"\x00-\x1f", r"\x00-\x09\x0b-\x1f"))
BROKEN = re.compile(r"[\ud800-\udfff]")
_DEEPEST = 40  # spaces before a line
_Value = TypeVar("_Value", bound=msgspec.Struct)


def plain(text: str) -> str:
    """Return one line without terminal codes, control, direction and invisible characters."""
    spaced = " ".join(_TERMINAL_CODES.sub("", text).split())
    seen = " ".join(UNSEEN.sub("", spaced).split())
    return BROKEN.sub("\N{REPLACEMENT CHARACTER}", seen)


def printable(text: str) -> str:
    """Return a text in its layout, with untrusted names and words made safe for any terminal."""
    seen = UNSEEN_BUT_LINES.sub("", _TERMINAL_CODES.sub("", text))
    return BROKEN.sub("\N{REPLACEMENT CHARACTER}", seen)


def plain_piece(text: str) -> str:
    """A piece of a line: plain, with the space at its ends where it meets its neighbours."""
    return " " * text[:1].isspace() + plain(text) + " " * (text[-1:].isspace() and not text.isspace())


def plain_lines(text: str) -> str:
    """Text as it was written, line by line."""
    indents = ((min(len(line) - len(line.lstrip(" ")), _DEEPEST), line) for line in text.splitlines())
    return "\n".join((" " * indent + plain(line)).rstrip() for indent, line in indents)


def made_plain(value: _Value) -> _Value:
    """The same value with every text in it made plain, for formats that are written from values."""
    return msgspec.convert(_plain(msgspec.to_builtins(value)), type(value))


def _plain(value: object) -> object:
    """Return a value of plain data with every text in it made plain."""
    if isinstance(value, str):
        return plain(value)
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {_plain(key): _plain(item) for key, item in value.items()}
    return value


def near(path: str, folders: Iterable[str]) -> str:
    """A path relative to the first of the folders that it is in."""
    starts = (folder.rstrip("/") + "/" for folder in folders if folder)
    return next((path.removeprefix(start) for start in starts if path.startswith(start)), path)


def with_files_near(value: _Value, folders: Iterable[str]) -> _Value:
    """The same value with the files of its places relative to the first of the folders that they are in."""
    tops = list(folders)

    def moved(part: object) -> Any:
        if isinstance(part, list | tuple):
            return type(part)(map(moved, part))
        if not isinstance(part, msgspec.Struct):
            return part
        fields = {name: moved(getattr(part, name)) for name in part.__struct_fields__}
        # "file" is the name of a file only beside a line; elsewhere it may be anything.
        files = {name: near(fields[name], tops) for name in ("file", "trace") if name in fields and "line" in fields}
        return msgspec.structs.replace(part, **(fields | files))

    return cast("_Value", moved(value))


def markdown_text(text: str) -> str:
    """Text that stays text in markdown."""
    return re.sub(r"([\\`*_{}\[\]<>|#])", r"\\\1", text)


_CLOSING = tuple("，。；：、！？）」”")
_EIGHTHS = " ▏▎▍▌▋▊▉"


def cells(text: str) -> int:
    """Return the number of terminal columns of the text."""
    if text.isascii():
        return len(text)
    return sum(_cells_of(character) for character in text)


def _cells_of(character: str) -> int:
    """Return the columns of a character: none for joiners and accents, two for wide ones."""
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
    """Return the start of the text that fits into so many columns."""
    columns = 0
    for index, character in enumerate(text):
        columns += _cells_of(character)
        if columns > width:
            return text[:index]
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
    """Return the cells of a table, padded to the width of their column; `right` names right-aligned columns."""
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
    start, middle, end = (min(int(share * width), width - 1) for share in (low, value, high))
    line = ["┈"] * width
    line[start : end + 1] = ["─"] * (end - start + 1)
    line[start], line[end], line[middle] = "├", "┤", "●"
    return "".join(line)
