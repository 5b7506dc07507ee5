"""Every type of assertion: its name, layer, description, fields and rule. A new type is an entry here and nowhere else.

Facts are about what the answer says, behaviour is about how the answer was found and what form it has. The two layers
are scored separately. A judge or a program decides what no rule can (grading.py).

A result states a fact ("412 characters", "not found") and whether the fact is as asserted. An unknown value (the cost
of an agent that does not report it) makes the assertion undecided, never failed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from knowbound.core.trace import ToolKind
from knowbound.evals.samples import matching
from knowbound.evals.samples.matching import bleu, levenshtein, rouge_n
from knowbound.evals.samples.values import ANY_TEXT, COUNT, OBJECT, TEXT, Assertion, Schema, list_of
from knowbound.text.printable import short_line
from knowbound.text.redact import excerpt, excerpt_of_end

DETAIL_CHARACTERS = 80  # of a text in a detail or a reason
VERDICT_CHARACTERS = 300  # of what a judge or a program says
FACT, BEHAVIOR = "fact", "behavior"
JUDGE, PROGRAM = "judge", "program"  # who decides what rules cannot
SET = "assert-set"
WITH_CONTEXT = ("faithfulness", "context_recall")  # need the assertion's reference or the sample's context


class ToolUse(msgspec.Struct, frozen=True):
    """A tool call as assertions see it."""

    tool: str  # the agent's own name for the tool
    input: str = ""
    output: str = ""
    kind: str = ""  # what the tool does, whatever its name: a value of `Kind`
    input_cut: bool = False  # whether there was more than is kept here
    output_cut: bool = False


class AgentAnswer(msgspec.Struct, frozen=True):
    """An answer and how it was found. What cannot be known is None."""

    answer: str
    seconds: float | None = None
    usd: float | None = None
    steps: int | None = None  # of the agent: the turns of the samples format
    calls: tuple[ToolUse, ...] | None = ()


class CheckResult(NamedTuple):
    """The result of an assertion (`passed` is None if it is undecided), and the fact that decided it."""

    passed: bool | None
    reason: str

    def inverted(self) -> CheckResult:
        """Return the result with passed and failed exchanged; undecided stays undecided."""
        return self if self.passed is None else CheckResult(not self.passed, self.reason)


Rule = Callable[[Assertion, AgentAnswer], CheckResult]


def inverse(rule: Rule) -> Rule:
    """The rule that passes where this one fails."""
    return lambda assertion, answered: rule(assertion, answered).inverted()


def negated(assertion: Assertion, result: CheckResult) -> CheckResult:
    """The result of an assertion, with its `not`."""
    return result.inverted() if assertion.negated else result


def short(text: str, most: int = DETAIL_CHARACTERS) -> str:
    """The start of a text, on one line; secrets are removed before it is cut, as half a secret is not recognised."""
    return short_line(excerpt(text, 4 * most), most)


class AssertionType(NamedTuple):
    """One type of assertion."""

    name: str
    layer: str  # "" for a set, which has the layer of its children
    description: str
    fields: Schema  # for assertions of this type, on top of the schema for all assertions
    rule: Rule
    decided_by: str = ""  # a judge or a program; "" for rules

    @property
    def takes_list(self) -> bool:
        """Report whether this type compares with a list of texts."""
        return self.fields is _LIST


TYPES: dict[str, AssertionType] = {}


def _type(name: str, layer: str, description: str, fields: Schema, decided_by: str = "") -> Callable[[Rule], Rule]:
    """Return what adds a type with its rule to the table."""

    def add(rule: Rule) -> Rule:
        TYPES[name] = AssertionType(name, layer, description, fields, rule, decided_by)
        return rule

    return add


def decide(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
    """Decide an assertion by its rule."""
    return negated(assertion, TYPES[assertion.type].rule(assertion, answered))


def layer_of(assertion: Assertion) -> str:
    """Fact or behaviour; a set has the layer that all its children share, or none."""
    if assertion.type != SET:
        return TYPES[assertion.type].layer
    layers = {layer_of(child) for child in assertion.children}
    return layers.pop() if len(layers) == 1 else ""


def detail_of(assertion: Assertion) -> str:
    """Return the asserted value in short form, as reports show it."""
    if assertion.type == SET:
        types = ", ".join(child.type for child in assertion.children)
        asked = f"{assertion.mode} of {len(assertion.children)}: {types}"
    elif isinstance(assertion.value, float | int):
        asked = f"{assertion.value:g}"
    else:
        texts = (assertion.value, assertion.pattern, ", ".join(assertion.values), assertion.fn, assertion.reference)
        asked = next(filter(None, texts), "")
    return ("not " if assertion.negated else "") + short(asked)


# ---- the fields of a type


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


# ---- what the answer says


def _has_text(answered: AgentAnswer, text: str) -> bool:
    return text.lower() in answered.answer.lower()


def _limit(assertion: Assertion) -> float:
    return float(assertion.value or 0)


@_type("contains", FACT, "The answer contains `value`; upper and lower case are the same.", _TEXT)
def _contains(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
    found = _has_text(answered, str(assertion.value))
    return CheckResult(found, "found" if found else "not found")


_type("not_contains", FACT, "The answer does not contain `value`.", _TEXT)(inverse(_contains))


@_type("contains_all", FACT, "The answer contains each of `values`.", _LIST)
def _contains_all(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
    missing = [text for text in assertion.values if not _has_text(answered, text)]
    return CheckResult(not missing, f"not found: {short(', '.join(missing))}" if missing else "all found")


@_type("contains_any", FACT, "The answer contains at least one of `values`.", _LIST)
def _contains_any(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
    found = [text for text in assertion.values if _has_text(answered, text)]
    return CheckResult(bool(found), f"found: {short(', '.join(found))}" if found else "none found")


@_type("equals", FACT, "The answer is `value`, apart from space around it.", _TEXT)
def _equals(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
    is_equal = answered.answer.strip() == str(assertion.value).strip()
    return CheckResult(is_equal, "the same" if is_equal else f"the answer is {short(answered.answer)!r}")


_type("not_equals", FACT, "The answer is not `value`.", _TEXT)(inverse(_equals))


_PATTERN = _fields({"flags": ANY_TEXT}, pattern=ANY_TEXT)


@_type("regex", FACT, "`pattern` (JavaScript's dialect) is found in the answer; `flags` are `i` by default.", _PATTERN)
def _regex(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
    found = matching.is_found(assertion.pattern, assertion.flags, answered.answer)
    if found is None:
        return CheckResult(None, f"the pattern takes more than {matching.PATTERN_SECONDS:g} seconds on this answer")
    return CheckResult(found, "found" if found else "not found")


@_type("json_valid", FACT, "The answer is JSON.", _NOTHING)
def _json_valid(_: Assertion, answered: AgentAnswer) -> CheckResult:
    is_valid, _value = matching.decoded(answered.answer)
    return CheckResult(is_valid, "it is JSON" if is_valid else "it is not JSON")


_FITS = "The answer is JSON that fits `schema` (draft 7, or the draft that its `$schema` names)."


@_type("json_schema", FACT, _FITS, _fields(schema=OBJECT))
def _json_schema(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
    valid, value = matching.decoded(answered.answer)
    if not valid:
        return CheckResult(False, "it is not JSON")
    problem = matching.misfit(value, assertion.schema or {})
    return CheckResult(not problem, problem or "it fits")


@_type("starts_with", BEHAVIOR, "The answer begins with `value`; case does not matter.", _TEXT)
def _starts_with(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
    fits = answered.answer.lower().startswith(str(assertion.value).lower())
    return CheckResult(fits, f"it begins with {short(answered.answer)!r}")


@_type("ends_with", BEHAVIOR, "The answer ends with `value`; case does not matter.", _TEXT)
def _ends_with(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
    fits = answered.answer.lower().endswith(str(assertion.value).lower())
    return CheckResult(fits, f"it ends with {excerpt_of_end(answered.answer, DETAIL_CHARACTERS)!r}")


# ---- how much a run took

_UNKNOWN_CALLS = "the agent's tool calls are unknown"


class _Measure(NamedTuple):
    """An amount of a run that an assertion limits."""

    amount_of: Callable[[AgentAnswer], float | None]
    shown: str  # a format string for the amount
    unknown: str = ""  # the reason where the amount is None

    def limited(self, fits: Callable[[float, float], bool]) -> Rule:
        """Return the rule that compares the amount with the limit."""

        def rule(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
            amount = self.amount_of(answered)
            if amount is None:
                return CheckResult(None, self.unknown)
            return CheckResult(fits(amount, _limit(assertion)), self.shown.format(amount))

        return rule


_LENGTH = _Measure(lambda answered: len(answered.answer), "{:,} characters")
_WORDS = _Measure(lambda answered: len(answered.answer.split()), "{:,} words")
_COST = _Measure(lambda answered: answered.usd, "${:g}", "the cost is unknown")
_TIME = _Measure(
    lambda answered: None if answered.seconds is None else answered.seconds * 1000, "{:,.0f} ms", "the time is unknown"
)
_STEPS = _Measure(lambda answered: answered.steps, "{} steps", "the number of steps is unknown")
_CALLS = _Measure(lambda answered: None if answered.calls is None else len(answered.calls), "{} calls", _UNKNOWN_CALLS)
for _name, _description, _measure, _fits in (
    ("min_length", "The answer has at least `value` characters.", _LENGTH, operator.ge),
    ("max_length", "The answer has at most `value` characters.", _LENGTH, operator.le),
    ("word_count_min", "The answer has at least `value` words, separated by space.", _WORDS, operator.ge),
    ("word_count_max", "The answer has at most `value` words, separated by space.", _WORDS, operator.le),
    ("cost_max", "The run cost at most `value` USD.", _COST, operator.le),
    ("latency_max", "The run took at most `value` milliseconds.", _TIME, operator.le),
    ("turns_min", "The agent took at least `value` steps.", _STEPS, operator.ge),
    ("turns_max", "The agent took at most `value` steps.", _STEPS, operator.le),
    ("tools_count_min", "There were at least `value` tool calls.", _CALLS, operator.ge),
    ("tools_count_max", "There were at most `value` tool calls.", _CALLS, operator.le),
):
    _type(_name, BEHAVIOR, _description, _NUMBER)(_measure.limited(_fits))


# ---- tool calls

# Samples name tools as Claude Code does. Another agent's tool counts under the names of what it does.
_TOOLS_OF_KIND = {
    ToolKind.READ: ("read",),
    ToolKind.SEARCH: ("grep",),
    ToolKind.LIST: ("glob",),
    ToolKind.SHELL: ("bash",),
    ToolKind.EDIT: ("edit", "write"),
    ToolKind.WEB: ("webfetch", "websearch"),
}
_CLAUDE_TOOLS = frozenset(name for names in _TOOLS_OF_KIND.values() for name in names)
_SHELLS = frozenset({"shell", "exec_command", "command_execution", "local_shell", "run_shell_command"})


def _if_calls_known(rule: Callable[[Assertion, tuple[ToolUse, ...]], CheckResult]) -> Rule:
    """Make a rule from one about tool calls; it is undecided where the calls are unknown."""

    def check(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
        return CheckResult(None, _UNKNOWN_CALLS) if answered.calls is None else rule(assertion, answered.calls)

    return check


def _tool_names(call: ToolUse) -> set[str]:
    """Return the names of a call: its own, the tool of a server without the server, and its kind of work."""
    own_name = call.tool.lower()
    names = {own_name}
    if own_name in _CLAUDE_TOOLS:
        return names  # no others: Claude's Grep is not its Bash
    if own_name.startswith("mcp__"):
        names.add(own_name.rpartition("__")[2])
    if own_name in _SHELLS:
        names.add("bash")
    if call.kind in _TOOLS_OF_KIND:
        names.update(_TOOLS_OF_KIND[ToolKind(call.kind)])
    return names


def _calls_of(tool: str, calls: tuple[ToolUse, ...]) -> list[ToolUse]:
    return [call for call in calls if tool.lower() in _tool_names(call)]


@_type("tools_called", BEHAVIOR, "Each tool of `values` was called.", _LIST)
@_if_calls_known
def _tools_called(assertion: Assertion, calls: tuple[ToolUse, ...]) -> CheckResult:
    missing = [tool for tool in assertion.values if not _calls_of(tool, calls)]
    return CheckResult(not missing, f"not called: {', '.join(missing)}" if missing else "all called")


@_type("tools_not_called", BEHAVIOR, "No tool of `values` was called.", _LIST)
@_if_calls_known
def _tools_not_called(assertion: Assertion, calls: tuple[ToolUse, ...]) -> CheckResult:
    found = [tool for tool in assertion.values if _calls_of(tool, calls)]
    return CheckResult(not found, f"called: {', '.join(found)}" if found else "none called")


def _containing(part_of: Callable[[ToolUse], tuple[str, bool]]) -> Rule:
    """Make the rule that searches this part of calls for the text of `Tool:text`; without a tool, of every call."""

    def check(assertion: Assertion, calls: tuple[ToolUse, ...]) -> CheckResult:
        tool, colon, text = str(assertion.value).partition(":")
        if not colon or not tool:  # a text alone, which may begin with a colon
            text, searched = str(assertion.value), list(calls)
        else:
            searched = _calls_of(tool, calls)
        parts = [part_of(call) for call in searched]
        if any(text.lower() in form for part, _ in parts for form in _spellings(part)):
            return CheckResult(True, f"found in one of {len(searched)} calls")
        if any(is_cut for _, is_cut in parts):
            return CheckResult(None, f"not in what is kept of {len(searched)} calls")
        return CheckResult(False, f"not found in {len(searched)} calls")

    return _if_calls_known(check)


def _spellings(part: str) -> list[str]:
    """Return the text in lower case, and JSON also without space, as samples spell it: "confirmed":true."""
    spellings = [part.lower()]
    if part.lstrip()[:1] in ("{", "["):
        valid, value = matching.decoded(part)
        if valid:
            spellings.append(msgspec.json.encode(value).decode().lower())
    return spellings


_input_contains = _type(
    "tool_input_contains",
    FACT,
    "`value` is `Tool:text`: the input of a call of that tool contains the text. Without a tool, of any call.",
    _TOOL_TEXT,
)(_containing(lambda call: (call.input, call.input_cut)))
_NO_INPUT = "No input of a call of the tool contains the text of `value`."
_type("tool_input_not_contains", FACT, _NO_INPUT, _TOOL_TEXT)(inverse(_input_contains))
_OUTPUT = "The output of a call of the tool contains the text of `value`."
_type("tool_output_contains", FACT, _OUTPUT, _TOOL_TEXT)(_containing(lambda call: (call.output, call.output_cut)))
_MOCKS = "`value` is `Tool:N`. Mocks are not used here: always unscored."
_type("mock_hit", BEHAVIOR, _MOCKS, _MOCK)(lambda _, __: CheckResult(None, "mocks are not played"))


# ---- a reference text

_MOST_COMPARED = 50_000  # characters that are compared edit by edit
_ROUGE = "At least `threshold` (0.5) of the `n`-word sequences (1) of `reference` are in the answer."
_BLEU = "BLEU-4 of the answer against `reference` is at least `threshold` (0.5)."
_EDITS = "At most `value` characters must change to turn the answer into `reference`."


def _least_share(assertion: Assertion) -> float:
    return 0.5 if assertion.threshold is None else assertion.threshold


@_type("rouge_n_min", FACT, _ROUGE, _fields(_SHARE | {"n": COUNT}, reference=TEXT))
def _rouge(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
    share = rouge_n(answered.answer, assertion.reference, assertion.n)
    return CheckResult(share >= _least_share(assertion), f"ROUGE-{assertion.n} {share:.2f}")


@_type("bleu_min", FACT, _BLEU, _fields(_SHARE, reference=TEXT))
def _bleu(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
    share = bleu(answered.answer, assertion.reference)
    return CheckResult(share >= _least_share(assertion), f"BLEU {share:.2f}")


@_type("levenshtein_max", FACT, _EDITS, _fields(value=_AMOUNT, reference=TEXT))
def _levenshtein(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
    answer, reference, limit = answered.answer, assertion.reference, _limit(assertion)
    if abs(len(answer) - len(reference)) > limit:  # at least so many must be added or removed
        return CheckResult(False, f"more than {limit:g} edits")
    if len(answer) > _MOST_COMPARED:
        return CheckResult(None, f"the answer has {len(answer):,} characters, too many to compare edit by edit")
    edits = levenshtein(answer, reference)
    return CheckResult(edits <= limit, f"{edits} edits")


# ---- what a judge or a program decides, and sets


def _not_by_rules(_assertion: Assertion, _answered: AgentAnswer) -> CheckResult:
    return CheckResult(None, "no rule decides it")


for _name, _description, _given in (
    ("semantic_similarity", "the answer means the same as `reference`", _fields(_SCORE, reference=TEXT)),
    ("faithfulness", "the answer keeps to `reference`, or to the context", _fields(_SCORE)),
    ("answer_relevancy", "the answer answers the prompt", _fields(_SCORE)),
    ("context_recall", "the facts of `reference`, or of the context, are used", _fields(_SCORE)),
):
    _scored = f"A judge scores how far {_description}: at least `threshold` (3) of 5."
    _type(_name, FACT, _scored, _given, JUDGE)(_not_by_rules)

_PROGRAM = "The program `fn`, a file beside the samples, decides. It runs only where `--allow-run` is given."
_type("custom", BEHAVIOR, _PROGRAM, _fields(fn=TEXT), PROGRAM)(_not_by_rules)

_CHILDREN = (
    "All of `children`, or with `mode: any` at least one of them. A set may contain sets, but nothing that a judge "
    "or a program decides."
)


@_type(SET, "", _CHILDREN, _NOTHING)
def _set(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
    """`all` fails with one failure, `any` passes with one pass; else one undecided child leaves the set undecided."""
    passed = [decide(child, answered).passed for child in assertion.children]
    deciding = assertion.mode == "any"  # the result of one child that is the result of the set
    fact = f"{passed.count(True)} of {len(passed)} passed"
    if deciding in passed:
        return CheckResult(deciding, fact)
    if None in passed:
        return CheckResult(None, f"{fact}, {passed.count(None)} undecided")
    return CheckResult(not deciding, fact)
