"""What rules can decide about an answer: every assertion type of the samples format that needs no judge and no program.

A check states a fact ("412 characters", "not found") and whether it is what was asserted. What cannot be known (the
cost of an agent that does not tell it) is undecided and never a failure.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from knowbound.core.trace import Kind
from knowbound.evals.assertions import similarity
from knowbound.evals.samples import json_schema as sample_json
from knowbound.evals.samples import regex as sample_regex
from knowbound.evals.samples.assertion_types import SET, TYPES
from knowbound.evals.samples.values import Assertion
from knowbound.text.redact import redact

SHARE = 0.5  # the threshold of rouge_n_min and bleu_min where none is given (the samples format)
_SHOWN = 80  # characters of a text in a detail or a reason
SAID = 300  # characters of what a judge or a program says
_LONGEST = 50_000  # characters that are compared edit by edit


class Called(msgspec.Struct, frozen=True):
    """A tool call as assertions see it."""

    tool: str  # the agent's own name for the tool
    input: str = ""
    output: str = ""
    kind: str = ""  # what the tool does, whatever its name: a value of `Kind`
    input_cut: bool = False  # whether there was more than is kept here
    output_cut: bool = False


class Answered(msgspec.Struct, frozen=True):
    """What assertions see of a run. What cannot be known is None."""

    answer: str
    seconds: float | None = None
    usd: float | None = None
    steps: int | None = None  # of the agent: the turns of the samples format
    calls: tuple[Called, ...] | None = ()


class Decision(NamedTuple):
    """Whether it is as asserted (None: undecided), and the fact."""

    passed: bool | None
    reason: str


Check = Callable[[Assertion, Answered], Decision]


def decide(assertion: Assertion, answered: Answered) -> Decision:
    """Decide an assertion by rules; `not` turns a decision round and leaves what is undecided."""
    check = _set if assertion.type == SET else _CHECKS[assertion.type]
    return turned(assertion, check(assertion, answered))


def turned(assertion: Assertion, decision: Decision) -> Decision:
    """The decision, turned round where the assertion says `not`."""
    if not assertion.negated or decision.passed is None:
        return decision
    return Decision(not decision.passed, decision.reason)


def layer_of(assertion: Assertion) -> str:
    """Fact or behaviour; a set has the layer that all its children share, or none."""
    if assertion.type != SET:
        return TYPES[assertion.type].layer
    layers = {layer_of(child) for child in assertion.children}
    return layers.pop() if len(layers) == 1 else ""


def detail_of(assertion: Assertion) -> str:
    """What was asserted, short."""
    if assertion.type == SET:
        asked = f"{assertion.mode} of {len(assertion.children)}: " + ", ".join(one.type for one in assertion.children)
    elif isinstance(assertion.value, float | int):
        asked = f"{assertion.value:g}"
    else:
        asked = (
            assertion.value or assertion.pattern or ", ".join(assertion.values) or assertion.fn or assertion.reference
        )
    return ("not " if assertion.negated else "") + short(asked)


def short(text: str, most: int = _SHOWN) -> str:
    """The start of a text, on one line; without its secrets before it is cut, as half a secret has no shape."""
    line = " ".join(redact(text[: 4 * most]).split())
    return line if len(line) <= most else line[: most - 1] + "…"


def _set(assertion: Assertion, answered: Answered) -> Decision:
    """`all` fails with one failure, `any` passes with one pass; else one undecided child leaves the set undecided."""
    passed = [decide(child, answered).passed for child in assertion.children]
    settles = assertion.mode == "any"
    fact = f"{passed.count(True)} of {len(passed)} passed"
    if settles in passed:
        return Decision(settles, fact)
    return Decision(None, f"{fact}, {passed.count(None)} undecided") if None in passed else Decision(not settles, fact)


def _text(assertion: Assertion) -> str:
    return str(assertion.value)


def _limit(assertion: Assertion) -> float:
    return float(assertion.value or 0)


def _has(answered: Answered, text: str) -> bool:
    return text.lower() in answered.answer.lower()


def _contains(assertion: Assertion, answered: Answered) -> Decision:
    found = _has(answered, _text(assertion))
    return Decision(found, "found" if found else "not found")


def _not_contains(assertion: Assertion, answered: Answered) -> Decision:
    found = _has(answered, _text(assertion))
    return Decision(not found, "found" if found else "not found")


def _contains_all(assertion: Assertion, answered: Answered) -> Decision:
    missing = [text for text in assertion.values if not _has(answered, text)]
    return Decision(not missing, f"not found: {short(', '.join(missing))}" if missing else "all found")


def _contains_any(assertion: Assertion, answered: Answered) -> Decision:
    found = [text for text in assertion.values if _has(answered, text)]
    return Decision(bool(found), f"found: {short(', '.join(found))}" if found else "none found")


def _equals(assertion: Assertion, answered: Answered) -> Decision:
    same = answered.answer.strip() == _text(assertion).strip()
    return Decision(same, "the same" if same else f"the answer is {short(answered.answer)!r}")


def _not_equals(assertion: Assertion, answered: Answered) -> Decision:
    same, fact = _equals(assertion, answered)
    return Decision(not same, fact)


def _starts_with(assertion: Assertion, answered: Answered) -> Decision:
    fits = answered.answer.lower().startswith(_text(assertion).lower())
    return Decision(fits, f"it begins with {short(answered.answer)!r}")


def _ends_with(assertion: Assertion, answered: Answered) -> Decision:
    fits = answered.answer.lower().endswith(_text(assertion).lower())
    return Decision(fits, f"it ends with {redact(answered.answer[-4 * _SHOWN :])[-_SHOWN:]!r}")


def _regex(assertion: Assertion, answered: Answered) -> Decision:
    found = sample_regex.is_found(assertion.pattern, assertion.flags, answered.answer)
    if found is None:
        return Decision(None, f"the pattern takes more than {sample_regex.SECONDS:g} seconds on this answer")
    return Decision(found, "found" if found else "not found")


def _json_valid(_: Assertion, answered: Answered) -> Decision:
    valid, _value = sample_json.decoded(answered.answer)
    return Decision(valid, "it is JSON" if valid else "it is not JSON")


def _json_schema(assertion: Assertion, answered: Answered) -> Decision:
    valid, value = sample_json.decoded(answered.answer)
    if not valid:
        return Decision(False, "it is not JSON")
    problem = sample_json.misfit(value, assertion.schema or {})
    return Decision(not problem, problem or "it fits")


def _at_least(measure: Callable[[Answered], int], unit: str) -> Check:
    def check(assertion: Assertion, answered: Answered) -> Decision:
        count = measure(answered)
        return Decision(count >= _limit(assertion), f"{count:,} {unit}")

    return check


def _at_most(measure: Callable[[Answered], int], unit: str) -> Check:
    def check(assertion: Assertion, answered: Answered) -> Decision:
        count = measure(answered)
        return Decision(count <= _limit(assertion), f"{count:,} {unit}")

    return check


def _length(answered: Answered) -> int:
    return len(answered.answer)


def _word_count(answered: Answered) -> int:
    return len(answered.answer.split())


def _cost_max(assertion: Assertion, answered: Answered) -> Decision:
    if answered.usd is None:
        return Decision(None, "the cost is unknown")
    return Decision(answered.usd <= _limit(assertion), f"${answered.usd:g}")


def _latency_max(assertion: Assertion, answered: Answered) -> Decision:
    if answered.seconds is None:
        return Decision(None, "the time is unknown")
    return Decision(answered.seconds * 1000 <= _limit(assertion), f"{answered.seconds * 1000:,.0f} ms")


def _turns(fits: Callable[[int, float], bool]) -> Check:
    def check(assertion: Assertion, answered: Answered) -> Decision:
        if answered.steps is None:
            return Decision(None, "the number of steps is unknown")
        return Decision(fits(answered.steps, _limit(assertion)), f"{answered.steps} steps")

    return check


def _tools_count(fits: Callable[[int, float], bool]) -> Check:
    def check(assertion: Assertion, answered: Answered) -> Decision:
        if answered.calls is None:
            return _NO_CALLS
        return Decision(fits(len(answered.calls), _limit(assertion)), f"{len(answered.calls)} calls")

    return check


_NO_CALLS = Decision(None, "the agent's tool calls are unknown")

# Samples name tools as one agent does. Another agent's tool counts under the names of what it does.
_NAMES = {
    Kind.READ: ("read",),
    Kind.SEARCH: ("grep",),
    Kind.LIST: ("glob",),
    Kind.SHELL: ("bash",),
    Kind.EDIT: ("edit", "write"),
    Kind.WEB: ("webfetch", "websearch"),
}
_KNOWN = frozenset(name for names in _NAMES.values() for name in names)
_SHELLS = frozenset({"shell", "exec_command", "command_execution", "local_shell", "run_shell_command"})


def _names(call: Called) -> set[str]:
    """What a call may be named by: its own name, a server's tool without the server, and what it does."""
    own = call.tool.lower()
    names = {own}
    if own in _KNOWN:
        return names
    if own.startswith("mcp__"):
        names.add(own.rpartition("__")[2])
    if own in _SHELLS:
        names.add("bash")
    if call.kind in _NAMES:
        names.update(_NAMES[Kind(call.kind)])
    return names


def _tools_called(assertion: Assertion, answered: Answered) -> Decision:
    if answered.calls is None:
        return _NO_CALLS
    called = {name for call in answered.calls for name in _names(call)}
    missing = [tool for tool in assertion.values if tool.lower() not in called]
    return Decision(not missing, f"not called: {', '.join(missing)}" if missing else "all called")


def _tools_not_called(assertion: Assertion, answered: Answered) -> Decision:
    if answered.calls is None:
        return _NO_CALLS
    called = {name for call in answered.calls for name in _names(call)}
    found = [tool for tool in assertion.values if tool.lower() in called]
    return Decision(not found, f"called: {', '.join(found)}" if found else "none called")


def _of_tool(assertion: Assertion, answered: Answered) -> tuple[list[Called], str]:
    """The calls that a `Tool:text` speaks of, and the text; without a tool, all calls."""
    tool, colon, text = _text(assertion).partition(":")
    calls = answered.calls or ()
    if not colon or not tool:
        return list(calls), _text(assertion).lower()
    return [call for call in calls if tool.lower() in _names(call)], text.lower()


def _in_tool(get: Callable[[Called], tuple[str, bool]], wanted: bool) -> Check:
    def check(assertion: Assertion, answered: Answered) -> Decision:
        if answered.calls is None:
            return _NO_CALLS
        calls, text = _of_tool(assertion, answered)
        parts = [get(call) for call in calls]
        if any(text in form for part, _ in parts for form in _forms(part)):
            return Decision(wanted, f"found in one of {len(calls)} calls")
        if any(cut for _, cut in parts):
            return Decision(None, f"not in what is kept of {len(calls)} calls")
        return Decision(not wanted, f"not found in {len(calls)} calls")

    return check


def _forms(part: str) -> list[str]:
    """The text, and JSON also without space between its signs, as samples spell it: "confirmed":true."""
    forms = [part.lower()]
    if part.lstrip()[:1] in ("{", "["):
        valid, value = sample_json.decoded(part)
        if valid:
            forms.append(msgspec.json.encode(value).decode().lower())
    return forms


def _mock_hit(_: Assertion, __: Answered) -> Decision:
    return Decision(None, "mocks are not played")


def _rouge(assertion: Assertion, answered: Answered) -> Decision:
    share = similarity.rouge_n(answered.answer, assertion.reference, assertion.n)
    return Decision(share >= _share(assertion), f"ROUGE-{assertion.n} {share:.2f}")


def _bleu(assertion: Assertion, answered: Answered) -> Decision:
    share = similarity.bleu(answered.answer, assertion.reference)
    return Decision(share >= _share(assertion), f"BLEU {share:.2f}")


def _share(assertion: Assertion) -> float:
    return SHARE if assertion.threshold is None else assertion.threshold


def _levenshtein(assertion: Assertion, answered: Answered) -> Decision:
    answer, reference, limit = answered.answer, assertion.reference, _limit(assertion)
    if abs(len(answer) - len(reference)) > limit:  # at least so many must go or come
        return Decision(False, f"more than {limit:g} edits")
    if len(answer) > _LONGEST:
        return Decision(None, f"the answer has {len(answer):,} characters, too many to compare edit by edit")
    edits = similarity.levenshtein(answer, reference)
    return Decision(edits <= limit, f"{edits} edits")


_CHECKS: dict[str, Check] = {
    "contains": _contains,
    "not_contains": _not_contains,
    "contains_all": _contains_all,
    "contains_any": _contains_any,
    "equals": _equals,
    "not_equals": _not_equals,
    "regex": _regex,
    "json_valid": _json_valid,
    "json_schema": _json_schema,
    "starts_with": _starts_with,
    "ends_with": _ends_with,
    "min_length": _at_least(_length, "characters"),
    "max_length": _at_most(_length, "characters"),
    "word_count_min": _at_least(_word_count, "words"),
    "word_count_max": _at_most(_word_count, "words"),
    "cost_max": _cost_max,
    "latency_max": _latency_max,
    "turns_min": _turns(lambda steps, limit: steps >= limit),
    "turns_max": _turns(lambda steps, limit: steps <= limit),
    "tools_called": _tools_called,
    "tools_not_called": _tools_not_called,
    "tools_count_min": _tools_count(lambda calls, limit: calls >= limit),
    "tools_count_max": _tools_count(lambda calls, limit: calls <= limit),
    "tool_input_contains": _in_tool(lambda call: (call.input, call.input_cut), wanted=True),
    "tool_input_not_contains": _in_tool(lambda call: (call.input, call.input_cut), wanted=False),
    "tool_output_contains": _in_tool(lambda call: (call.output, call.output_cut), wanted=True),
    "mock_hit": _mock_hit,
    "rouge_n_min": _rouge,
    "bleu_min": _bleu,
    "levenshtein_max": _levenshtein,
}
