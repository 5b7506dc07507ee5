"""What a value of a samples file may be: one description, from which it is checked and its JSON Schema is made."""

from __future__ import annotations

import difflib
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from knowbound.evals.samples.positions import Node

_FEW = 8  # words that are all told


class Slip(NamedTuple):
    """Something wrong in a file, and the line it stands in."""

    line: int
    what: str


class Shape(ABC):
    """A kind of value."""

    def slips(self, node: Node, name: str) -> Iterator[Slip]:
        """Everything that is wrong with the value that stands under this name."""
        if self._takes(node):
            yield from self._inside(node, name)
        else:
            yield Slip(node.line, f"{name} must be {self.in_words}, not {told(node)}{self._help(node)}")

    @abstractmethod
    def _takes(self, node: Node) -> bool:
        """Whether the value is of this type at all."""

    @property
    @abstractmethod
    def in_words(self) -> str:
        """The type in words: "a text"."""

    @abstractmethod
    def schema(self) -> dict[str, object]:
        """The same as JSON Schema."""

    def _inside(self, node: Node, name: str) -> Iterator[Slip]:
        """What is wrong with a value of the right type."""
        return iter(())

    def _help(self, node: Node) -> str:
        """What to write instead of a value of the wrong type."""
        return ""


@dataclass(frozen=True, slots=True)
class Text(Shape):
    """A text, which must say something."""

    blank: bool = False  # whether it may be empty

    def _takes(self, node: Node) -> bool:
        return isinstance(node.value, str)

    @property
    def in_words(self) -> str:  # noqa: D102
        return "a text"

    def _inside(self, node: Node, name: str) -> Iterator[Slip]:
        if not self.blank and not str(node.value).strip():
            yield Slip(node.line, f"{name} is empty")

    def schema(self) -> dict[str, object]:  # noqa: D102
        return {"type": "string"} if self.blank else {"type": "string", "pattern": r"\S"}

    def _help(self, node: Node) -> str:
        return f'; put it in quotes: "{node.written}"' if node.written and node.value is not None else ""


@dataclass(frozen=True, slots=True)
class Number(Shape):
    """A number, within bounds where it has any."""

    low: float | None = None
    high: float | None = None
    above: float | None = None  # as `low`, but not that number itself
    whole: bool = False

    def _takes(self, node: Node) -> bool:
        value = node.value
        return isinstance(value, int | float) and not isinstance(value, bool)

    @property
    def in_words(self) -> str:  # noqa: D102
        return "a whole number" if self.whole else "a number"

    def _inside(self, node: Node, name: str) -> Iterator[Slip]:
        value = node.value
        assert isinstance(value, int | float)
        if not math.isfinite(value) or abs(value) > 2**53:
            yield Slip(node.line, f"{name} is too large a number")
        elif self.whole and value != int(value):
            yield Slip(node.line, f"{name} must be a whole number, not {value:g}")
        elif self.above is not None and value <= self.above:
            yield Slip(node.line, f"{name} must be more than {self.above:g}, not {value:g}")
        elif (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
            bounds = f"at least {self.low:g}" if self.high is None else f"from {self.low:g} to {self.high:g}"
            yield Slip(node.line, f"{name} must be {bounds}, not {value:g}")

    def schema(self) -> dict[str, object]:  # noqa: D102
        bounds = {"minimum": self.low, "maximum": self.high, "exclusiveMinimum": self.above}
        kind: dict[str, object] = {"type": "integer" if self.whole else "number"}
        return kind | {name: bound for name, bound in bounds.items() if bound is not None}


class Flag(Shape):
    """True or false."""

    def _takes(self, node: Node) -> bool:
        return isinstance(node.value, bool)

    @property
    def in_words(self) -> str:  # noqa: D102
        return "true or false"

    def schema(self) -> dict[str, object]:  # noqa: D102
        return {"type": "boolean"}


@dataclass(frozen=True, slots=True)
class OneOf(Shape):
    """One of a few words."""

    words: tuple[str, ...]

    def _takes(self, node: Node) -> bool:
        return isinstance(node.value, str)

    @property
    def in_words(self) -> str:  # noqa: D102
        return either(self.words) if len(self.words) <= _FEW else "one of the known words"

    def _inside(self, node: Node, name: str) -> Iterator[Slip]:
        if node.value not in self.words and len(self.words) == 1:
            yield Slip(node.line, f"{name} must be {self.words[0]!r} here, not {node.value!r}")
        elif node.value not in self.words:
            few = f" {name} is {either(self.words)}." if len(self.words) <= _FEW else ""
            yield Slip(node.line, f"{name} {node.value!r} is not known.{few}{meant(str(node.value), self.words)}")

    def schema(self) -> dict[str, object]:  # noqa: D102
        return {"enum": list(self.words)}


class AnyObject(Shape):
    """An object with anything in it."""

    def _takes(self, node: Node) -> bool:
        return isinstance(node.value, dict)

    @property
    def in_words(self) -> str:  # noqa: D102
        return "an object"

    def _inside(self, node: Node, name: str) -> Iterator[Slip]:
        yield from doubled(node)

    def schema(self) -> dict[str, object]:  # noqa: D102
        return {"type": "object"}


class Anything(Shape):
    """Any value."""

    def _takes(self, node: Node) -> bool:
        return True

    @property
    def in_words(self) -> str:  # noqa: D102
        return "any value"

    def schema(self) -> dict[str, object]:  # noqa: D102
        return {}


@dataclass(frozen=True, slots=True)
class Refused(Shape):
    """A value that the format has and that cannot be used here."""

    why: str

    def _takes(self, node: Node) -> bool:
        return True

    @property
    def in_words(self) -> str:  # noqa: D102
        return "left out"

    def _inside(self, node: Node, name: str) -> Iterator[Slip]:
        yield Slip(node.line, f"{name} cannot be used: {self.why}")

    def schema(self) -> dict[str, object]:  # noqa: D102
        return {"not": {}}


@dataclass(frozen=True, slots=True)
class ListOf(Shape):
    """A list of values of one shape."""

    item: Shape
    least: int = 0

    def _takes(self, node: Node) -> bool:
        return isinstance(node.value, list)

    @property
    def in_words(self) -> str:  # noqa: D102
        return "a list"

    def _inside(self, node: Node, name: str) -> Iterator[Slip]:
        assert isinstance(node.value, list)
        if len(node.value) < self.least:
            yield Slip(node.line, f"{name} is empty")
        for index, item in enumerate(node.value):
            yield from self.item.slips(item, f"{name}[{index}]")

    def schema(self) -> dict[str, object]:  # noqa: D102
        most: dict[str, object] = {"type": "array", "items": self.item.schema()}
        return most | ({"minItems": self.least} if self.least else {})

    def _help(self, node: Node) -> str:
        return f': write ["{node.value}"]' if isinstance(node.value, str) and len(node.value) < 40 else ""


@dataclass(frozen=True, slots=True)
class MapOf(Shape):
    """An object whose values have one shape, under names of the writer's choice."""

    item: Shape
    least: int = 0

    def _takes(self, node: Node) -> bool:
        return isinstance(node.value, dict)

    @property
    def in_words(self) -> str:  # noqa: D102
        return "an object"

    def _inside(self, node: Node, name: str) -> Iterator[Slip]:
        assert isinstance(node.value, dict)
        yield from doubled(node)
        if len(node.value) < self.least:
            yield Slip(node.line, f"{name} is empty")
        for key, item in node.value.items():
            if not key.strip():
                yield Slip(node.keys[key], f"{name} has an empty name")
            yield from self.item.slips(item, f"{name}.{key}")

    def schema(self) -> dict[str, object]:  # noqa: D102
        most: dict[str, object] = {"type": "object", "additionalProperties": self.item.schema()}
        most["propertyNames"] = {"pattern": r"\S"}
        return most | ({"minProperties": self.least} if self.least else {})


@dataclass(frozen=True, slots=True)
class Either(Shape):
    """A value of one shape or of another; they differ in type."""

    shapes: tuple[Shape, ...]

    def _takes(self, node: Node) -> bool:
        return any(shape._takes(node) for shape in self.shapes)

    @property
    def in_words(self) -> str:  # noqa: D102
        return " or ".join(shape.in_words for shape in self.shapes)

    def _inside(self, node: Node, name: str) -> Iterator[Slip]:
        yield from next(shape for shape in self.shapes if shape._takes(node))._inside(node, name)

    def schema(self) -> dict[str, object]:  # noqa: D102
        return {"anyOf": [shape.schema() for shape in self.shapes]}


@dataclass(frozen=True, slots=True)
class Field:
    """A member of a record."""

    name: str
    shape: Shape
    says: str
    needed: bool = False


@dataclass(frozen=True, slots=True)
class Record(Shape):
    """An object with known members and no others."""

    fields: tuple[Field, ...]
    also: dict[str, str] = field(default_factory=dict)  # what people write instead of a field's name

    def _takes(self, node: Node) -> bool:
        return isinstance(node.value, dict)

    @property
    def in_words(self) -> str:  # noqa: D102
        return "an object"

    def _inside(self, node: Node, name: str) -> Iterator[Slip]:
        assert isinstance(node.value, dict)
        known = {one.name: one for one in self.fields}
        prefix = f"{name}." if name else ""
        yield from doubled(node)
        for key, value in node.value.items():
            if key in known:
                yield from known[key].shape.slips(value, prefix + key)
            else:
                close = f" Did you mean {self.also[key]!r}?" if key in self.also else meant(key, known)
                yield Slip(node.keys[key], f"unknown field {prefix + key!r}.{close}")
        for one in self.fields:
            if one.needed and one.name not in node.value:
                yield Slip(node.line, f"{prefix}{one.name} is missing")

    def schema(self) -> dict[str, object]:  # noqa: D102
        members = {one.name: one.shape.schema() | {"description": one.says} for one in self.fields}
        whole: dict[str, object] = {"type": "object", "properties": members, "additionalProperties": False}
        needed = [one.name for one in self.fields if one.needed]
        return whole | ({"required": needed} if needed else {})


def doubled(node: Node) -> Iterator[Slip]:
    """Keys that an object has twice: one of the two values would be lost."""
    for key, line in node.twice:
        yield Slip(line, f"{key!r} is there twice, first in line {node.keys[key]}")


def told(node: Node) -> str:
    """What a value is, for people."""
    value = node.value
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return f"the word {node.written or str(value).lower()} (true or false)"
    if isinstance(value, int | float):
        return f"the number {node.written or format(value, 'g')}"
    if isinstance(value, str):
        return f"the text {value[:30]!r}" if value else "an empty text"
    return "a list" if isinstance(value, list) else "an object"


def meant(word: str, known: Iterable[str]) -> str:
    """The suggestion for a word that is not known; "" where none is near."""
    by_lower = {one.lower().replace("-", "_"): one for one in known}
    near = difflib.get_close_matches(word.lower().replace("-", "_"), by_lower, n=1, cutoff=0.6)
    return f" Did you mean {by_lower[near[0]]!r}?" if near else ""


def either(words: Sequence[str]) -> str:
    """The words as a choice: easy, medium or hard."""
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]
