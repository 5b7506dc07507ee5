"""Assertions that rules decide: every type of the samples format that needs no judge and no program.

A result states a fact ("412 characters", "not found") and whether the fact is as asserted. An unknown value (the cost
of an agent that does not report it) makes the assertion undecided, never failed. An assertion that a refusal to answer
also passes is too loose.
"""

from __future__ import annotations

import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import msgspec

from knowbound.core.trace import ToolKind
from knowbound.evals.samples import json_schema as sample_json
from knowbound.evals.samples import patterns
from knowbound.evals.samples.assertion_types import FACT, SET, TYPES
from knowbound.evals.samples.values import Assertion, EvalSample
from knowbound.text.printable import short_line
from knowbound.text.redact import excerpt, excerpt_of_end

SHOWN = 80  # characters of a text in a detail or a reason
SAID = 300  # characters of what a judge or a program says


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


def short(text: str, most: int = SHOWN) -> str:
    """The start of a text, on one line; secrets are removed before it is cut, as half a secret is not recognised."""
    return short_line(excerpt(text, 4 * most), most)


# A run of letters and digits is one word; of scripts without spaces between words, each character is.
_CHARACTERS = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
_TOKENS = re.compile(rf"[{_CHARACTERS}]|[^\W_{_CHARACTERS}]+")
_BLEU_ORDER = 4


def words(text: str) -> list[str]:
    """The words of a text, in small letters."""
    return _TOKENS.findall(text.lower())


def rouge_n(answer: str, reference: str, n: int = 1) -> float:
    """Return the share of the reference's n-word sequences in the answer, each as often as the reference has it."""
    wanted = _sequences(words(reference), n)
    if not wanted:
        return 0.0
    return (wanted & _sequences(words(answer), n)).total() / wanted.total()


def bleu(answer: str, reference: str) -> float:
    """BLEU-4 against one reference, unsmoothed: 0 where the answer shares no sequence of four words with it."""
    given, wanted = words(answer), words(reference)
    logs = 0.0
    for n in range(1, _BLEU_ORDER + 1):
        have = _sequences(given, n)
        shared = (have & _sequences(wanted, n)).total()
        if not shared:
            return 0.0
        logs += math.log(shared / have.total())
    brevity = min(0.0, 1 - len(wanted) / len(given))
    return math.exp(brevity + logs / _BLEU_ORDER)


def levenshtein(one: str, other: str) -> int:
    """Return the number of characters to insert, delete or change to turn the first text into the second.

    Myers' bit vectors: a column of the table is two integers with a bit per character, so that long texts take a
    moment and not minutes. `up` has the rows where a cell is one more than the cell above it, `down` one less.
    """
    if len(one) < len(other):
        one, other = other, one
    if not other:
        return len(one)
    rows: dict[str, int] = {}
    for row, sign in enumerate(other):
        rows[sign] = rows.get(sign, 0) | 1 << row
    every, last = (1 << len(other)) - 1, 1 << (len(other) - 1)
    up, down, distance = every, 0, len(other)
    for sign in one:
        equal = rows.get(sign, 0)
        diagonal = (((equal & up) + up) ^ up) | equal | down
        more = down | ~(diagonal | up) & every
        less = up & diagonal
        distance += bool(more & last) - bool(less & last)
        more = more << 1 | 1
        up = (less << 1 | ~(diagonal | more)) & every
        down = more & diagonal & every
    return distance


def _sequences(tokens: list[str], n: int) -> Counter[tuple[str, ...]]:
    return Counter(zip(*(tokens[start:] for start in range(n)), strict=False))


_UNKNOWN_CALLS = "the agent's tool calls are unknown"

# Samples name tools as Claude Code does. Another agent's tool counts under the names of what it does.
_NAMES = {
    ToolKind.READ: ("read",),
    ToolKind.SEARCH: ("grep",),
    ToolKind.LIST: ("glob",),
    ToolKind.SHELL: ("bash",),
    ToolKind.EDIT: ("edit", "write"),
    ToolKind.WEB: ("webfetch", "websearch"),
}
_KNOWN = frozenset(name for names in _NAMES.values() for name in names)
_SHELLS = frozenset({"shell", "exec_command", "command_execution", "local_shell", "run_shell_command"})
_SHARE = 0.5  # the threshold of rouge_n_min and bleu_min where none is given (the samples format)
_LONGEST = 50_000  # characters that are compared edit by edit


def decide(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
    """Decide an assertion by its rule."""
    return negated(assertion, _RULES[assertion.type](assertion, answered))


def layer_of(assertion: Assertion) -> str:
    """Fact or behaviour; a set has the layer that all its children share, or none."""
    if assertion.type != SET:
        return TYPES[assertion.type].layer
    layers = {layer_of(child) for child in assertion.children}
    return layers.pop() if len(layers) == 1 else ""


def detail_of(assertion: Assertion) -> str:
    """Return the asserted value in short form, as reports show it."""
    if assertion.type == SET:
        asked = f"{assertion.mode} of {len(assertion.children)}: " + ", ".join(
            child.type for child in assertion.children
        )
    elif isinstance(assertion.value, float | int):
        asked = f"{assertion.value:g}"
    else:
        asked = (
            assertion.value or assertion.pattern or ", ".join(assertion.values) or assertion.fn or assertion.reference
        )
    return ("not " if assertion.negated else "") + short(asked)


def _set(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
    """`all` fails with one failure, `any` passes with one pass; else one undecided child leaves the set undecided."""
    passed = [decide(child, answered).passed for child in assertion.children]
    settles = assertion.mode == "any"
    fact = f"{passed.count(True)} of {len(passed)} passed"
    if settles in passed:
        return CheckResult(settles, fact)
    if None in passed:
        return CheckResult(None, f"{fact}, {passed.count(None)} undecided")
    return CheckResult(not settles, fact)


def _text(assertion: Assertion) -> str:
    return str(assertion.value)


def _limit(assertion: Assertion) -> float:
    return float(assertion.value or 0)


def _has(answered: AgentAnswer, text: str) -> bool:
    return text.lower() in answered.answer.lower()


def _contains(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
    found = _has(answered, _text(assertion))
    return CheckResult(found, "found" if found else "not found")


def _contains_all(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
    missing = [text for text in assertion.values if not _has(answered, text)]
    return CheckResult(not missing, f"not found: {short(', '.join(missing))}" if missing else "all found")


def _contains_any(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
    found = [text for text in assertion.values if _has(answered, text)]
    return CheckResult(bool(found), f"found: {short(', '.join(found))}" if found else "none found")


def _equals(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
    same = answered.answer.strip() == _text(assertion).strip()
    return CheckResult(same, "the same" if same else f"the answer is {short(answered.answer)!r}")


def _starts_with(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
    fits = answered.answer.lower().startswith(_text(assertion).lower())
    return CheckResult(fits, f"it begins with {short(answered.answer)!r}")


def _ends_with(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
    fits = answered.answer.lower().endswith(_text(assertion).lower())
    return CheckResult(fits, f"it ends with {excerpt_of_end(answered.answer, SHOWN)!r}")


def _regex(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
    found = patterns.is_found(assertion.pattern, assertion.flags, answered.answer)
    if found is None:
        return CheckResult(None, f"the pattern takes more than {patterns.SECONDS:g} seconds on this answer")
    return CheckResult(found, "found" if found else "not found")


def _json_valid(_: Assertion, answered: AgentAnswer) -> CheckResult:
    valid, _value = sample_json.decoded(answered.answer)
    return CheckResult(valid, "it is JSON" if valid else "it is not JSON")


def _json_schema(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
    valid, value = sample_json.decoded(answered.answer)
    if not valid:
        return CheckResult(False, "it is not JSON")
    problem = sample_json.misfit(value, assertion.schema or {})
    return CheckResult(not problem, problem or "it fits")


class _Measure(NamedTuple):
    """An amount of a run that an assertion limits."""

    amount_of: Callable[[AgentAnswer], float | None]
    shown: str  # a format string for the amount
    unknown: str = ""  # the reason where the amount is None

    def at_least(self, assertion: Assertion, answered: AgentAnswer) -> CheckResult:
        return self._compared(operator.ge, assertion, answered)

    def at_most(self, assertion: Assertion, answered: AgentAnswer) -> CheckResult:
        return self._compared(operator.le, assertion, answered)

    def _compared(
        self, fits: Callable[[float, float], bool], assertion: Assertion, answered: AgentAnswer
    ) -> CheckResult:
        amount = self.amount_of(answered)
        if amount is None:
            return CheckResult(None, self.unknown)
        return CheckResult(fits(amount, _limit(assertion)), self.shown.format(amount))


_LENGTH = _Measure(lambda answered: len(answered.answer), "{:,} characters")
_WORDS = _Measure(lambda answered: len(answered.answer.split()), "{:,} words")
_COST = _Measure(lambda answered: answered.usd, "${:g}", "the cost is unknown")
_TIME = _Measure(
    lambda answered: None if answered.seconds is None else answered.seconds * 1000, "{:,.0f} ms", "the time is unknown"
)
_STEPS = _Measure(lambda answered: answered.steps, "{} steps", "the number of steps is unknown")
_CALLS = _Measure(lambda answered: None if answered.calls is None else len(answered.calls), "{} calls", _UNKNOWN_CALLS)


def _rouge(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
    share = rouge_n(answered.answer, assertion.reference, assertion.n)
    return CheckResult(share >= _share(assertion), f"ROUGE-{assertion.n} {share:.2f}")


def _bleu(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
    share = bleu(answered.answer, assertion.reference)
    return CheckResult(share >= _share(assertion), f"BLEU {share:.2f}")


def _share(assertion: Assertion) -> float:
    return _SHARE if assertion.threshold is None else assertion.threshold


def _levenshtein(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
    answer, reference, limit = answered.answer, assertion.reference, _limit(assertion)
    if abs(len(answer) - len(reference)) > limit:  # at least so many must be added or removed
        return CheckResult(False, f"more than {limit:g} edits")
    if len(answer) > _LONGEST:
        return CheckResult(None, f"the answer has {len(answer):,} characters, too many to compare edit by edit")
    edits = levenshtein(answer, reference)
    return CheckResult(edits <= limit, f"{edits} edits")


# ---- about the tool calls of a run


def _of_calls(rule: Callable[[Assertion, tuple[ToolUse, ...]], CheckResult]) -> Rule:
    def check(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
        return CheckResult(None, _UNKNOWN_CALLS) if answered.calls is None else rule(assertion, answered.calls)

    return check


def _names(call: ToolUse) -> set[str]:
    """Return the names of a call: its own, the tool of a server without the server, and its kind of work."""
    own = call.tool.lower()
    names = {own}
    if own in _KNOWN:
        return names
    if own.startswith("mcp__"):
        names.add(own.rpartition("__")[2])
    if own in _SHELLS:
        names.add("bash")
    if call.kind in _NAMES:
        names.update(_NAMES[ToolKind(call.kind)])
    return names


def _tools_called(assertion: Assertion, calls: tuple[ToolUse, ...]) -> CheckResult:
    missing = [tool for tool in assertion.values if not _calls_of(tool, calls)]
    return CheckResult(not missing, f"not called: {', '.join(missing)}" if missing else "all called")


def _tools_not_called(assertion: Assertion, calls: tuple[ToolUse, ...]) -> CheckResult:
    found = [tool for tool in assertion.values if _calls_of(tool, calls)]
    return CheckResult(not found, f"called: {', '.join(found)}" if found else "none called")


def _calls_of(tool: str, calls: tuple[ToolUse, ...]) -> list[ToolUse]:
    return [call for call in calls if tool.lower() in _names(call)]


def _containing(part_of: Callable[[ToolUse], tuple[str, bool]]) -> Rule:
    """Make the rule that searches this part of calls for the text of `Tool:text`; without a tool, of every call."""

    def check(assertion: Assertion, calls: tuple[ToolUse, ...]) -> CheckResult:
        tool, colon, text = str(assertion.value).partition(":")
        if not colon or not tool:
            text, meant = str(assertion.value), list(calls)
        else:
            meant = _calls_of(tool, calls)
        parts = [part_of(call) for call in meant]
        if any(text.lower() in form for part, _ in parts for form in _forms(part)):
            return CheckResult(True, f"found in one of {len(meant)} calls")
        if any(cut for _, cut in parts):
            return CheckResult(None, f"not in what is kept of {len(meant)} calls")
        return CheckResult(False, f"not found in {len(meant)} calls")

    return _of_calls(check)


def _forms(part: str) -> list[str]:
    """The text, and JSON also without space between its signs, as samples spell it: "confirmed":true."""
    forms = [part.lower()]
    if part.lstrip()[:1] in ("{", "["):
        valid, value = sample_json.decoded(part)
        if valid:
            forms.append(msgspec.json.encode(value).decode().lower())
    return forms


_input_contains = _containing(lambda call: (call.input, call.input_cut))
_RULES: dict[str, Rule] = {
    SET: _set,
    "contains": _contains,
    "not_contains": inverse(_contains),
    "contains_all": _contains_all,
    "contains_any": _contains_any,
    "equals": _equals,
    "not_equals": inverse(_equals),
    "regex": _regex,
    "json_valid": _json_valid,
    "json_schema": _json_schema,
    "starts_with": _starts_with,
    "ends_with": _ends_with,
    "min_length": _LENGTH.at_least,
    "max_length": _LENGTH.at_most,
    "word_count_min": _WORDS.at_least,
    "word_count_max": _WORDS.at_most,
    "cost_max": _COST.at_most,
    "latency_max": _TIME.at_most,
    "turns_min": _STEPS.at_least,
    "turns_max": _STEPS.at_most,
    "tools_count_min": _CALLS.at_least,
    "tools_count_max": _CALLS.at_most,
    "rouge_n_min": _rouge,
    "bleu_min": _bleu,
    "levenshtein_max": _levenshtein,
    "tools_called": _of_calls(_tools_called),
    "tools_not_called": _of_calls(_tools_not_called),
    "tool_input_contains": _input_contains,
    "tool_input_not_contains": inverse(_input_contains),
    "tool_output_contains": _containing(lambda call: (call.output, call.output_cut)),
    "mock_hit": lambda _, __: CheckResult(None, "mocks are not played"),
}


_REFUSALS = (
    "I do not know.",
    "I could not find anything about this in the documentation: {prompt}",
    "You ask: {prompt} Unfortunately I was not able to find that; the documents I searched do not say it.",
)
_NAMED = 5


def loose_samples(samples: Iterable[EvalSample]) -> Iterator[tuple[str, str]]:
    """Yield the id of each sample that a refusal passes, and the first of its assertions."""
    for sample in samples:
        facts = [assertion for assertion in sample.assertions if _is_fact(assertion)]
        others = [assertion for assertion in sample.assertions if assertion not in facts]
        if not facts or sample.rubric or others:
            continue  # a judge, a program or the way it was found decides, too
        if any(_passes(text, facts) for text in refusals(sample.prompt)):
            yield sample.id, f"{facts[0].type} {detail_of(facts[0])}".rstrip()


def refusals(prompt: str) -> list[str]:
    """Return answers to a prompt that say nothing."""
    return [text.format(prompt=prompt) for text in _REFUSALS]


def loose_words(samples: Iterable[EvalSample]) -> str:
    """Return a sentence that names the samples with too loose assertions; "" if there are none."""
    found = list(loose_samples(samples))
    if not found:
        return ""
    named = "; ".join(f"{sample} ({assertion})" for sample, assertion in found[:_NAMED])
    more = f" and {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return f"Too loose: an answer that refuses, or repeats the question, passes all that is asserted in {named}{more}."


def _is_fact(assertion: Assertion) -> bool:
    if assertion.type == SET:
        return all(map(_is_fact, assertion.children))
    kind = TYPES[assertion.type]
    return kind.layer == FACT and not kind.decided_by


def _passes(text: str, facts: Iterable[Assertion]) -> bool:
    return all(decide(one, AgentAnswer(text)).passed for one in facts)
