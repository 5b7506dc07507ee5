"""Assertions about the tool calls of a run."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from knowbound.core.trace import Kind
from knowbound.evals.assertions.results import AgentAnswer, CheckResult, Rule, ToolUse, inverse
from knowbound.evals.samples.json_schema import decoded
from knowbound.evals.samples.values import Assertion

UNKNOWN_CALLS = "the agent's tool calls are unknown"

# Samples name tools as Claude Code does. Another agent's tool counts under the names of what it does.
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


def _of_calls(rule: Callable[[Assertion, tuple[ToolUse, ...]], CheckResult]) -> Rule:
    def check(assertion: Assertion, answered: AgentAnswer) -> CheckResult:
        return CheckResult(None, UNKNOWN_CALLS) if answered.calls is None else rule(assertion, answered.calls)

    return check


def _names(call: ToolUse) -> set[str]:
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


def _tools_called(assertion: Assertion, calls: tuple[ToolUse, ...]) -> CheckResult:
    missing = [tool for tool in assertion.values if not _calls_of(tool, calls)]
    return CheckResult(not missing, f"not called: {', '.join(missing)}" if missing else "all called")


def _tools_not_called(assertion: Assertion, calls: tuple[ToolUse, ...]) -> CheckResult:
    found = [tool for tool in assertion.values if _calls_of(tool, calls)]
    return CheckResult(not found, f"called: {', '.join(found)}" if found else "none called")


def _calls_of(tool: str, calls: tuple[ToolUse, ...]) -> list[ToolUse]:
    return [call for call in calls if tool.lower() in _names(call)]


def _containing(part_of: Callable[[ToolUse], tuple[str, bool]]) -> Rule:
    """Whether the text of `Tool:text` is in this part of a call of the tool; without a tool, of any call."""

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
        valid, value = decoded(part)
        if valid:
            forms.append(msgspec.json.encode(value).decode().lower())
    return forms


_input_contains = _containing(lambda call: (call.input, call.input_cut))

TOOL_RULES: dict[str, Rule] = {
    "tools_called": _of_calls(_tools_called),
    "tools_not_called": _of_calls(_tools_not_called),
    "tool_input_contains": _input_contains,
    "tool_input_not_contains": inverse(_input_contains),
    "tool_output_contains": _containing(lambda call: (call.output, call.output_cut)),
    "mock_hit": lambda _, __: CheckResult(None, "mocks are not played"),
}
