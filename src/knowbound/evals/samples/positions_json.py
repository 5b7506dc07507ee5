"""JSON with line numbers, and with words for what people get wrong in it."""

from __future__ import annotations

import json
import re
from typing import NoReturn

from knowbound.evals.samples.positions import DEPTH, BadTextError, Node, line_finder, sound


def json_node(text: str, first_line: int = 1) -> Node:
    """The JSON text as a node; it begins in line `first_line` of its file."""
    return _Json(text, first_line).whole()


class _Json:
    _space = re.compile(r"[ \t\r\n]*")

    def __init__(self, text: str, first_line: int) -> None:
        self.text = text
        self.line = line_finder(text, first_line)
        self.scalar = json.JSONDecoder(parse_constant=self._constant).raw_decode

    def whole(self) -> Node:
        node, at = self._value(self._skip(0), 0)
        at = self._skip(at)
        if at < len(self.text):
            self._fail(at, "something follows the end of the JSON value")
        return node

    def _skip(self, at: int) -> int:
        found = self._space.match(self.text, at)
        return found.end() if found else at

    def _value(self, at: int, depth: int) -> tuple[Node, int]:
        sign = self.text[at : at + 1]
        if sign in ("{", "["):
            if depth >= DEPTH:
                self._fail(at, f"lists and objects are nested more than {DEPTH} deep")
            return self._object(at, depth) if sign == "{" else self._list(at, depth)
        line = self.line(at)
        try:
            value, end = self.scalar(self.text, at)
        except json.JSONDecodeError as error:
            self._fail(error.pos, _json_words(error, self.text))
        except ValueError as error:  # NaN, or a number of thousands of digits
            self._fail(at, str(error) if str(error).startswith("NaN") else "a number has too many digits")
        return Node(sound(value, line) if isinstance(value, str) else value, line), end

    def _list(self, at: int, depth: int) -> tuple[Node, int]:
        items: list[Node] = []
        node = Node(items, self.line(at))
        at = self._skip(at + 1)
        while self.text[at : at + 1] != "]":
            item, at = self._value(at, depth + 1)
            items.append(item)
            at = self._next(at, "]")
        return node, at + 1

    def _object(self, at: int, depth: int) -> tuple[Node, int]:
        node = Node({}, self.line(at))
        at = self._skip(at + 1)
        while self.text[at : at + 1] != "}":
            if self.text[at : at + 1] != '"':
                self._fail(at, _stray(self.text, at) or "a key in double quotes is missing")
            key, after = self._value(at, depth)
            line, at = key.line, self._skip(after)
            if self.text[at : at + 1] != ":":
                self._fail(at, "the colon after a key is missing")
            value, at = self._value(self._skip(at + 1), depth + 1)
            node.put(str(key.value), line, value)
            at = self._next(at, "}")
        return node, at + 1

    def _next(self, at: int, close: str) -> int:
        """Past a comma to the next member, or to the closing bracket."""
        at = self._skip(at)
        if self.text[at : at + 1] == close:
            return at
        if self.text[at : at + 1] != ",":
            self._fail(at, _stray(self.text, at) or f"a comma or {close} is missing")
        after = self._skip(at + 1)
        if self.text[after : after + 1] == close:
            self._fail(at, f"JSON has no comma before {close}")
        return after

    def _fail(self, at: int, what: str) -> NoReturn:
        raise BadTextError(self.line(min(at, len(self.text))), f"{what} (not valid JSON)") from None

    @staticmethod
    def _constant(name: str) -> NoReturn:
        raise ValueError("NaN and Infinity are not numbers in JSON")


def _stray(text: str, at: int) -> str:
    """What people write in JSON that belongs elsewhere."""
    rest = text[at : at + 2]
    if not rest:
        return "the file ends in the middle"
    if rest in ("//", "/*") or rest[0] == "#":
        return "JSON has no comments: take it out, or use YAML"
    if rest[0] == "'":
        return "JSON has double quotes only"
    return ""


def _json_words(error: json.JSONDecodeError, text: str) -> str:
    message = error.msg
    if message.startswith("Unterminated string"):
        return "a text in quotes does not end"
    if message.startswith("Invalid control character"):
        return "a text holds a line break or a tab: write \\n or \\t"
    if "escape" in message:
        return "a backslash is followed by something that JSON does not know: write \\\\ for one backslash"
    return _stray(text, error.pos) or "a value is missing or misspelt"
