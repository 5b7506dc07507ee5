"""Qwen Code sessions (`~/.qwen/projects/*/chats/*.jsonl`): lines with Gemini's parts.

- Lines are of type user, assistant, tool_result and system. A result has its text in `functionResponse.response`
  (`output` or `error`) and its status in `toolCallResult`.
- Calls of a sub-agent are no lines of their own: a system line of the subtype ui_telemetry names each with its input,
  and `prompt_id` has the sub-agent after a `#` (the main agent: `########` and a number). It has no output.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from knowbound.core.trace import Event, Outcome, Start, Step, ToolKind
from knowbound.traces.calls.finish import finish_call
from knowbound.traces.calls.outcome import INTERRUPTED, NO_MATCH, SUCCESS, failure, is_empty_result
from knowbound.traces.calls.tools import kind_of
from knowbound.traces.dialogue import Message, ToolResult, as_input, as_text, follow, read_parts, text_in
from knowbound.traces.readers.gemini_cli import shell_output
from knowbound.traces.registry import Identity
from knowbound.traces.source import Tally
from knowbound.traces.values import first_value, new_tokens, read_objects

_TYPES = frozenset({"user", "assistant", "tool_result", "system"})
_NO_OUTPUT = (Outcome.UNKNOWN, "its output is not in the trace")
_SEARCHES = (ToolKind.SEARCH, ToolKind.LIST)
_CALL = "qwen-code.tool_call"
_START_KEYS = ("cwd", "version", "timestamp", "gitBranch")


class QwenCode:
    """The reader of Qwen Code sessions."""

    name = "qwen-code"

    def identify(self, head: bytes) -> Identity | None:
        """Recognise a line with a session, a known type, and parts or a payload."""
        value = first_value(head)
        if not isinstance(value, dict) or text_in(value, "type") not in _TYPES or not text_in(value, "sessionId"):
            return None
        message = value.get("message")
        has_parts = isinstance(message, dict) and isinstance(message.get("parts"), list)
        if has_parts or "systemPayload" in value:
            return Identity(text_in(value, "sessionId"), time=text_in(value, "timestamp"))
        return None

    def read(self, files: Sequence[Path], sidechains: dict[str, Path], tally: Tally) -> Iterator[Event]:
        """Yield the events of one session."""
        lines = _Lines(tally)
        for path in files:
            for event in follow(lines.messages(path), str(path)):
                yield from lines.starts
                lines.starts.clear()
                yield event
                yield from lines.agent_steps
                lines.agent_steps.clear()
        yield from lines.starts
        yield from lines.agent_steps


class _Lines:
    """The lines of one session: its messages, and beside them its start and the calls of sub-agents."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        self.starts: list[Start] = []
        self.agent_steps: list[Step] = []
        self._session = ""
        self._seen_ids: set[str] = set()

    def messages(self, path: Path) -> Iterator[Message]:
        for number, value in read_objects(path, self.tally):
            if text_in(value, "type") not in _TYPES:
                self.tally.skip(str(path), number, "foreign")
                continue
            own = text_in(value, "uuid")
            if own and own in self._seen_ids:
                self.tally.duplicates += 1
                continue
            self._seen_ids.add(own)
            session = text_in(value, "sessionId")
            if session and not self._session:
                self._session = session
                folder, version, time, branch = (text_in(value, key) for key in _START_KEYS)
                self.starts.append(Start(session, QwenCode.name, folder, version=version, time=time, branch=branch))
            if value["type"] == "system":
                self._agent_call(as_input(as_input(value.get("systemPayload")).get("uiEvent")), str(path), number)
            else:
                yield _message(value, own or f"L{number}", number)

    def _agent_call(self, event: dict[str, Any], path: str, line: int) -> None:
        """Take the call of a sub-agent; calls of the main agent are lines of their own."""
        agent = text_in(event, "prompt_id").partition("#")[2]
        if event.get("event.name") != _CALL or not agent or agent.startswith("#"):
            return
        error = text_in(event, "error")
        name, input_ = text_in(event, "function_name"), as_input(event.get("function_args"))
        is_shown = kind_of(name) in (ToolKind.READ, ToolKind.EDIT)  # of all others success says nothing about a result
        outcome = failure(error) if event.get("success") is not True else SUCCESS if is_shown else _NO_OUTPUT
        call = finish_call(
            f"{agent}#{line}", name, input_, error or None, is_error=bool(error), outcome=outcome, line=line
        )
        self.agent_steps.append(Step(call.id, (), (call,), agent, text_in(event, "event.timestamp"), path, line))


def _message(value: dict[str, Any], id_: str, line: int) -> Message:
    texts, requests, results = read_parts(as_input(value.get("message")).get("parts"))
    time = text_in(value, "timestamp")
    if value["type"] == "tool_result":
        status = as_input(value.get("toolCallResult"))
        return Message("tool", id_, results=tuple(_result(result, status) for result in results), time=time, line=line)
    if value["type"] == "user":
        return Message("user", id_, tuple(texts), results=tuple(results), time=time, line=line)
    usage = as_input(value.get("usageMetadata"))
    tokens = new_tokens(*(usage.get(f"{part}TokenCount") for part in ("prompt", "cachedContent", "candidates")))
    asked, model = tuple(requests), text_in(value, "model")
    return Message("assistant", id_, tuple(texts), asked, time=time, line=line, tokens=tokens, model=model)


def _result(result: ToolResult, status: dict[str, Any]) -> ToolResult:
    """Return a result with the outcome that its status, its report of a command, or its text has."""
    output, code = shell_output(result.output)
    outcome: tuple[Outcome, str] | None = None
    if status.get("status") == "cancelled":
        outcome = failure(output) if output else INTERRUPTED
    elif code is None and not result.is_error and kind_of(result.name) in _SEARCHES and is_empty_result(output):
        outcome = NO_MATCH
    failed = result.is_error or status.get("status") == "error"
    return ToolResult(result.id, as_text(output), failed and code is None, result.name, code, outcome)
