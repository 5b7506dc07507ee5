"""Everything that is wrong with a samples file: the errors of its JSON Schema, and what a schema cannot express."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from knowbound.evals.samples import matching
from knowbound.evals.samples.matching import schema_problem
from knowbound.evals.samples.nodes import SourceNode, pointed, pointer_steps
from knowbound.evals.samples.schema import SCHEMA
from knowbound.evals.samples.values import LARGEST_NUMBER, TEXT, Schema, kind_of

if TYPE_CHECKING:
    import jsonschema_rs

ValuePath = tuple[str | int, ...]

# What people write instead of a field's name.
_USUAL_MISTAKES = {
    **dict.fromkeys(("id", "sampleId", "name"), "sample_id"),
    **dict.fromkeys(("question", "query", "input"), "prompt"),
    **dict.fromkeys(("asserts", "checks", "expected"), "assertions"),
    **dict.fromkeys(("text", "description"), "criterion"),
    **dict.fromkeys(("group", "cluster"), "session"),
    **dict.fromkeys(("cases", "tests"), "samples"),
    "tags": "capability",
    "meta": "metadata",
    "version": "schemaVersion",
    "values_any": "values",
    "regex": "pattern",
    "kind": "type",
    "negate": "not",
    "assertions": "children",
}


class Issue(NamedTuple):
    """A violation of the format, and the value with the violation."""

    path: ValuePath
    line: int
    message: str


def issues_of(root: SourceNode) -> list[Issue]:
    """Everything that is wrong with the values of a file."""
    if isinstance(root.value, dict) and "samples" not in root.value and id_of(root):
        return [Issue((), root.line, "the file is one sample: put it in a list")]
    samples = samples_of(root)
    issues = [*_schema_issues(root), *_repeated_keys(root, ()), *_beyond_schema(root)]
    return [issue._replace(message=_labelled(issue, samples)) for issue in issues]


def samples_of(root: SourceNode) -> list[SourceNode]:
    """The samples of a file, right or wrong."""
    samples = root.members.get("samples") if isinstance(root.value, dict) else root
    return list(samples.items()) if samples is not None else []


def id_of(sample: SourceNode) -> str:
    """The sample's id as far as it can be read, for messages; "" where it has none."""
    for key in ("sample_id", "sampleId"):
        given = sample.members.get(key)
        if given is not None and given.value is not None and not given.depth:  # no list, no object
            return given.written or str(given.value)
    return ""


@cache
def _validator() -> jsonschema_rs.Draft202012Validator:
    import jsonschema_rs  # noqa: PLC0415  # 30 ms, for samples files only

    return jsonschema_rs.Draft202012Validator(SCHEMA)


def _schema_issues(root: SourceNode) -> Iterable[Issue]:
    """Return the violations of the schema, one for each value."""
    if _validator().is_valid(root.value):
        return ()
    errors = [
        (pointer_steps(error["schemaLocation"]), _path(root, error["instanceLocation"]))
        for error in _validator().evaluate(root.value).errors()
    ]
    # Of the issues of one value the last is kept: of its assertion type before general, of its type before all.
    errors.sort(key=lambda error: ("allOf" in error[0], error[0][-1] == "type"))
    return {issue.path: issue for location, path in errors for issue in _issues_of_error(location, path, root)}.values()


def _path(root: SourceNode, pointer: str) -> ValuePath:
    """A JSON pointer as a path: a step is an index in a list and a key in an object, whatever it looks like."""
    path: list[str | int] = []
    for step in pointer_steps(pointer):
        path.append(int(step) if isinstance(root.at(path).value, list) else step)
    return tuple(path)


def _issues_of_error(location: list[str], path: ValuePath, root: SourceNode) -> Iterator[Issue]:
    """An error at a location of the schema in words; one about members of an object becomes an issue of each member."""
    node, keyword = root.at(path), location[-1]
    shape: Any = SCHEMA
    for step in location[:-1]:
        shape = shape[int(step)] if isinstance(shape, list) else shape[step]
    if "errorMessage" in shape and keyword != "type":  # a wrong type is named whatever the schema says of the value
        yield Issue(path, node.line, f"{_name(path)} {shape['errorMessage']}")
    elif keyword in ("additionalProperties", "required"):
        yield from _field_issues(node, path, shape, by_type="allOf" in location)
    elif location[-2] == "propertyNames":
        blank = next(key for key in node.key_lines if not key.strip())
        yield Issue((*path, blank), node.key_lines[blank], f"{_name(path)} has an empty name")
    else:
        yield Issue(path, node.line, f"{_name(path)} {_violation(keyword, shape, node)}")


def _field_issues(node: SourceNode, path: ValuePath, shape: Schema, *, by_type: bool) -> Iterator[Issue]:
    """Yield the unknown and the missing fields of an object; `by_type`: those that its assertion type needs."""
    for key in node.value if shape.get("additionalProperties") is False else ():
        if key not in shape["properties"]:
            message = f"unknown field {_name((*path, key))!r}.{_suggestion(key, shape['properties'])}"
            yield Issue((*path, key), node.key_lines[key], message)
    for key in shape["required"]:
        if key not in node.value and by_type:
            unused = [name for name in ("value", "values") if name in node.value and name not in shape["properties"]]
            other = f", not {unused[0]}" if unused else ""
            yield Issue((*path, key), node.line, f"{_name(path)} ({node.value['type']}) needs {key}{other}")
        elif key not in node.value:
            yield Issue((*path, key), node.line, f"{_name((*path, key))} is missing")


def _violation(keyword: str, shape: Schema, node: SourceNode) -> str:
    """Describe how a value violates a keyword of the schema."""
    limit = shape[keyword]
    if keyword == "type":
        return f"must be {kind_of(shape)}, not {_described(node)}{_correction(shape, node)}"
    if keyword == "enum":
        return f"must be {kind_of(shape)}, not {_described(node)}.{_suggestion(str(node.value), limit)}"
    if keyword in ("pattern", "minItems", "minProperties"):
        return "is empty"
    if abs(limit) == LARGEST_NUMBER:
        return "is too large a number"
    if keyword == "exclusiveMinimum":
        return f"must be more than {limit}, not {node.value:g}"
    if shape.get("maximum", LARGEST_NUMBER) != LARGEST_NUMBER:
        return f"must be from {shape['minimum']} to {shape['maximum']}, not {node.value:g}"
    return f"must be at least {limit}, not {node.value:g}"


def _split(path: ValuePath) -> tuple[int | None, ValuePath]:
    """The index of the sample that a path leads into, and the path from there."""
    rest = path[1:] if path[:1] == ("samples",) else path
    return (rest[0], rest[1:]) if rest and isinstance(rest[0], int) else (None, path)


def _labelled(issue: Issue, samples: list[SourceNode]) -> str:
    """The message, after the id or the number of the sample that it is about."""
    index, _ = _split(issue.path)
    if index is None:
        return issue.message
    return f"sample {id_of(samples[index]) or f'#{index + 1}'!r}: {issue.message}"


def _name(path: ValuePath) -> str:
    """A path as people write it, from the sample on: assertions[0].value."""
    index, inside = _split(path)
    name = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in inside)
    return name.removeprefix(".") or ("the file" if index is None else "the sample")


def _described(node: SourceNode) -> str:
    """A value in a message."""
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


def _correction(shape: Schema, node: SourceNode) -> str:
    """Return a hint how to write a value of the wrong type; "" if none is known."""
    if shape["type"] == "string" and node.written and node.value is not None:
        return f'; put it in quotes: "{node.written}"'
    if shape.get("items") == TEXT and isinstance(node.value, str) and len(node.value) < 40:
        return f'; write ["{node.value}"]'
    return ""


def _suggestion(word: str, known: Iterable[str]) -> str:
    """The known word that was probably meant, as a question; "" where none is near."""
    plain = {name.lower().replace("-", "_"): name for name in known}
    near = difflib.get_close_matches(word.lower().replace("-", "_"), plain, n=1, cutoff=0.6)
    meant = _USUAL_MISTAKES[word] if _USUAL_MISTAKES.get(word) in plain.values() else plain[near[0]] if near else ""
    return f" Did you mean {meant!r}?" if meant else ""


def _repeated_keys(node: SourceNode, path: ValuePath) -> Iterator[Issue]:
    """Keys that an object has twice: one of the two values would be lost."""
    for key, line in node.repeated:
        yield Issue((*path, key), line, f"the key {key!r} is repeated, first in line {node.key_lines[key]}")
    for step, member in node.members.items():
        if member.depth:  # a list or an object
            yield from _repeated_keys(member, (*path, step))


def _beyond_schema(root: SourceNode) -> Iterator[Issue]:
    """Patterns and schemas that are not valid, and pointers that lead nowhere."""
    prefix: ValuePath = ("samples",) if isinstance(root.value, dict) else ()
    for index, sample in enumerate(samples_of(root)):
        path = (*prefix, index)
        yield from _assertion_issues(sample.members.get("assertions"), (*path, "assertions"))
        if (evaluation := sample.members.get("evaluationContext")) is not None:  # version 3 of the format
            inside = (*path, "evaluationContext")
            yield from _assertion_issues(evaluation.members.get("assertions"), (*inside, "assertions"))
            checks, expected = evaluation.members.get("checks"), sample.value.get("expected")
            yield from _pointer_issues(checks, (*inside, "checks"), expected)


def _pointer_issues(checks: SourceNode | None, path: ValuePath, expected: object) -> Iterator[Issue]:
    """Yield the checks (version 3 of the format) whose pointer leads nowhere in `expected`."""
    for index, check in enumerate(checks.items() if checks is not None else ()):
        pointer = check.value.get("expectedPointer") if isinstance(check.value, dict) else None
        if isinstance(pointer, str) and pointed(expected, pointer) is None:
            inside = (*path, index)
            yield Issue(inside, check.line, f"{_name(inside)}: expectedPointer {pointer!r} leads nowhere in expected")


def _assertion_issues(assertions: SourceNode | None, path: ValuePath) -> Iterator[Issue]:
    """Yield the patterns and schemas of assertions, and of the children of sets, that cannot be used."""
    for index, assertion in enumerate(assertions.items() if assertions is not None else ()):
        inside, member, problem = (*path, index), "", ""
        match {"flags": "", **assertion.value} if isinstance(assertion.value, dict) else {}:
            case {"type": "regex", "pattern": str(pattern), "flags": str(flags)}:
                member, problem = "pattern", matching.problem_of(pattern, flags)
            case {"type": "json_schema", "schema": dict(schema)}:
                member, problem = "schema", schema_problem(schema)
        if problem:
            message = f"{_name(inside)} ({assertion.value['type']}): the {member} cannot be used: {problem}"
            yield Issue((*inside, member), assertion.members[member].line, message)
        yield from _assertion_issues(assertion.members.get("children"), (*inside, "children"))
