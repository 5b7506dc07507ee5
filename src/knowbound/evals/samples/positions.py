"""Text that knows where it stands: JSON and YAML as nodes with line numbers, so that an error can name its line.

A samples file is written by hand: what is wrong in it is told with its line, in the nested parts too. The readers here
are strict where a slip would change a test set silently (a key that is there twice), and bounded where a file could
grow while it is read (aliases of YAML, nesting).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

DEPTH = 64  # nested lists and objects; a samples file needs about ten
NODES = 1_000_000  # values of a file, each alias counted with all it stands for


class BadTextError(Exception):
    """The text cannot be read as what it should be: the line, and what is wrong there."""

    def __init__(self, line: int, what: str) -> None:
        super().__init__(what)
        self.line = line
        self.what = what


@dataclass(slots=True)
class Node:
    """One value of a file: a scalar, a list of nodes, or an object of nodes by key."""

    value: bool | int | float | str | list[Node] | dict[str, Node] | None
    line: int
    written: str = ""  # a plain YAML scalar as it is written, which its value may not show (001)
    keys: dict[str, int] = field(default_factory=dict)  # of an object: the line of each key
    twice: list[tuple[str, int]] = field(default_factory=list)  # of an object: keys that are there again, and where

    @property
    def plain(self) -> Any:
        """The value without positions."""
        if isinstance(self.value, list):
            return [one.plain for one in self.value]
        if isinstance(self.value, dict):
            return {key: one.plain for key, one in self.value.items()}
        return self.value

    def put(self, key: str, line: int, value: Node) -> None:
        """Add a member of an object; the first of two stays."""
        assert isinstance(self.value, dict)
        if key in self.value:
            self.twice.append((key, line))
        else:
            self.value[key] = value
            self.keys[key] = line


def line_finder(text: str, first: int = 1) -> Callable[[int], int]:
    """Which line a character stands in; the text begins in line `first`."""
    ends = [found.start() for found in re.finditer("\n", text)]
    return lambda at: first + bisect_left(ends, at)


def sound(text: str, line: int) -> str:
    """Text that every program can be given."""
    if "\0" in text:
        raise BadTextError(line, "a text holds a NUL character")
    if not text.isascii() and any("\ud800" <= sign <= "\udfff" for sign in text):
        raise BadTextError(line, "a text holds half of a surrogate pair (\\ud800 to \\udfff without its other half)")
    return text
