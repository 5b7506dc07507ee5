"""JSON files of other people, changed in place: what we add or remove is the only difference, byte for byte.

The text is parsed with the place of every value, and edits insert or cut text at these places. Comments and trailing
commas are understood, because agents accept them; indentation and line ends are taken from the text around.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

_SPACE = re.compile(r"(?:[ \t\r\n\ufeff]+|//[^\n]*|/\*.*?\*/)*", re.S)
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]|\\.)*"')
_SCALAR = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
_DEEPEST = 200


class BrokenJsonError(ValueError):
    """The text is no JSON, with the line where it stops being some."""


@dataclass(slots=True)
class Node:
    """A value and its place in the text: text[start:end]."""

    start: int
    end: int
    value: Any
    members: dict[str, Node] = field(default_factory=dict)  # of an object
    names: dict[str, int] = field(default_factory=dict)  # where each member's name starts
    items: list[Node] = field(default_factory=list)  # of an array

    @property
    def is_object(self) -> bool:
        """Whether it has members."""
        return isinstance(self.value, dict)


def parse(text: str) -> Node:
    """The text as a tree with places."""
    reader = _Reader(text)
    node = reader.value(reader.space(0), 0)
    end = reader.space(node.end)
    if end != len(text):
        raise reader.broken(end, "something follows the end")
    return node


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text

    def space(self, at: int) -> int:
        found = _SPACE.match(self.text, at)
        return found.end() if found else at

    def broken(self, at: int, why: str) -> BrokenJsonError:
        line = self.text.count("\n", 0, at) + 1
        return BrokenJsonError(f"line {line}: {why}")

    def value(self, at: int, depth: int) -> Node:
        if depth > _DEEPEST:
            raise self.broken(at, "it is nested too deeply")
        first = self.text[at : at + 1]
        if first == "{":
            return self.object(at, depth)
        if first == "[":
            return self.array(at, depth)
        found = (_STRING if first == '"' else _SCALAR).match(self.text, at)
        if not found:
            raise self.broken(at, "a value is missing or broken")
        return Node(at, found.end(), self.scalar(found))

    def scalar(self, found: re.Match[str]) -> Any:
        try:
            return json.loads(found[0])
        except ValueError:
            raise self.broken(found.start(), "a string has a broken escape") from None

    def object(self, at: int, depth: int) -> Node:
        node = Node(at, at, {})
        at = self.space(at + 1)
        while self.text[at : at + 1] != "}":
            name = _STRING.match(self.text, at)
            if not name:
                raise self.broken(at, "a name in quotes is missing")
            key = self.scalar(name)
            if key in node.members:
                raise self.broken(at, f"the name {key!r} is there twice")
            colon = self.space(name.end())
            if self.text[colon : colon + 1] != ":":
                raise self.broken(colon, "a colon is missing")
            member = self.value(self.space(colon + 1), depth + 1)
            node.members[key], node.names[key] = member, at
            node.value[key] = member.value
            at = self.separated(member.end, "}")
        node.end = at + 1
        return node

    def array(self, at: int, depth: int) -> Node:
        node = Node(at, at, [])
        at = self.space(at + 1)
        while self.text[at : at + 1] != "]":
            item = self.value(at, depth + 1)
            node.items.append(item)
            node.value.append(item.value)
            at = self.separated(item.end, "]")
        node.end = at + 1
        return node

    def separated(self, at: int, close: str) -> int:
        """After a comma, or at the end of the container."""
        at = self.space(at)
        if self.text[at : at + 1] == ",":
            return self.space(at + 1)
        if self.text[at : at + 1] != close:
            raise self.broken(at, f"a comma or {close} is missing")
        return at


def add_member(text: str, container: Node, name: str, value: Any) -> str:
    """The text with one more member at the end of the object."""
    return _add(text, container, list(container.members.values()), f"{json.dumps(name)}: ", value)


def add_item(text: str, container: Node, value: Any) -> str:
    """The text with one more item at the end of the array."""
    return _add(text, container, container.items, "", value)


def without_member(text: str, container: Node, name: str) -> str:
    """The text without a member of the object."""
    elements = [(container.names[key], member.end) for key, member in container.members.items()]
    return _without(text, container, elements, list(container.members).index(name))


def without_item(text: str, container: Node, place: int) -> str:
    """The text without an item of the array."""
    return _without(text, container, [(item.start, item.end) for item in container.items], place)


def _add(text: str, container: Node, elements: list[Node], name: str, value: Any) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    inside = text[container.start : container.end]
    if "\n" not in inside and elements:  # written on one line: so is ours
        return text[: elements[-1].end] + f", {name}{json.dumps(value, ensure_ascii=False)}" + text[elements[-1].end :]
    outer, unit = _indentation(text, container.start), _unit(text)
    inner = outer + unit
    if elements and "\n" in inside:
        inner = _indentation(text, elements[-1].start) or inner
    written = json.dumps(value, ensure_ascii=False, indent=unit).replace("\n", newline + inner)
    if not elements:
        # A comment may stand in the empty container; it stays.
        kept = inside[1:-1].rstrip()
        opened = text[: container.start + 1] + kept
        return f"{opened}{newline}{inner}{name}{written}{newline}{outer}{text[container.end - 1 :]}"
    last = elements[-1].end
    comma = _Reader(text).space(last)
    if text[comma : comma + 1] == ",":  # a trailing comma: ours takes its place and its habit
        return f"{text[: comma + 1]}{newline}{inner}{name}{written},{text[comma + 1 :]}"
    return f"{text[:last]},{newline}{inner}{name}{written}{text[last:]}"


def _without(text: str, container: Node, elements: list[tuple[int, int]], place: int) -> str:
    """Cut the element with one comma and the white space that stood between it and its neighbour."""
    start, end = elements[place]
    if len(elements) == 1:
        rest = text[container.start + 1 : start] + text[end : container.end - 1].lstrip(" \t").removeprefix(",")
        return text[: container.start + 1] + ("" if not rest.strip() else rest) + text[container.end - 1 :]
    if place + 1 < len(elements):  # up to where the next one begins
        after = _Reader(text).space(end) + 1  # behind the comma
        following = re.match(r"[ \t]*(?://[^\n]*)?\r?\n?[ \t]*", text[after:])
        return text[:start] + text[after + (following.end() if following else 0) :]
    before = elements[place - 1][1]
    comma = _Reader(text).space(before)
    return text[:before] + text[comma + 1 : start].rstrip() + text[end:]


def _indentation(text: str, at: int) -> str:
    """The white space at the beginning of the line."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip(" \t\ufeff"))].replace("\ufeff", "")


def _unit(text: str) -> str:
    """One step of indentation, as the text has it."""
    found = re.search(r"\n([ \t]+)\S", text)
    return found[1] if found else "  "
