"""Every assertion type: its layer, what it asserts, the fields it needs. A new type is a row here and a rule in
assertions.py.

Facts are about what the answer says, behaviour is about how the answer was found and what form it has. The two layers
are scored separately.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

Schema = dict[str, Any]

LARGEST_NUMBER = 2**53  # beyond it a JSON number is no longer exact

ANY_TEXT: Schema = {"type": "string"}
TEXT: Schema = {"type": "string", "pattern": r"\S"}  # at least one character that is not space
TEXTS: Schema = {"type": "array", "items": TEXT}
FLAG: Schema = {"type": "boolean"}
OBJECT: Schema = {"type": "object"}
NUMBER: Schema = {"type": "number", "minimum": -LARGEST_NUMBER, "maximum": LARGEST_NUMBER}
COUNT: Schema = {"type": "integer", "minimum": 1, "maximum": LARGEST_NUMBER}
WEIGHT: Schema = {"type": "number", "exclusiveMinimum": 0, "maximum": LARGEST_NUMBER}


def one_of(*words: str) -> Schema:
    """One of these words."""
    return {"enum": list(words)}


def list_of(items: Schema) -> Schema:
    """A list that is not empty."""
    return {"type": "array", "items": items, "minItems": 1}


def _member(name: str, shape: Schema, description: str, is_needed: bool) -> tuple[str, Schema, bool]:
    return name, shape | {"description": description}, is_needed


needed = partial(_member, is_needed=True)
optional = partial(_member, is_needed=False)


def record(*members: tuple[str, Schema, bool]) -> Schema:
    """Return the schema of an object with exactly these members; editors and docs/samples.md show the descriptions."""
    required = [name for name, _, is_needed in members if is_needed]
    shape: Schema = {"type": "object", "properties": {name: shape for name, shape, _ in members}}
    return shape | {"required": required, "additionalProperties": False}


def refused(message: str) -> Schema:
    """No value at all; `errorMessage` is what editors (VS Code, ajv-errors) and our check show instead of their own."""
    return {"not": {}, "errorMessage": message}


_TYPES = {
    "string": "a text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
}
_FEW = 8  # words of a choice that are listed


def kind_of(shape: Schema) -> str:
    """Return the allowed type of a value in words: "a text or a number"."""
    if "enum" in shape:
        return either(shape["enum"]) if len(shape["enum"]) <= _FEW else "one of the known words"
    types = shape.get("type", [])
    return " or ".join(_TYPES[one] for one in ([types] if isinstance(types, str) else types)) or "any value"


def either(words: Sequence[str]) -> str:
    """The words as a choice: easy, medium or hard."""
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]


FACT, BEHAVIOR = "fact", "behavior"
JUDGE, PROGRAM = "judge", "program"  # who decides what rules cannot
SET = "assert-set"


class AssertionType(NamedTuple):
    """One type of assertion."""

    name: str
    layer: str  # "" for a set, which has the layer of its children
    description: str
    fields: Schema  # for assertions of this type, on top of the schema for all assertions
    decided_by: str = ""  # a judge or a program; "" for rules

    @property
    def takes_list(self) -> bool:
        """Report whether this type compares with a list of texts."""
        return self.fields is _LIST


def _fields(optional: Schema | None = None, /, **needed: Schema) -> Schema:
    return {"properties": needed | (optional or {}), "required": list(needed)}


def _value(pattern: str, message: str) -> Schema:
    return _fields(value={"type": "string", "pattern": pattern, "errorMessage": message})


_NOTHING = _fields()
_TEXT = _fields(value=TEXT)
_AMOUNT = {"type": "number", "minimum": 0}
_NUMBER = _fields(value=_AMOUNT)
# Older files have the list, or a single text, under `value`.
_LIST = {
    "if": {"properties": {"value": {"type": ["array", "string"]}, "values": False}, "required": ["value"]},
    "then": {"properties": {"value": list_of(TEXT) | {"type": ["array", "string"], "pattern": r"\S"}}},
    "else": _fields(values=list_of(TEXT)),
}
_TOOL_TEXT = _value(r"^(?![^:]+:\s*$)[\s\S]*\S", "must be a text, or Tool:text with a text after the colon")
_MOCK = _value("^[^:]+:[1-9][0-9]*$", "must be Tool:N, where N counts the mocks of that tool from 1")
_SHARE = {"threshold": {"type": "number", "minimum": 0, "maximum": 1}}
_SCORE = {"threshold": {"type": "number", "minimum": 1, "maximum": 5}}

_ALL = (
    AssertionType("contains", FACT, "The answer contains `value`; upper and lower case are the same.", _TEXT),
    AssertionType("not_contains", FACT, "The answer does not contain `value`.", _TEXT),
    AssertionType("contains_all", FACT, "The answer contains each of `values`.", _LIST),
    AssertionType("contains_any", FACT, "The answer contains at least one of `values`.", _LIST),
    AssertionType("equals", FACT, "The answer is `value`, apart from space around it.", _TEXT),
    AssertionType("not_equals", FACT, "The answer is not `value`.", _TEXT),
    AssertionType(
        "regex",
        FACT,
        "`pattern` (JavaScript's dialect) is found in the answer; `flags` are `i` by default.",
        _fields({"flags": ANY_TEXT}, pattern=ANY_TEXT),
    ),
    AssertionType("json_valid", FACT, "The answer is JSON.", _NOTHING),
    AssertionType(
        "json_schema",
        FACT,
        "The answer is JSON that fits `schema` (draft 7, or the draft that its `$schema` names).",
        _fields(schema=OBJECT),
    ),
    AssertionType("starts_with", BEHAVIOR, "The answer begins with `value`; case does not matter.", _TEXT),
    AssertionType("ends_with", BEHAVIOR, "The answer ends with `value`; case does not matter.", _TEXT),
    AssertionType("min_length", BEHAVIOR, "The answer has at least `value` characters.", _NUMBER),
    AssertionType("max_length", BEHAVIOR, "The answer has at most `value` characters.", _NUMBER),
    AssertionType("word_count_min", BEHAVIOR, "The answer has at least `value` words, separated by space.", _NUMBER),
    AssertionType("word_count_max", BEHAVIOR, "The answer has at most `value` words, separated by space.", _NUMBER),
    AssertionType("cost_max", BEHAVIOR, "The run cost at most `value` USD.", _NUMBER),
    AssertionType("latency_max", BEHAVIOR, "The run took at most `value` milliseconds.", _NUMBER),
    AssertionType("turns_min", BEHAVIOR, "The agent took at least `value` steps.", _NUMBER),
    AssertionType("turns_max", BEHAVIOR, "The agent took at most `value` steps.", _NUMBER),
    AssertionType("tools_called", BEHAVIOR, "Each tool of `values` was called.", _LIST),
    AssertionType("tools_not_called", BEHAVIOR, "No tool of `values` was called.", _LIST),
    AssertionType("tools_count_min", BEHAVIOR, "There were at least `value` tool calls.", _NUMBER),
    AssertionType("tools_count_max", BEHAVIOR, "There were at most `value` tool calls.", _NUMBER),
    AssertionType(
        "tool_input_contains",
        FACT,
        "`value` is `Tool:text`: the input of a call of that tool contains the text. Without a tool, of any call.",
        _TOOL_TEXT,
    ),
    AssertionType(
        "tool_input_not_contains", FACT, "No input of a call of the tool contains the text of `value`.", _TOOL_TEXT
    ),
    AssertionType(
        "tool_output_contains", FACT, "The output of a call of the tool contains the text of `value`.", _TOOL_TEXT
    ),
    AssertionType("mock_hit", BEHAVIOR, "`value` is `Tool:N`. Mocks are not used here: always unscored.", _MOCK),
    AssertionType(
        "rouge_n_min",
        FACT,
        "At least `threshold` (0.5) of the `n`-word sequences (1) of `reference` are in the answer.",
        _fields(_SHARE | {"n": COUNT}, reference=TEXT),
    ),
    AssertionType(
        "bleu_min",
        FACT,
        "BLEU-4 of the answer against `reference` is at least `threshold` (0.5).",
        _fields(_SHARE, reference=TEXT),
    ),
    AssertionType(
        "levenshtein_max",
        FACT,
        "At most `value` characters must change to turn the answer into `reference`.",
        _fields(value=_AMOUNT, reference=TEXT),
    ),
    AssertionType(
        "semantic_similarity",
        FACT,
        "A judge scores how far the answer means the same as `reference`: at least `threshold` (3) of 5.",
        _fields(_SCORE, reference=TEXT),
        JUDGE,
    ),
    AssertionType(
        "faithfulness",
        FACT,
        "A judge scores whether the answer keeps to `reference`, or to the context: at least `threshold` (3).",
        _fields(_SCORE),
        JUDGE,
    ),
    AssertionType(
        "answer_relevancy",
        FACT,
        "A judge scores whether the answer answers the prompt: at least `threshold` (3).",
        _fields(_SCORE),
        JUDGE,
    ),
    AssertionType(
        "context_recall",
        FACT,
        "A judge scores whether the facts of `reference`, or of the context, are used: at least `threshold` (3).",
        _fields(_SCORE),
        JUDGE,
    ),
    AssertionType(
        "custom",
        BEHAVIOR,
        "The program `fn`, a file beside the samples, decides. It runs only where `--allow-run` is given.",
        _fields(fn=TEXT),
        PROGRAM,
    ),
    AssertionType(
        SET,
        "",
        "All of `children`, or with `mode: any` at least one of them. A set may contain sets, but nothing that a judge "
        "or a program decides.",
        _NOTHING,
    ),
)

TYPES: dict[str, AssertionType] = {one.name: one for one in _ALL}
WITH_CONTEXT = ("faithfulness", "context_recall")  # need the assertion's reference or the sample's context
