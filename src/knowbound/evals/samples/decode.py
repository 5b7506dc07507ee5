"""A checked sample as plain data → its value."""

from __future__ import annotations

from typing import Any

import msgspec

from knowbound.evals.samples.assertion_types import TYPES, WITH_CONTEXT
from knowbound.evals.samples.values import EvalSample

_INDEX_DIGITS = 4  # of a list index that a pointer may contain
PLAIN = "rubric"  # the name of a rubric that is one text


def decoded(given: dict[str, Any], file: str, line: int) -> EvalSample:
    """The value of a sample in any version of the format."""
    sample = _from_v3(given) if "sampleId" in given else given
    changed = {
        "rubric": _criteria(sample.get("dimensions") or sample.get("rubric", "")),
        "assertions": [_assertion(one) for one in sample.get("assertions", [])],
        "mocks": len(sample.get("mocks", [])),
        "file": file,
        "line": line,
    }
    return msgspec.convert(sample | changed, EvalSample)


def _from_v3(given: dict[str, Any]) -> dict[str, Any]:
    """Version 3 in the fields of the versions before."""
    evaluation = given.get("evaluationContext", {})
    reference, expected = evaluation.get("reference", ""), given.get("expected")
    return {
        **given.get("executionContext", {}),
        **given.get("annotations", {}),
        "sample_id": given["sampleId"],
        "prompt": given["input"]["text"],
        "rubric": evaluation.get("rubric", ""),
        "assertions": [
            *(_with_reference(one, reference) for one in evaluation.get("assertions", [])),
            *(_comparison(one, expected) for one in evaluation.get("checks", [])),
        ],
    }


def _criteria(given: str | dict[str, Any]) -> list[dict[str, Any]]:
    """A rubric's text; criteria by name; or, of `dimensions`, texts by name."""
    if isinstance(given, str):
        given = {PLAIN: given} if given.strip() else {}
    return [{"name": name} | (one if isinstance(one, dict) else {"criterion": one}) for name, one in given.items()]


def _assertion(given: dict[str, Any]) -> dict[str, Any]:
    changed = dict(given)
    value = changed.get("value")
    if TYPES[given["type"]].takes_list and "values" not in given:  # as older files have it
        changed["values"] = [value] if isinstance(value, str) else value
        del changed["value"]
    elif isinstance(value, list):  # which this type does not use
        del changed["value"]
    if "n" in given:
        changed["n"] = int(given["n"])  # 2.0 is a whole number too
    return changed | {"children": [_assertion(child) for child in given.get("children", [])]}


def _with_reference(given: dict[str, Any], reference: str) -> dict[str, Any]:
    """An assertion that compares and has no reference of its own takes the sample's."""
    needs_one = given["type"] in WITH_CONTEXT and not given.get("reference", "").strip()
    return given | {"reference": reference} if needs_one else given


def _comparison(check: dict[str, Any], expected: object) -> dict[str, Any]:
    """A check of version 3: a text is the whole answer, anything else is JSON in it."""
    pointer, wanted = check["actual"]["pointer"], pointed(expected, check["expectedPointer"])
    weight = {"weight": check["weight"]} if "weight" in check else {}
    if pointer == "" and isinstance(wanted, str):
        return {"type": "equals", "value": wanted, **weight}
    schema: dict[str, object] = {"const": wanted}
    for step in reversed(pointer_steps(pointer)):
        schema = _with_member(step, schema)
    return {"type": "json_schema", "schema": schema, **weight}


def _with_member(step: str, inner: dict[str, object]) -> dict[str, object]:
    """A schema for what has this member: an object, or where the step is a number also a list."""
    named: dict[str, object] = {"type": "object", "required": [step], "properties": {step: inner}}
    if not (step.isascii() and step.isdecimal() and len(step) <= _INDEX_DIGITS):
        return named
    index = int(step)
    listed = {"type": "array", "minItems": index + 1, "items": [*([{}] * index), inner]}
    return {"anyOf": [named, listed]}


def pointed(value: Any, pointer: str) -> object:
    """The value that a JSON pointer (RFC 6901) leads to; None where it leads nowhere."""
    if pointer and not pointer.startswith("/"):
        return None
    for step in pointer_steps(pointer):
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isascii() and step.isdecimal() and int(step[:9]) < len(value):
            value = value[int(step[:9])]
        else:
            return None
    return value


def pointer_steps(pointer: str) -> list[str]:
    """The steps of a JSON pointer."""
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
