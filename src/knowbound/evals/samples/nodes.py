"""Values of a JSON or YAML file together with their lines, so that an error can name the line it is in."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

DEPTH = 64  # nested lists and objects; a samples file needs about ten
LONGEST_NUMBER = 300  # characters; no number that a person writes has more


class UnreadableError(Exception):
    """The text is not valid JSON or YAML: the line, and what is wrong there."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.line = line
        self.message = message


@dataclass(slots=True)
class SourceNode:
    """One value of a file, and where it and everything in it begins."""

    value: Any  # as plain Python data
    line: int
    written: str = ""  # a plain YAML scalar as it is written, where its value loses that (001)
    depth: int = 0  # levels of lists and objects that it is made of
    members: dict[str | int, SourceNode] = field(default_factory=dict)  # of an object by key, of a list by index
    key_lines: dict[str, int] = field(default_factory=dict)
    repeated: list[tuple[str, int]] = field(default_factory=list)  # keys that come again, and their lines

    def append(self, member: SourceNode) -> None:
        """Add a value to a list."""
        self.members[len(self.value)] = member
        self.value.append(member.value)
        self.depth = max(self.depth, member.depth + 1)

    def put(self, key: str, line: int, member: SourceNode) -> None:
        """Add a member to an object; of a repeated key the first value stays."""
        if key in self.members:
            self.repeated.append((key, line))
            return
        self.members[key] = member
        self.key_lines[key] = line
        self.value[key] = member.value
        self.depth = max(self.depth, member.depth + 1)

    def at(self, path: Sequence[str | int]) -> SourceNode:
        """The value that this path leads to."""
        node = self
        for step in path:
            node = node.members[step]
        return node

    def items(self) -> Iterator[SourceNode]:
        """The values of a list; nothing where this is no list."""
        return iter(self.members.values() if isinstance(self.value, list) else ())


def line_finder(text: str, first: int = 1) -> Callable[[int], int]:
    """Which line a character is in; the text begins in line `first`."""
    ends = [found.start() for found in re.finditer("\n", text)]
    return lambda at: first + bisect_left(ends, at)


def checked_text(text: str, line: int) -> str:
    """The text, where every program can take it."""
    if "\0" in text:
        raise UnreadableError(line, "a text contains a NUL character")
    if not text.isascii() and any("\ud800" <= sign <= "\udfff" for sign in text):
        raise UnreadableError(line, "a text contains half of a surrogate pair (\\ud800 to \\udfff alone)")
    return text


def too_deep(line: int) -> UnreadableError:
    """The error for nesting beyond the limit."""
    return UnreadableError(line, f"lists and objects are nested more than {DEPTH} deep")
