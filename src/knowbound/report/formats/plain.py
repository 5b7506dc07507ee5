"""Text from traces is data: every format for people makes it plain before showing it.

A trace holds whatever an agent met: terminal codes, direction overrides, unseen characters, broken Unicode.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeVar

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
    """One line without terminal codes, control, direction and unseen characters."""
    spaced = " ".join(_TERMINAL_CODES.sub("", text).split())
    seen = " ".join(UNSEEN.sub("", spaced).split())
    return BROKEN.sub("\N{REPLACEMENT CHARACTER}", seen)


def printable(text: str) -> str:
    """Text with names and words of others in it as it is laid out, fit for any terminal."""
    seen = UNSEEN_BUT_LINES.sub("", _TERMINAL_CODES.sub("", text))
    return BROKEN.sub("\N{REPLACEMENT CHARACTER}", seen)


def plain_piece(text: str) -> str:
    """A piece of a line: plain, with the space at its ends where it meets its neighbours."""
    return " " * text[:1].isspace() + plain(text) + " " * (text[-1:].isspace() and not text.isspace())


def plain_lines(text: str) -> str:
    """Text as it was written, line by line."""
    return "\n".join((" " * _indent(line) + plain(line)).rstrip() for line in text.splitlines())


def _indent(line: str) -> int:
    return min(len(line) - len(line.lstrip(" ")), _DEEPEST)


def made_plain(value: _Value) -> _Value:
    """The same value with every text in it made plain, for formats that are written from values."""
    return msgspec.convert(_plain(msgspec.to_builtins(value)), type(value))


def _plain(value: object) -> object:
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


def markdown_text(text: str) -> str:
    """Text that stays text in markdown."""
    return re.sub(r"([\\`*_{}\[\]<>|#])", r"\\\1", text)
