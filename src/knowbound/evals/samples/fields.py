"""Every field of a samples file, in one table each: for the check, the JSON Schema and docs/samples.md."""

from __future__ import annotations

from collections.abc import Iterator

from knowbound.evals.samples.assertions import ASSERTION
from knowbound.evals.samples.positions import Node
from knowbound.evals.samples.shapes import (
    AnyObject,
    Anything,
    Either,
    Field,
    Flag,
    ListOf,
    MapOf,
    Number,
    OneOf,
    Record,
    Refused,
    Shape,
    Slip,
    Text,
)

VERSIONS = tuple(f"omk.eval-sample-set/v{number}" for number in (1, 2, 3))
DIFFICULTIES = ("easy", "medium", "hard")
PROVENANCES = ("human", "llm-generated", "production-trace", "rule-generated")
_TARGETS = ("skill", "skill_file", "frontmatter", "reference", "script", "hard_rule", "workflow", "workflow_node")
_WORDS = ListOf(Text())


ENVIRONMENT = Record(
    (
        Field("cli_available", _WORDS, "Programs that the agent may take for installed."),
        Field("files_available", _WORDS, "Files that it may take for present. They are not made."),
        Field("notes", Text(blank=True), "Anything else it is told."),
    )
)

_MOCK = Record(
    (
        Field("tool", Text(), "Whose call is answered.", needed=True),
        Field("match", AnyObject(), "Which calls."),
        Field("return", Either((Text(blank=True), AnyObject())), "The answer."),
        Field("return_file", Text(), "The file that holds the answer."),
        Field("return_seq", ListOf(Either((Text(blank=True), AnyObject())), least=1), "One answer after the other."),
    )
)

_COVERED = Record(
    (
        Field("targetKind", OneOf(_TARGETS), "What kind of thing.", needed=True),
        Field("ref", Text(), "Its path or name.", needed=True),
    )
)

_CRITERION = Record(
    (
        Field("criterion", Text(), "What the judge looks for.", needed=True),
        Field("weight", Number(above=0), "How much it counts; 1 where it is not given."),
    ),
    {"text": "criterion", "description": "criterion"},
)

_ABOUT = (
    Field("capability", _WORDS, "What it tests, for sorting. Does not change any score."),
    Field("difficulty", OneOf(DIFFICULTIES), "How hard it is. Does not change any score."),
    Field("construct", Text(blank=True), "What it measures, in your words. Does not change any score."),
    Field("provenance", OneOf(PROVENANCES), "Where it comes from. Does not change any score."),
    Field("covers", ListOf(_COVERED), "Which parts of the knowledge it is about. Does not change any score."),
    Field("tripwire", Flag(), "Made to lead the agent astray. Does not change any score."),
)
_RUN = (
    Field("cwd", Text(blank=True), "The folder it is asked in, relative to the samples file."),
    Field("allowedTools", _WORDS, "The only tools it may use, where the agent can be held to them."),
    Field("environment", ENVIRONMENT, "What the agent is told that it may take for granted."),
    Field("mocks", ListOf(_MOCK), "Answers for tools. They are read and not played."),
    Field("mocksStrict", Flag(), "Read and not used, as mocks are."),
)
_RUBRIC = Either((Text(blank=True), MapOf(_CRITERION, least=1)))


class InputShape(Shape):
    """What a sample of the third form asks: only a text can be asked here."""

    def _takes(self, node: Node) -> bool:
        return isinstance(node.value, dict)

    @property
    def in_words(self) -> str:  # noqa: D102
        return "an object with inputKind and text"

    def schema(self) -> dict[str, object]:  # noqa: D102
        return _INPUT.schema()

    def _inside(self, node: Node, name: str) -> Iterator[Slip]:
        assert isinstance(node.value, dict)
        kind = node.value.get("inputKind")
        if kind is not None and kind.value in ("json", "messages"):
            yield Slip(kind.line, f"{name} of kind {kind.value!r} cannot be asked here, only 'text'")
        else:
            yield from _INPUT.slips(node, name)


SAMPLE = Record(
    (
        Field("sample_id", Text(), "Its name: unique in the test set, and the same from run to run.", needed=True),
        Field("prompt", Text(), "What the agent is asked.", needed=True),
        Field("context", Text(blank=True), "Given to the agent under the prompt, as a block of its own."),
        Field("rubric", _RUBRIC, "What a good answer is: one text, or criteria by name with a weight each."),
        Field("dimensions", MapOf(Text()), "Criteria by name, each judged by itself, in place of a rubric's text."),
        Field("assertions", ListOf(ASSERTION), "What must be true of the answer."),
        *_ABOUT,
        Field("session", Text(), "Samples that share one are alike, and are counted as a cluster."),
        *_RUN,
        Field("expectedTools", _WORDS, "Read and not used; use the assertion tools_called."),
        Field("metadata", AnyObject(), "Anything you keep with it."),
    ),
    {
        "id": "sample_id",
        "sampleId": "sample_id",
        "name": "sample_id",
        "question": "prompt",
        "query": "prompt",
        "input": "prompt",
        "asserts": "assertions",
        "checks": "assertions",
        "expected": "assertions",
        "tags": "capability",
        "meta": "metadata",
        "group": "session",
        "cluster": "session",
        "allowed_tools": "allowedTools",
    },
)

_INPUT = Record(
    (
        Field("inputKind", OneOf(("text",)), "Only text can be asked here.", needed=True),
        Field("text", Text(), "What the agent is asked.", needed=True),
    )
)
_DATA = Field("data", Refused("no executor here takes data beside the text"), "Cannot be used here.")
_POINTER = Text(blank=True)
_CHECK = Record(
    (
        Field("checkKind", OneOf(("exact-match",)), "How it is compared.", needed=True),
        Field("checkId", Text(), "Its name.", needed=True),
        Field(
            "actual",
            Record(
                (
                    Field("sourceKind", OneOf(("output",)), "Only the answer can be compared here.", needed=True),
                    Field("pointer", _POINTER, "Where in an answer that is JSON; empty for all of it.", needed=True),
                )
            ),
            "What is compared.",
            needed=True,
        ),
        Field("expectedPointer", _POINTER, "Where in `expected` the value stands.", needed=True),
        Field("layer", OneOf(("fact",)), "What an answer says is a fact.", needed=True),
        Field("weight", Number(above=0), "How much it counts in its layer; 1 where it is not given."),
    )
)

SAMPLE_V3 = Record(
    (
        Field("sampleId", Text(), "Its name: unique in the test set, and the same from run to run.", needed=True),
        Field("input", InputShape(), "What the agent is asked.", needed=True),
        Field("executionContext", Record((*_RUN, _DATA)), "Where and with what it is asked."),
        Field("expected", Anything(), "What the checks compare with."),
        Field(
            "evaluationContext",
            Record(
                (
                    Field("assertions", ListOf(ASSERTION), "What must be true of the answer."),
                    Field("rubric", MapOf(_CRITERION, least=1), "Criteria by name, with a weight each."),
                    Field("reference", Text(blank=True), "What judges compare with; the agent never sees it."),
                    Field(
                        "checks", ListOf(_CHECK, least=1), "That the answer, or a part of it, is a value of `expected`."
                    ),
                )
            ),
            "What a good answer is.",
        ),
        Field("annotations", Record(_ABOUT), "About the sample. Does not change any score."),
    )
)

REQUIRES = Record(
    tuple(
        Field(name, _WORDS, says)
        for name, says in (
            ("tools", "Programs."),
            ("files", "Files."),
            ("env", "Environment variables."),
            ("preflight", "Commands. They are shown, never run."),
        )
    )
)

# Without its samples, which are read one by one.
SET_FIELDS = Record(
    (
        Field("$schema", Text(blank=True), "For editors: where this schema is."),
        Field("schemaVersion", OneOf(VERSIONS), "Which form of the format; without it, the fields decide."),
        Field("requires", REQUIRES, "What the test set needs, for people to see."),
        Field("samples", ListOf(Anything(), least=1), "The samples.", needed=True),
    ),
    {"version": "schemaVersion", "cases": "samples", "tests": "samples"},
)
