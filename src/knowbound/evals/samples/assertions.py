"""The shape of an assertion: its fields, and what its type needs of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from knowbound.evals.samples import regex as sample_regex
from knowbound.evals.samples.assertion_types import SET, TYPES, WITH_TOOL, AssertionType
from knowbound.evals.samples.positions import Node
from knowbound.evals.samples.shapes import (
    AnyObject,
    Either,
    Field,
    Flag,
    ListOf,
    Number,
    OneOf,
    Record,
    Shape,
    Slip,
    Text,
)

_WORDS = ListOf(Text())
_MOCK_HIT = re.compile(r"[^:]+:[1-9][0-9]*")


class AssertionShape(Shape):
    """An assertion: its fields, and what its type needs of them. Its schema is told once, under `$defs`."""

    def _takes(self, node: Node) -> bool:
        return isinstance(node.value, dict)

    @property
    def in_words(self) -> str:  # noqa: D102
        return "an object with a type"

    def schema(self) -> dict[str, object]:  # noqa: D102
        return {"$ref": "#/$defs/assertion"}

    def _inside(self, node: Node, name: str) -> Iterator[Slip]:
        assert isinstance(node.value, dict)
        general = list(ASSERTION_FIELDS.slips(node, name))
        yield from general
        known = _type_of(node)
        if known is not None and known.name == SET:
            yield from _children(node, f"{name} ({known.name})")
        elif known is not None and not general:
            missing = list(_needed(known, node, f"{name} ({known.name})"))
            yield from missing or _by_type(known, node, f"{name} ({known.name})")


def _type_of(node: Node) -> AssertionType | None:
    kind = node.value.get("type") if isinstance(node.value, dict) else None
    return TYPES.get(str(kind.value)) if kind else None


def _needed(known: AssertionType, node: Node, name: str) -> Iterator[Slip]:
    """What the type needs and does not have, or has in another shape."""
    assert isinstance(node.value, dict)
    for need in known.needs:
        given = node.value.get(need.name)
        if given is None and need.name == "values":
            yield from _older_values(node, name)
        elif given is None:
            if need.needed:
                yield Slip(node.line, f"{name} needs {need.name}{_instead(known, node)}")
        else:
            yield from need.shape.slips(given, f"{name} {need.name}")


def _older_values(node: Node, name: str) -> Iterator[Slip]:
    """Older files have the list, or one word, under `value`."""
    assert isinstance(node.value, dict)
    given = node.value.get("value")
    if given is None or isinstance(given.value, int | float):
        yield Slip(node.line, f"{name} needs values, a list of texts")
    else:
        yield from Either((ListOf(Text(), least=1), Text())).slips(given, f"{name} value")


def _instead(known: AssertionType, node: Node) -> str:
    assert isinstance(node.value, dict)
    if known.name in ("contains", "not_contains") and "values" in node.value:
        return "; a list of values is for contains_all and contains_any"
    if known.name == "regex" and "value" in node.value:
        return ", which is here called value"
    return ""


def _by_type(known: AssertionType, node: Node, name: str) -> Iterator[Slip]:
    """What no table can say."""
    assert isinstance(node.value, dict)
    given = {key: one.plain for key, one in node.value.items()}
    if known.name == "regex":
        if problem := sample_regex.problem_of(given["pattern"], given.get("flags", "")):
            yield Slip(node.value["pattern"].line, f"{name}: {problem}")
    elif known.name == "json_schema":
        if problem := _schema_problem(given["schema"]):
            yield Slip(node.value["schema"].line, f"{name}: the schema is not valid: {problem}")
    elif known.name == "mock_hit":
        if not _MOCK_HIT.fullmatch(given["value"]):
            yield Slip(node.value["value"].line, f"{name} value must be Tool:N, the N-th mock of a tool, from 1")
    elif known.name in WITH_TOOL and re.fullmatch(r"[^:]+:\s*", given["value"]):
        yield Slip(node.value["value"].line, f"{name} value has no text after the tool's name")


def _children(node: Node, name: str) -> Iterator[Slip]:
    assert isinstance(node.value, dict)
    children = node.value.get("children")
    if children is None or not children.value:
        yield Slip(node.line, f"{name} needs children, a list of assertions")
        return
    for child in children.value if isinstance(children.value, list) else []:
        known = _type_of(child)
        if known and known.by:
            yield Slip(child.line, f"{name}: {known.name} is decided by a {known.by} and cannot be in a set")


def _schema_problem(schema: dict[str, object]) -> str:
    from knowbound.evals.samples.json_schema import schema_problem  # noqa: PLC0415  # heavy, and few samples have a schema

    return schema_problem(schema)


ASSERTION = AssertionShape()

ASSERTION_FIELDS = Record(
    (
        Field("type", OneOf(tuple(TYPES)), "What is asserted; docs/samples.md tells the types.", needed=True),
        Field("value", Either((Text(blank=True), Number(), _WORDS)), "A text or a number, as the type wants it."),
        Field("values", _WORDS, "Several texts, where the type wants them."),
        Field("pattern", Text(blank=True), "A regular expression in JavaScript's dialect."),
        Field("flags", Text(blank=True), "Of the pattern: i, m, s, g, u, v, y, d. Without any: i."),
        Field("schema", AnyObject(), "A JSON Schema."),
        Field("weight", Number(above=0), "How much it counts in its layer; 1 where it is not given."),
        Field("fn", Text(blank=True), "The file of a custom assertion, relative to the samples file."),
        Field("reference", Text(blank=True), "What the answer is compared with."),
        Field("threshold", Number(), "From which score or share on it passes."),
        Field("not", Flag(), "Turn the result round. What is unscored stays unscored."),
        Field("mode", OneOf(("all", "any")), "Of a set: whether all children must pass (the default) or any."),
        Field("children", ListOf(ASSERTION), "Of a set: the assertions in it."),
        Field("n", Number(low=1, whole=True), "Of rouge_n_min: how many words a sequence has."),
    ),
    {"values_any": "values", "regex": "pattern", "kind": "type", "negate": "not", "assertions": "children"},
)
