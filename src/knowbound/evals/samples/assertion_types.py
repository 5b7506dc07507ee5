"""Every assertion type: what it needs, what it says, which layer it counts in. One table for the check, the grading,
the JSON Schema and docs/samples.md.

Facts are about what the answer says, behaviour is about how it came about and what form it has; the two layers are
scored apart (the samples format).
"""

from __future__ import annotations

from typing import NamedTuple

from knowbound.evals.samples.shapes import AnyObject, Field, ListOf, Number, Shape, Text

FACT, BEHAVIOR = "fact", "behavior"
JUDGE, PROGRAM = "judge", "program"  # who decides what rules cannot


class AssertionType(NamedTuple):
    """One type of assertion."""

    name: str
    layer: str  # "" for a set, which has the layer of its children
    says: str
    needs: tuple[Field, ...] = ()  # with the shape that this type wants
    by: str = ""  # a judge or a program; "" for rules


def _needs(name: str, shape: Shape, *, needed: bool = True) -> Field:
    return Field(name, shape, "", needed)


_TEXT = (_needs("value", Text()),)
_NUMBER = (_needs("value", Number(low=0)),)
_LIST = (_needs("values", ListOf(Text(), least=1)),)
_REFERENCE = _needs("reference", Text())
_SHARE = _needs("threshold", Number(low=0, high=1), needed=False)
_SCORE = _needs("threshold", Number(low=1, high=5), needed=False)

_ALL = (
    AssertionType("contains", FACT, "The answer contains `value`, in capitals or not.", _TEXT),
    AssertionType("not_contains", FACT, "The answer does not contain `value`.", _TEXT),
    AssertionType("contains_all", FACT, "The answer contains each of `values`.", _LIST),
    AssertionType("contains_any", FACT, "The answer contains at least one of `values`.", _LIST),
    AssertionType("equals", FACT, "The answer is `value`, apart from space around it.", _TEXT),
    AssertionType("not_equals", FACT, "The answer is not `value`.", _TEXT),
    AssertionType(
        "regex",
        FACT,
        "`pattern` (JavaScript's dialect) is found in the answer; `flags` are `i` where none are given.",
        (_needs("pattern", Text(blank=True)), _needs("flags", Text(blank=True), needed=False)),
    ),
    AssertionType("json_valid", FACT, "The answer is JSON."),
    AssertionType(
        "json_schema",
        FACT,
        "The answer is JSON that fits `schema` (draft 7, or the draft that its `$schema` names).",
        (_needs("schema", AnyObject()),),
    ),
    AssertionType("starts_with", BEHAVIOR, "The answer begins with `value`, in capitals or not.", _TEXT),
    AssertionType("ends_with", BEHAVIOR, "The answer ends with `value`, in capitals or not.", _TEXT),
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
        "`value` is `Tool:text`: a call of that tool was given the text. Without a tool, any call was.",
        _TEXT,
    ),
    AssertionType("tool_input_not_contains", FACT, "No call of the tool was given the text of `value`.", _TEXT),
    AssertionType("tool_output_contains", FACT, "A call of the tool came back with the text of `value`.", _TEXT),
    AssertionType("mock_hit", BEHAVIOR, "`value` is `Tool:N`. Mocks are not played here: always unscored.", _TEXT),
    AssertionType(
        "rouge_n_min",
        FACT,
        "At least `threshold` (0.5) of the `n`-word sequences (1) of `reference` are in the answer.",
        (_REFERENCE, _SHARE, _needs("n", Number(low=1, whole=True), needed=False)),
    ),
    AssertionType(
        "bleu_min",
        FACT,
        "BLEU-4 of the answer against `reference` is at least `threshold` (0.5).",
        (_REFERENCE, _SHARE),
    ),
    AssertionType(
        "levenshtein_max",
        FACT,
        "At most `value` characters must change to make `reference` of the answer.",
        (*_NUMBER, _REFERENCE),
    ),
    AssertionType(
        "semantic_similarity",
        FACT,
        "A judge scores how far the answer means the same as `reference`: at least `threshold` (3) of 5.",
        (_REFERENCE, _SCORE),
        JUDGE,
    ),
    AssertionType(
        "faithfulness",
        FACT,
        "A judge scores whether the answer keeps to `reference`, or to the context: at least `threshold` (3).",
        (_SCORE,),
        JUDGE,
    ),
    AssertionType(
        "answer_relevancy",
        FACT,
        "A judge scores whether the answer answers the prompt: at least `threshold` (3).",
        (_SCORE,),
        JUDGE,
    ),
    AssertionType(
        "context_recall",
        FACT,
        "A judge scores whether the facts of `reference`, or of the context, are used: at least `threshold` (3).",
        (_SCORE,),
        JUDGE,
    ),
    AssertionType(
        "custom",
        BEHAVIOR,
        "The program `fn`, a file beside the samples, decides. It runs only where `--allow-run` is given.",
        (_needs("fn", Text()),),
        PROGRAM,
    ),
    AssertionType(
        "assert-set",
        "",
        "All of `children`, or with `mode: any` at least one of them. Sets may hold sets, and nothing that a judge or "
        "a program decides.",
    ),
)

TYPES: dict[str, AssertionType] = {one.name: one for one in _ALL}
WITH_CONTEXT = ("faithfulness", "context_recall")  # need the assertion's reference or the sample's context
WITH_TOOL = ("tool_input_contains", "tool_input_not_contains", "tool_output_contains")
SET = "assert-set"
