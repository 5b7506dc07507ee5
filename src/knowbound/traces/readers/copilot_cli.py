"""Copilot CLI event logs (`~/.copilot/session-state/*/events.jsonl`): client 1.0.64, and known parts of others.

- A line is `{type, data, id, timestamp, parentId}`; `assistant.message` with its `toolRequests` is one step,
  `tool.execution_complete` brings each result.
- `user.message` has the user's words in `content`, and with the client's additions in `transformedContent`.
- Events of a sub-agent carry its `agentId` (older clients: `parentToolCallId`), the id of the `task` call.
- The system prompt, written before every prompt, holds the instruction files in `<custom_instruction>`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Raw

from knowbound.core.trace import AgentText, Broken, Event, Outcome, Prompt, Skill, Start, ToolCall
from knowbound.text.redact import cut
from knowbound.traces.calls.finish import finish_call, finish_patch
from knowbound.traces.calls.outcome import INTERRUPTED, REFUSED, STILL_RUNNING
from knowbound.traces.dialogue import (
    MAX_REASON,
    KnownIds,
    OpenStep,
    PendingCall,
    RunningCommands,
    as_input,
    as_text,
    injected,
    text_in,
)
from knowbound.traces.registry import Identity
from knowbound.traces.source import Tally
from knowbound.traces.values import NOTHING, decoded_lines, dicts, line_decoder, lines_of_head, object_of, value_of

_TYPE = re.compile(r"(?:session|assistant|user|tool|system|hook|permission|subagent|skill)\.[a-z_]+|abort")

_CLIENT_MESSAGE = re.compile(r"\s*<(?:skill-context|system_notification|system_reminder)\b")
# Endings that the client puts behind the output of a shell call.
_ENDED = re.compile(r"\n?<(?:shellId: \S+ completed|exited)[^<>]* exit code (-?\d{1,9})>\s*\Z")
_RUNNING = re.compile(r"\n?<command with shellId: (\S+) is still running[^<>]*>\s*\Z")
_SHELL_LOOKS = frozenset({"read_bash", "write_bash", "read_powershell", "write_powershell"})


class _EventData(msgspec.Struct, gc=False, rename="camel"):
    session_id: str | None = None
    copilot_version: str | None = None
    context: Raw = NOTHING
    content: Raw = NOTHING
    source: str | None = None
    message_id: str | None = None
    tool_requests: Raw = NOTHING
    parent_tool_call_id: str | None = None
    tool_call_id: str | None = None
    success: bool | None = None
    result: Raw = NOTHING
    error: Raw = NOTHING
    hook_type: str | None = None
    output: Raw = NOTHING
    name: str | None = None
    path: str | None = None
    trigger: str | None = None
    message: str | None = None
    error_type: str | None = None
    shutdown_type: str | None = None


class _LogEvent(msgspec.Struct, gc=False, rename="camel"):
    type: str = ""
    id: str | None = None
    timestamp: str | None = None
    agent_id: str | None = None
    data: _EventData | None = None


_decode_line = line_decoder(_LogEvent)


class CopilotCli:
    """The reader of Copilot CLI event logs."""

    name = "copilot-cli"

    def identify(self, head: bytes) -> Identity | None:
        """Recognise dotted event types with data, an id and a time; `session.start` names the session."""
        found: Identity | None = None
        for line in lines_of_head(head, _decode_line):
            if line.data is None or not _TYPE.fullmatch(line.type):
                continue
            if line.data.session_id and line.type in ("session.start", "session.resume"):
                return Identity(line.data.session_id, "", line.timestamp or "")
            if line.id and line.timestamp:
                found = found or Identity("", "", line.timestamp)
        return found

    def read(self, files: Sequence[Path], sidechains: dict[str, Path], tally: Tally) -> Iterator[Event]:
        """Yield the events of one session; sub-agents write into the same file."""
        return _EventLog(tally, several=len(files) > 1).events(files)


class _EventLog:
    """State of a session that is being read: one open message per agent, and events that wait for the main agent's."""

    def __init__(self, tally: Tally, several: bool) -> None:
        self.tally = tally
        self.known = KnownIds(tally, is_single_file=not several)
        self.open: dict[str, OpenStep] = {}
        self.asked: dict[str, str] = {}  # call without a result yet → agent
        self.waiting: list[Event] = []
        self.running = RunningCommands("bash", "command")
        self.instructions: set[int] = set()  # hashes: the same text is injected once
        self.started = False
        self.path = self.folder = ""

    def events(self, files: Sequence[Path]) -> Iterator[Event]:
        for file in files:
            self.path = str(file)
            for number, line in decoded_lines(file, self.tally, _decode_line):
                if line.data is not None and self._is_new(line):
                    yield from self._event(line, line.data, number)
        yield from self._complete_all()

    def _is_new(self, line: _LogEvent) -> bool:
        is_message = line.type in ("user.message", "assistant.message")
        return not line.id or self.known.is_new(line.id, is_message=is_message)

    def _event(self, line: _LogEvent, data: _EventData, number: int) -> Iterator[Event]:
        kind, time = line.type, line.timestamp or ""
        agent_id = line.agent_id or data.parent_tool_call_id or ""
        if not self.started and _TYPE.fullmatch(kind):
            self.started = True
            self.folder = text_in(object_of(data.context), "cwd")
            yield Start(data.session_id or "", CopilotCli.name, self.folder, data.copilot_version or "", time)
        if kind == "assistant.message":
            yield from self._message(line, data, agent_id, number)
        elif kind == "tool.execution_complete":
            yield from self._result(data)
        elif kind == "abort":
            yield from self._complete_all(INTERRUPTED)
        elif kind == "session.error" or (kind == "session.shutdown" and data.shutdown_type == "error"):
            yield from self._complete_all()
            yield Broken(cut(data.message or data.error_type or kind, MAX_REASON), number)
        elif not agent_id:
            self.waiting += self._injected(line, data, number)
            if not self.open.get(""):
                yield from self._release()

    def _injected(self, line: _LogEvent, data: _EventData, number: int) -> Iterator[Event]:
        """Yield the words of the user, the client, a hook or a skill to the main agent."""
        text = as_text(value_of(data.content))
        if line.type == "user.message":
            if (data.source or "user") != "user" or _CLIENT_MESSAGE.match(text):
                yield injected(data.source or "client", text, number)
            elif text.strip():
                yield Prompt(line.id or f"L{number}", text.strip(), line.timestamp or "", self.path, number)
        elif line.type == "system.message":
            for content in _instruction_files(text):
                if hash(content) not in self.instructions:
                    self.instructions.add(hash(content))
                    yield injected("instructions", content, number)
        elif line.type == "system.notification":
            yield injected("notification", text, number)
        elif line.type == "hook.end":
            context = text_in(object_of(data.output), "additionalContext")
            if context:
                yield injected(f"hook:{data.hook_type or ''}", context, number)
        elif line.type == "skill.invoked" and data.name:
            yield Skill(data.name, "command" if data.trigger == "user-invoked" else "call", number)
            yield injected("skill", text, number, data.path or "")

    def _message(self, line: _LogEvent, data: _EventData, agent_id: str, number: int) -> Iterator[Event]:
        yield from self._complete(agent_id)
        id_ = line.id or data.message_id or f"L{number}"
        text = as_text(value_of(data.content)).strip()
        calls: dict[str, PendingCall | ToolCall] = {}
        for at, raw in enumerate(dicts(value_of(data.tool_requests))):
            server, tool = text_in(raw, "mcpServerName"), text_in(raw, "mcpToolName", "name")
            name = f"mcp__{server}__{tool}" if server else text_in(raw, "name")
            call_id = text_in(raw, "toolCallId") or f"{id_}:{at}"
            calls[call_id] = PendingCall(name, as_input(raw.get("arguments")), number)
        if text or calls:
            said = [AgentText(id_, text, number)] if text else []
            self.open[agent_id] = OpenStep(id_, line.timestamp or "", self.path, number, agent_id, said, calls)
            self.asked.update(dict.fromkeys(calls, agent_id))
            if not calls:
                yield from self._complete(agent_id)

    def _result(self, data: _EventData) -> Iterator[Event]:
        id_ = data.tool_call_id or ""
        message = self.open.get(self.asked.pop(id_, ""))
        request = message.calls.get(id_) if message else None
        if message is None or not isinstance(request, PendingCall):
            return
        message.answer(self._finish(id_, request, data))
        if message.is_answered:
            yield from self._complete(message.agent_id)

    def _finish(self, id_: str, request: PendingCall, data: _EventData) -> ToolCall:
        failed = data.success is False
        result, error = value_of(data.result), object_of(data.error)
        text = as_text(result.get("content") if isinstance(result, dict) else result)
        if failed:
            text = text_in(error, "message") or text
        if request.name == "apply_patch":
            patch = as_text(request.input.get("input"))
            return finish_patch(id_, patch, text, failed=failed, line=request.line)
        ended, running = _ENDED.search(text), _RUNNING.search(text)
        tail = ended or running
        text = text[: tail.start()] if tail else text
        shell = str(request.input.get("shellId")) if request.name in _SHELL_LOOKS and tail else ""
        runs_in = running.group(1) if running else ""
        name, input_, text = self.running.follow(request, text, looks_at=shell, runs_in=runs_in)
        is_refused = failed and text_in(error, "code") in ("rejected", "denied")
        call = finish_call(
            id_,
            name,
            input_,
            text,
            is_error=failed or None,  # otherwise the exit code decides
            exit_code=int(ended.group(1)) if ended else None,
            outcome=STILL_RUNNING if running else REFUSED if is_refused else None,
            folder=self.folder,
            line=request.line,
        )
        return msgspec.structs.replace(call, name=request.name, agent_id=id_ if request.name == "task" else "")

    def _complete(self, agent_id: str, unanswered: tuple[Outcome, str] | None = None) -> Iterator[Event]:
        """Yield the open step of an agent; with the main agent's, the events that waited for it."""
        message = self.open.pop(agent_id, None)
        if message is not None:
            for id_ in message.calls:
                self.asked.pop(id_, None)
            yield message.step(unanswered)
        if not agent_id:
            yield from self._release()

    def _complete_all(self, unanswered: tuple[Outcome, str] | None = None) -> Iterator[Event]:
        for agent_id in sorted(self.open, reverse=True):  # the main agent, whose id is "", last
            yield from self._complete(agent_id, unanswered)
        yield from self._release()

    def _release(self) -> Iterator[Event]:
        waiting, self.waiting = self.waiting, []
        yield from waiting


def _instruction_files(text: str) -> Iterator[str]:
    for part in text.split("<custom_instruction>")[1:]:
        content, end, _ = part.partition("</custom_instruction>")
        if end:
            yield content.strip()
