"""One sample as it is written → its value, or everything that is wrong with it."""

from __future__ import annotations

from typing import Any

from knowbound.evals.samples.assertion_types import TYPES, WITH_CONTEXT
from knowbound.evals.samples.fields import SAMPLE, SAMPLE_V3
from knowbound.evals.samples.positions import Node
from knowbound.evals.samples.shapes import Slip, told
from knowbound.evals.samples.values import Assertion, Criterion, Environment, EvalSample, Requires

_INDEX_DIGITS = 4  # of a place in a list that a pointer may name
PLAIN = "rubric"  # the name of a rubric that is one text


def read_sample(node: Node, file: str) -> tuple[EvalSample | None, list[Slip]]:
    """The sample, or None and what is wrong with it."""
    if not isinstance(node.value, dict):
        return None, [Slip(node.line, f"a sample must be an object, not {told(node)}")]
    newer = _is_v3(node.value)
    slips = list((SAMPLE_V3 if newer else SAMPLE).slips(node, ""))
    slips += _across_v3(node) if newer else _across(node)
    if slips:
        return None, slips
    return (_from_v3 if newer else _from_sample)(node.plain, file, node.line), []


def label_of(node: Node) -> str:
    """The sample's id as far as it can be made out, for messages."""
    if not isinstance(node.value, dict):
        return ""
    for key in ("sample_id", "sampleId"):
        given = node.value.get(key)
        if given is not None and not isinstance(given.value, list | dict) and given.value is not None:
            return given.written or str(given.value)
    return ""


def requires_of(node: Node | None) -> Requires:
    """What a file says it needs; checked before."""
    return Requires(**{name: tuple(words) for name, words in node.plain.items()}) if node is not None else Requires()


def _is_v3(fields: dict[str, Node]) -> bool:
    if "sample_id" in fields or "prompt" in fields:
        return False
    return "sampleId" in fields or ("input" in fields and isinstance(fields["input"].value, dict))


def _across(node: Node) -> list[Slip]:
    """What two fields must agree on; either may be wrong by itself."""
    given = node.plain
    slips = []
    if "dimensions" in given and isinstance(given.get("rubric"), dict):
        slips.append(Slip(node.keys["dimensions"], "rubric has criteria already: dimensions would be others"))
    has_context = _says_something(given.get("context"))
    return slips + _without_reference(
        _member(node, "assertions"), has_context, "a context, or the assertion a reference"
    )


def _across_v3(node: Node) -> list[Slip]:
    graded = _member(node, "evaluationContext")
    if graded is None or not isinstance(graded.value, dict):
        return []
    has_reference = _says_something(graded.plain.get("reference"))
    slips = _without_reference(_member(graded, "assertions"), has_reference, "an evaluationContext.reference")
    for check in _items(_member(graded, "checks")):
        pointer = check.plain.get("expectedPointer") if isinstance(check.value, dict) else None
        if isinstance(pointer, str) and _pointed(node.plain.get("expected"), pointer) is None:
            slips.append(Slip(check.line, f"expectedPointer {pointer!r} leads nowhere in expected"))
    return slips


def _without_reference(assertions: Node | None, has_other: bool, where: str) -> list[Slip]:
    """Assertions that compare with something which nobody gave."""
    return [
        Slip(one.line, f"{one.plain['type']} compares with something: give the sample {where}")
        for one in _items(assertions)
        if isinstance(one.value, dict)
        and one.plain.get("type") in WITH_CONTEXT
        and not _says_something(one.plain.get("reference"))
        and not has_other
    ]


def _member(node: Node, name: str) -> Node | None:
    return node.value.get(name) if isinstance(node.value, dict) else None


def _items(node: Node | None) -> list[Node]:
    return node.value if node is not None and isinstance(node.value, list) else []


def _says_something(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _from_sample(given: dict[str, Any], file: str, line: int) -> EvalSample:
    return EvalSample(
        id=given["sample_id"],
        prompt=given["prompt"],
        context=given.get("context", ""),
        rubric=_criteria(given.get("dimensions") or given.get("rubric", "")),
        assertions=tuple(_assertion(one) for one in given.get("assertions", [])),
        session=given.get("session", ""),
        metadata=given.get("metadata", {}),
        file=file,
        line=line,
        **_run(given),
        **_about(given),
    )


def _from_v3(given: dict[str, Any], file: str, line: int) -> EvalSample:
    graded = given.get("evaluationContext", {})
    reference = graded.get("reference", "")
    return EvalSample(
        id=given["sampleId"],
        prompt=given["input"]["text"],
        rubric=_criteria(graded.get("rubric", "")),
        assertions=(
            *(_assertion(_referring(one, reference)) for one in graded.get("assertions", [])),
            *(_compared(one, given.get("expected")) for one in graded.get("checks", [])),
        ),
        file=file,
        line=line,
        **_run(given.get("executionContext", {})),
        **_about(given.get("annotations", {})),
    )


def _run(given: dict[str, Any]) -> dict[str, Any]:
    around = given.get("environment", {})
    return {
        "cwd": given.get("cwd", ""),
        "allowed_tools": tuple(given.get("allowedTools", ())),
        "environment": Environment(
            tuple(around.get("cli_available", ())), tuple(around.get("files_available", ())), around.get("notes", "")
        ),
        "mocks": len(given.get("mocks", ())),
    }


def _about(given: dict[str, Any]) -> dict[str, Any]:
    return {
        "capability": tuple(given.get("capability", ())),
        "difficulty": given.get("difficulty", ""),
        "construct": given.get("construct", ""),
        "provenance": given.get("provenance", ""),
        "tripwire": given.get("tripwire", False),
    }


def _criteria(given: str | dict[str, Any]) -> tuple[Criterion, ...]:
    """A rubric's text; criteria by name; or, of `dimensions`, texts by name."""
    if isinstance(given, str):
        return (Criterion(PLAIN, given),) if given.strip() else ()
    return tuple(
        Criterion(name, one) if isinstance(one, str) else Criterion(name, one["criterion"], one.get("weight", 1.0))
        for name, one in given.items()
    )


def _assertion(given: dict[str, Any]) -> Assertion:
    fields = {key: one for key, one in given.items() if key not in ("not", "values", "value", "children", "n")}
    value, values = given.get("value"), given.get("values")
    if values is None and any(need.name == "values" for need in TYPES[given["type"]].needs):
        values, value = ([value] if isinstance(value, str) else value), None  # as older files have it
    return Assertion(
        **fields,
        value=value if not isinstance(value, list) else None,
        values=tuple(values or ()),
        negated=given.get("not", False),
        n=int(given.get("n", 1)),  # 2.0 is a whole number too
        children=tuple(_assertion(child) for child in given.get("children", ())),
    )


def _referring(given: dict[str, Any], reference: str) -> dict[str, Any]:
    """In v3 an assertion that compares and has no reference of its own takes the sample's."""
    wants = given["type"] in WITH_CONTEXT and not _says_something(given.get("reference"))
    return given | {"reference": reference} if wants else given


def _compared(check: dict[str, Any], expected: object) -> Assertion:
    """A check of the third form: a text is the whole answer, anything else is JSON in it."""
    weight, pointer = check.get("weight", 1.0), check["actual"]["pointer"]
    wanted = _pointed(expected, check["expectedPointer"])
    if pointer == "" and isinstance(wanted, str):
        return Assertion("equals", value=wanted, weight=weight)
    schema: dict[str, object] = {"const": wanted}
    for step in reversed(_steps(pointer)):
        schema = _with_member(step, schema)
    return Assertion("json_schema", schema=schema, weight=weight)


def _with_member(step: str, inner: dict[str, object]) -> dict[str, object]:
    """A schema for what has this member: an object, or where the step is a number also a list."""
    named: dict[str, object] = {"type": "object", "required": [step], "properties": {step: inner}}
    if not (step.isascii() and step.isdecimal() and len(step) <= _INDEX_DIGITS):
        return named
    place = int(step)
    listed = {"type": "array", "minItems": place + 1, "items": [*([{}] * place), inner]}
    return {"anyOf": [named, listed]}


def _pointed(value: Any, pointer: str) -> object:
    """Where a JSON pointer leads; None where it leads nowhere."""
    if pointer and not pointer.startswith("/"):
        return None
    for step in _steps(pointer):
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isascii() and step.isdecimal() and int(step[:9]) < len(value):
            value = value[int(step[:9])]
        else:
            return None
    return value


def _steps(pointer: str) -> list[str]:
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
