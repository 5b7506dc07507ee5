"""The JSON Schema of samples files, made from the tables that check them; published as docs/samples.schema.json.

It refuses what the check refuses wherever JSON Schema can say it. It cannot say that ids are unique, that a pattern or
a schema inside is valid, or where a pointer leads.
"""

from __future__ import annotations

import json

from knowbound.evals.samples.assertion_types import SET, TYPES, WITH_CONTEXT, WITH_TOOL, AssertionType
from knowbound.evals.samples.assertions import ASSERTION_FIELDS
from knowbound.evals.samples.fields import SAMPLE, SAMPLE_V3, SET_FIELDS
from knowbound.evals.samples.shapes import Either, Field, ListOf, Text


def sample_schema() -> dict[str, object]:
    """The schema of a samples file; of JSONL each line is a `sample`."""
    sample = {"anyOf": [{"$ref": "#/$defs/sample"}, {"$ref": "#/$defs/sample_v3"}]}
    samples = {"type": "array", "minItems": 1, "items": sample}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "knowbound samples",
        "description": "A test set: a list of samples, or an object that has them. docs/samples.md tells the format.",
        "anyOf": [{"$ref": "#/$defs/samples"}, {"$ref": "#/$defs/set"}],
        "$defs": {
            "samples": samples,
            "set": _set(),
            "sample": _sample(),
            "sample_v3": SAMPLE_V3.schema() | {"title": "a sample in the third form"},
            "assertion": _assertion(),
        },
    }


def schema_text() -> str:
    """The published file."""
    return json.dumps(sample_schema(), indent=2, ensure_ascii=False) + "\n"


def _set() -> dict[str, object]:
    schema = SET_FIELDS.schema()
    members = schema["properties"]
    assert isinstance(members, dict)
    members["samples"] = {"$ref": "#/$defs/samples", "description": members["samples"]["description"]}
    return schema | {"title": "a test set"}


def _sample() -> dict[str, object]:
    """The fields, and what two of them must agree on."""
    compares = {
        "properties": {"type": {"enum": list(WITH_CONTEXT)}},
        "required": ["type"],
        "not": {"properties": {"reference": Text().schema()}, "required": ["reference"]},
    }
    needs_context = {
        "if": {"properties": {"assertions": {"type": "array", "contains": compares}}, "required": ["assertions"]},
        "then": {"properties": {"context": Text().schema()}, "required": ["context"]},
    }
    one_rubric = {
        "if": {"properties": {"rubric": {"type": "object"}}, "required": ["rubric"]},
        "then": {"not": {"required": ["dimensions"]}},
    }
    return SAMPLE.schema() | {"title": "a sample", "allOf": [needs_context, one_rubric]}


def _assertion() -> dict[str, object]:
    rules = [_when(types, rule) for types, rule in _rules()]
    by_others = [one.name for one in TYPES.values() if one.by]
    inside = {"type": "array", "minItems": 1, "items": {"not": {"properties": {"type": {"enum": by_others}}}}}
    rules.append(_when([SET], {"required": ["children"], "properties": {"children": inside}}))
    rules.append(_when(["mock_hit"], {"properties": {"value": {"pattern": "^[^:]+:[1-9][0-9]*$"}}}))
    rules.append(_when(list(WITH_TOOL), {"properties": {"value": {"not": {"pattern": r"^[^:]+:\s*$"}}}}))
    return ASSERTION_FIELDS.schema() | {"title": "an assertion", "allOf": rules}


def _when(types: list[str], rule: dict[str, object]) -> dict[str, object]:
    return {"if": {"properties": {"type": {"enum": types}}, "required": ["type"]}, "then": rule}


def _rules() -> list[tuple[list[str], dict[str, object]]]:
    """Each rule with the types that share it."""
    by_rule: dict[str, tuple[list[str], dict[str, object]]] = {}
    for one in TYPES.values():
        if rule := _rule(one):
            by_rule.setdefault(json.dumps(rule), ([], rule))[0].append(one.name)
    return list(by_rule.values())


def _rule(kind: AssertionType) -> dict[str, object]:
    """What one type needs; a list may stand under `value`, as older files have it."""
    if any(need.name == "values" for need in kind.needs):
        older = Field("value", Either((ListOf(Text(), least=1), Text())), "")
        return {"anyOf": [_has(kind.needs), {"not": {"required": ["values"]}} | _has((older,), needed=True)]}
    return _has(kind.needs)


def _has(needs: tuple[Field, ...], *, needed: bool = False) -> dict[str, object]:
    rule: dict[str, object] = {"properties": {one.name: one.shape.schema() for one in needs}} if needs else {}
    required = [one.name for one in needs if one.needed or needed]
    return rule | ({"required": required} if required else {})
