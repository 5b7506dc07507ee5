"""Values of a JSON or YAML file together with their lines, so that an error can name the line it is in.

JSON is read here: `json` decides what is valid, then one pass over the tokens finds the lines.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

MOST_DEPTH = 64  # nested lists and objects; a samples file needs about ten
LONGEST_NUMBER = 300  # characters; no number that a person writes has more
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:,]|[^\s\[\]{}:,"]+')
_MISPLACED = {  # what begins with this sign, and belongs elsewhere
    "": "the file ends in the middle",
    "/": "JSON has no comments: remove it, or use YAML",
    "#": "JSON has no comments: remove it, or use YAML",
    "'": "JSON has double quotes only",
}


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
    """Return a function from the position of a character to its line; the text begins in line `first`."""
    ends = [found.start() for found in re.finditer("\n", text)]
    return lambda position: first + bisect_left(ends, position)


def checked_text(text: str, line: int) -> str:
    """Return the text. Raises UnreadableError for a character that not every program can take."""
    if "\0" in text:
        raise UnreadableError(line, "a text contains a NUL character")
    if not text.isascii() and any("\ud800" <= sign <= "\udfff" for sign in text):
        raise UnreadableError(line, "a text contains half of a surrogate pair (\\ud800 to \\udfff alone)")
    return text


def too_deep(line: int) -> UnreadableError:
    """The error for nesting beyond the limit."""
    return UnreadableError(line, f"lists and objects are nested more than {MOST_DEPTH} deep")


def json_node(text: str, first_line: int = 1) -> SourceNode:
    """The JSON text as a node; it begins in line `first_line` of its file."""
    line_of = line_finder(text, first_line)
    try:
        json.loads(text, parse_int=str)  # which takes any number of digits
    except json.JSONDecodeError as error:
        position, message = _mistake(text, error)
        raise UnreadableError(line_of(position), f"{message} (not valid JSON)") from None
    except RecursionError:
        pass  # the pass over the tokens stops at the depth limit, and knows the line
    tokens = _TOKEN.finditer(text)
    return _node(next(tokens), tokens, line_of, 0)


def _node(
    first: re.Match[str], tokens: Iterator[re.Match[str]], line_of: Callable[[int], int], depth: int
) -> SourceNode:
    """The value that begins with this token, in text that is valid."""
    opening, line = first.group(), line_of(first.start())
    if opening not in ("[", "{"):
        return SourceNode(_scalar(opening, line), line)
    if depth >= MOST_DEPTH:
        raise too_deep(line)
    node = SourceNode([] if opening == "[" else {}, line, depth=1)
    for token in tokens:
        if token.group() in ("]", "}"):
            break
        if token.group() == ",":
            continue
        if opening == "[":
            node.append(_node(token, tokens, line_of, depth + 1))
        else:
            key = _node(token, tokens, line_of, depth)
            next(tokens)  # the colon
            node.put(key.value, key.line, _node(next(tokens), tokens, line_of, depth + 1))
    return node


def _scalar(token: str, line: int) -> Any:
    """Return the value of a JSON text, number or word. Raises UnreadableError beyond our limits."""
    if token.startswith('"'):
        return checked_text(json.loads(token), line)
    if token in ("NaN", "Infinity", "-Infinity"):
        raise UnreadableError(line, "NaN and Infinity are not numbers in JSON (not valid JSON)")
    if len(token) > LONGEST_NUMBER:
        raise UnreadableError(line, "a number has too many digits (not valid JSON)")
    return json.loads(token)


def _mistake(text: str, error: json.JSONDecodeError) -> tuple[int, str]:
    """Return the position and the kind of a mistake; frequent mistakes are explained in our words."""
    sign, before = text[error.pos : error.pos + 1], text[: error.pos].rstrip()
    if sign in ("]", "}") and before.endswith(","):
        return len(before) - 1, f"JSON has no comma before {sign}"
    if error.msg.startswith("Invalid control character"):
        return error.pos, "a text contains a line break or a tab: write \\n or \\t"
    misplaced = _MISPLACED.get(sign) if error.msg.startswith("Expecting") else None
    return error.pos, misplaced or error.msg.removesuffix(" at")


def pointed(value: Any, pointer: str) -> object:
    """The value that a JSON pointer (RFC 6901) leads to; None where it leads nowhere."""
    if pointer and not pointer.startswith("/"):
        return None
    for step in pointer_steps(pointer):
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isascii() and step.isdecimal() and int(step[:9]) < len(value):
            value = value[int(step[:9])]  # 9 digits: more than any list has, and quick to convert
        else:
            return None
    return value


def pointer_steps(pointer: str) -> list[str]:
    """The steps of a JSON pointer."""
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
