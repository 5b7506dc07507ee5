"""The JSON Schema of samples files: what the check accepts, and published as docs/samples.schema.json.

Every choice is an `if`, never an `anyOf`, so that each error is about one value. The schema cannot express that ids are
unique, that a pattern or a schema inside is valid, or where a pointer leads: check.py does.
"""

from __future__ import annotations

import json

from knowbound.evals.assertions import SET, TYPES, WITH_CONTEXT
from knowbound.evals.samples.values import (
    ANY_TEXT,
    COUNT,
    FLAG,
    NUMBER,
    OBJECT,
    TEXT,
    TEXTS,
    WEIGHT,
    Schema,
    list_of,
    needed,
    one_of,
    optional,
    record,
    refused,
)

_TARGETS = ("skill", "skill_file", "frontmatter", "reference", "script", "hard_rule", "workflow", "workflow_node")
_PROVENANCES = ("human", "llm-generated", "production-trace", "rule-generated")
_VERSIONS = ("omk.eval-sample-set/v1", "omk.eval-sample-set/v2", "omk.eval-sample-set/v3")


def _for_types(types: list[str], fields: Schema) -> Schema:
    """Return the rule that assertions of these types have to fit the schema `fields`."""
    of_types = {"type": "object", "properties": {"type": {"enum": types}}, "required": ["type"]}
    return {"if": of_types, "then": fields}


def _by_name(items: Schema) -> Schema:
    """An object with names of the author's choice."""
    return {"type": "object", "additionalProperties": items, "propertyNames": {"pattern": r"\S"}}


def _with_reference(context: str, name: str) -> Schema:
    """Assertions that compare with a context need a reference of their own where the member `context` is not there."""
    message = f"compares the answer with a text: give it a reference, or the sample {name}"
    with_reference = {"properties": {"reference": TEXT}, "required": ["reference"], "errorMessage": message}
    return {
        "if": {"properties": {context: TEXT}, "required": [context]},
        "else": {"properties": {"assertions": {"items": _for_types(list(WITH_CONTEXT), with_reference)}}},
    }


def _type_rules() -> list[Schema]:
    """Return the schema rules for the fields of each assertion type; types with the same fields share a rule."""
    by_fields: dict[str, list[str]] = {}
    for type_ in TYPES.values():
        by_fields.setdefault(json.dumps(type_.fields), []).append(type_.name)
    not_in_sets = [type_.name for type_ in TYPES.values() if type_.decided_by]
    child = _for_types(not_in_sets, refused("is decided by a judge or a program and cannot be in a set"))
    in_set = {
        "properties": {"children": {"items": child}},
        "not": {"properties": {"children": {"const": []}}},
        "errorMessage": "needs children, a list of assertions",
    }
    return [*(_for_types(types, json.loads(fields)) for fields, types in by_fields.items()), _for_types([SET], in_set)]


_ASSERTIONS: Schema = {"type": "array", "items": {"$ref": "#/$defs/assertion"}}
ASSERTION = record(
    needed("type", one_of(*TYPES), "What is asserted; docs/samples.md lists the types."),
    optional("value", NUMBER | {"type": ["string", "number", "array"], "items": TEXT}, "As the type needs it."),
    optional("values", TEXTS, "Several texts, where the type needs them."),
    optional("pattern", ANY_TEXT, "A regular expression in JavaScript's dialect."),
    optional("flags", ANY_TEXT, "Of the pattern: i, m, s, g, u, v, y, d. Default: i."),
    optional("schema", OBJECT, "A JSON Schema."),
    optional("weight", WEIGHT, "How much it counts in its layer; 1 by default."),
    optional("fn", ANY_TEXT, "The file of a custom assertion, relative to the samples file."),
    optional("reference", ANY_TEXT, "What the answer is compared with."),
    optional("threshold", NUMBER, "The score or share from which it passes."),
    optional("not", FLAG, "Invert the result. What is unscored stays unscored."),
    optional("mode", one_of("all", "any"), "Of a set: whether all children must pass (the default) or any."),
    optional("children", _ASSERTIONS, "Of a set: the assertions in it."),
    optional("n", COUNT, "Of rouge_n_min: how many words a sequence has."),
)

ENVIRONMENT = record(
    optional("cli_available", TEXTS, "Programs that the agent may assume to be installed."),
    optional("files_available", TEXTS, "Files that it may assume to exist. They are not created."),
    optional("notes", ANY_TEXT, "Anything else it is given."),
)
_ANSWER: Schema = {"type": ["string", "object"]}
_MOCK = record(
    needed("tool", TEXT, "The tool whose call is answered."),
    optional("match", OBJECT, "Which calls."),
    optional("return", _ANSWER, "The answer."),
    optional("return_file", TEXT, "The file with the answer."),
    optional("return_seq", list_of(_ANSWER), "One answer after the other."),
)
_RUN = (
    optional("cwd", ANY_TEXT, "The working folder of the agent, relative to the samples file."),
    optional("allowedTools", TEXTS, "The only tools it may use, where the agent can be held to them."),
    optional("environment", ENVIRONMENT, "What the agent may assume."),
    optional("mocks", {"type": "array", "items": _MOCK}, "Answers for tools. They are read and not used."),
    optional("mocksStrict", FLAG, "Read and not used, as mocks are."),
)
_COVERED = record(
    needed("targetKind", one_of(*_TARGETS), "What kind of thing."),
    needed("ref", TEXT, "Its path or name."),
)
_ABOUT = (
    optional("capability", TEXTS, "What it tests, for sorting. Does not change any score."),
    optional("difficulty", one_of("easy", "medium", "hard"), "How hard it is. Does not change any score."),
    optional("construct", ANY_TEXT, "What it measures, in your words. Does not change any score."),
    optional("provenance", one_of(*_PROVENANCES), "Where it comes from. Does not change any score."),
    optional("covers", {"type": "array", "items": _COVERED}, "Which parts of the knowledge it is about. Not scored."),
    optional("tripwire", FLAG, "Made to mislead the agent. Does not change any score."),
)
_CRITERIA = _by_name(
    record(
        needed("criterion", TEXT, "What the judge looks for."),
        optional("weight", WEIGHT, "How much it counts; 1 by default."),
    )
) | {"minProperties": 1}
_RUBRIC = _CRITERIA | {"type": ["string", "object"]}

SAMPLE = record(
    needed("sample_id", TEXT, "Its name: unique in the test set, and the same from run to run."),
    needed("prompt", TEXT, "What the agent is asked."),
    optional("context", ANY_TEXT, "Given to the agent under the prompt, as a block of its own."),
    optional("rubric", _RUBRIC, "What a good answer is: one text, or criteria by name with a weight each."),
    optional("dimensions", _by_name(TEXT), "Criteria by name, each judged separately, in place of a rubric's text."),
    optional("assertions", _ASSERTIONS, "What must be true of the answer."),
    *_ABOUT,
    optional("session", TEXT, "Samples with the same session are related, and are counted as a cluster."),
    *_RUN,
    optional("expectedTools", TEXTS, "Read and not used; use the assertion tools_called."),
    optional("metadata", OBJECT, "Anything you keep with it."),
)
_ONE_RUBRIC = {
    "if": {"properties": {"rubric": OBJECT}, "required": ["rubric"]},
    "then": {"properties": {"dimensions": refused("cannot be used with a rubric that has criteria: keep one of them")}},
}

# Version 3 of the format
_INPUT = {
    "type": "object",
    "if": {"properties": {"inputKind": {"enum": ["json", "messages"]}}, "required": ["inputKind"]},
    "then": {"properties": {"inputKind": refused("cannot be used: only 'text' can be asked here")}},
    "else": record(
        needed("inputKind", one_of("text"), "Only text can be asked here."),
        needed("text", TEXT, "What the agent is asked."),
    ),
}
_DATA = refused("cannot be used: no executor here takes data beside the text")
_ACTUAL = record(
    needed("sourceKind", one_of("output"), "Only the answer can be compared here."),
    needed("pointer", ANY_TEXT, "Where in an answer that is JSON; empty for all of it."),
)
_CHECK = record(
    needed("checkKind", one_of("exact-match"), "How it is compared."),
    needed("checkId", TEXT, "Its name."),
    needed("actual", _ACTUAL, "What is compared."),
    needed("expectedPointer", ANY_TEXT, "Where in `expected` the value is."),
    needed("layer", one_of("fact"), "What an answer says is a fact."),
    optional("weight", WEIGHT, "How much it counts in its layer; 1 by default."),
)
_EVALUATION = record(
    optional("assertions", _ASSERTIONS, "What must be true of the answer."),
    optional("rubric", _CRITERIA, "Criteria by name, with a weight each."),
    optional("reference", ANY_TEXT, "What judges compare with; the agent never sees it."),
    optional("checks", list_of(_CHECK), "That the answer, or a part of it, is a value of `expected`."),
) | {"allOf": [_with_reference("reference", "an evaluationContext.reference")]}
SAMPLE_V3 = record(
    needed("sampleId", TEXT, "Its name: unique in the test set, and the same from run to run."),
    needed("input", _INPUT, "What the agent is asked: `inputKind` is `text`, and `text` is the prompt."),
    optional(
        "executionContext", record(*_RUN, optional("data", _DATA, "Refused.")), "Where and with what it is asked."
    ),
    optional("expected", {}, "What the checks compare with."),
    optional("evaluationContext", _EVALUATION, "What a good answer is."),
    optional("annotations", record(*_ABOUT), "About the sample. Does not change any score."),
)
_IS_V3 = {
    "type": "object",
    "if": {"required": ["sampleId"]},
    "else": {"properties": {"input": OBJECT}, "required": ["input"]},
    "properties": {"sample_id": False, "prompt": False},
}

_REQUIRES = record(
    optional("tools", TEXTS, "Programs."),
    optional("files", TEXTS, "Files."),
    optional("env", TEXTS, "Environment variables."),
    optional("preflight", TEXTS, "Commands. They are shown, never run."),
)
SAMPLE_SET = record(
    optional("$schema", ANY_TEXT, "For editors: where this schema is."),
    optional("schemaVersion", one_of(*_VERSIONS), "Which version of the format; without it, the fields decide."),
    optional("requires", _REQUIRES, "What the test set needs, for people to see."),
    needed("samples", {"type": "array", "$ref": "#/$defs/samples"}, "The samples."),
)

SCHEMA: Schema = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "knowbound samples",
    "description": "A test set: a list of samples, or an object with them. docs/samples.md describes the format.",
    "if": {"type": "object"},
    "then": {"$ref": "#/$defs/set"},
    "else": {"$ref": "#/$defs/samples"},
    "$defs": {
        "samples": list_of({"if": _IS_V3, "then": {"$ref": "#/$defs/sample_v3"}, "else": {"$ref": "#/$defs/sample"}}),
        "set": SAMPLE_SET | {"title": "a test set"},
        "sample": SAMPLE | {"title": "a sample", "allOf": [_with_reference("context", "a context"), _ONE_RUBRIC]},
        "sample_v3": SAMPLE_V3 | {"title": "a sample in version 3 of the format"},
        "assertion": ASSERTION | {"title": "an assertion", "allOf": _type_rules()},
    },
}
