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
from typing import Any

from msgspec.structs import replace

from knowbound.core.trace import AgentText, Broken, Event, Outcome, Prompt, Skill, Start, ToolCall
from knowbound.text.redact import cut
from knowbound.traces.calls.finish import finish_patch
from knowbound.traces.calls.outcome import INTERRUPTED, REFUSED
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
from knowbound.traces.values import dicts, lines_of_head, read_objects

_LINE_TYPE = re.compile(r"(?:session|assistant|user|tool|system|hook|permission|subagent|skill)\.[a-z_]+|abort")

_CLIENT_MESSAGE = re.compile(r"\s*<(?:skill-context|system_notification|system_reminder)\b")
# Endings that the client puts behind the output of a shell call.
_ENDED = re.compile(r"\n?<(?:shellId: \S+ completed|exited)[^<>]* exit code (-?\d{1,9})>\s*\Z")
_RUNNING = re.compile(r"\n?<command with shellId: (\S+) is still running[^<>]*>\s*\Z")
_SHELL_LOOKS = frozenset({"read_bash", "write_bash", "read_powershell", "write_powershell"})


class CopilotCli:
    """The reader of Copilot CLI event logs."""

    name = "copilot-cli"

    def identify(self, head: bytes) -> Identity | None:
        """Recognise dotted event types with data, an id and a time; `session.start` names the session."""
        found: Identity | None = None
        for line in lines_of_head(head):
            kind, time, data = text_in(line, "type"), text_in(line, "timestamp"), line.get("data")
            if not isinstance(data, dict) or not _LINE_TYPE.fullmatch(kind):
                continue
            if kind in ("session.start", "session.resume") and text_in(data, "sessionId"):
                return Identity(text_in(data, "sessionId"), time=time)
            if time and text_in(line, "id"):
                found = found or Identity("", time=time)
        return found

    def read(self, files: Sequence[Path], sidechains: dict[str, Path], tally: Tally) -> Iterator[Event]:
        """Yield the events of one session; sub-agents write into the same file."""
        return _EventLog(tally, has_several_files=len(files) > 1).events(files)


class _EventLog:
    """State of a session that is being read: one open message per agent, and events that wait for the main agent's."""

    def __init__(self, tally: Tally, has_several_files: bool) -> None:
        self.tally = tally
        self.known_ids = KnownIds(tally, is_single_file=not has_several_files)
        self.open_steps: dict[str, OpenStep] = {}
        self.agent_of_call: dict[str, str] = {}  # call without a result yet → agent
        self.events_after_step: list[Event] = []
        self.running_commands = RunningCommands("bash", "command")
        self.known_instructions: set[int] = set()  # hashes: the same text is injected once
        self.started = False
        self.path = self.folder = ""

    def events(self, files: Sequence[Path]) -> Iterator[Event]:
        """Yield the events of the files, in order; events that a resumed file repeats are left out."""
        for file in files:
            self.path = str(file)
            for number, line in read_objects(file, self.tally):
                if isinstance(data := line.get("data"), dict):
                    kind, id_ = text_in(line, "type"), text_in(line, "id")
                    is_message = kind in ("user.message", "assistant.message")
                    if not id_ or self.known_ids.is_new(id_, is_message=is_message):
                        yield from self._event(kind, id_, line, data, number)
        yield from self._complete_all()

    def _event(self, kind: str, id_: str, line: dict[str, Any], data: dict[str, Any], number: int) -> Iterator[Event]:
        """Take an event; text for the main agent waits until its open step is complete."""
        time = text_in(line, "timestamp")
        agent_id = text_in(line, "agentId") or text_in(data, "parentToolCallId")
        if not self.started and _LINE_TYPE.fullmatch(kind):
            self.started = True
            self.folder = text_in(as_input(data.get("context")), "cwd")
            version = text_in(data, "copilotVersion")
            yield Start(text_in(data, "sessionId"), CopilotCli.name, self.folder, version, time)
        if kind == "assistant.message":
            yield from self._message(id_ or text_in(data, "messageId") or f"L{number}", data, time, agent_id, number)
        elif kind == "tool.execution_complete":
            yield from self._result(data)
        elif kind == "abort":
            yield from self._complete_all(INTERRUPTED)
        elif kind == "session.error" or (kind == "session.shutdown" and data.get("shutdownType") == "error"):
            yield from self._complete_all()
            yield Broken(cut(text_in(data, "message", "errorType") or kind, MAX_REASON), number)
        elif not agent_id:
            self.events_after_step += self._injected(kind, id_ or f"L{number}", data, time, number)
            if not self.open_steps.get(""):  # no step of the main agent is open
                yield from self._release()

    def _injected(self, kind: str, id_: str, data: dict[str, Any], time: str, number: int) -> Iterator[Event]:
        """Yield the words of the user, the client, a hook or a skill to the main agent."""
        text = as_text(data.get("content"))
        if kind == "user.message":
            source = text_in(data, "source")
            if (source or "user") != "user" or _CLIENT_MESSAGE.match(text):
                yield injected(source or "client", text, number)
            elif text.strip():
                yield Prompt(id_, text.strip(), time, self.path, number)
        elif kind == "system.message":
            for part in text.split("<custom_instruction>")[1:]:
                content, end, _ = part.partition("</custom_instruction>")
                if end and hash(content.strip()) not in self.known_instructions:
                    self.known_instructions.add(hash(content.strip()))
                    yield injected("instructions", content.strip(), number)
        elif kind == "system.notification":
            yield injected("notification", text, number)
        elif kind == "hook.end":
            if context := text_in(as_input(data.get("output")), "additionalContext"):
                yield injected(f"hook:{text_in(data, 'hookType')}", context, number)
        elif kind == "skill.invoked" and text_in(data, "name"):
            yield Skill(text_in(data, "name"), "command" if data.get("trigger") == "user-invoked" else "call", number)
            yield injected("skill", text, number, text_in(data, "path"))

    def _message(self, id_: str, data: dict[str, Any], time: str, agent_id: str, number: int) -> Iterator[Event]:
        """Take a message of an agent: it ends the step before it, and stays open until its calls have their results."""
        yield from self._complete(agent_id)
        text = as_text(data.get("content")).strip()
        calls: dict[str, PendingCall | ToolCall] = {}
        for at, raw in enumerate(dicts(data.get("toolRequests"))):
            server, tool = text_in(raw, "mcpServerName"), text_in(raw, "mcpToolName", "name")
            name = f"mcp__{server}__{tool}" if server else text_in(raw, "name")
            call_id = text_in(raw, "toolCallId") or f"{id_}:{at}"
            calls[call_id] = PendingCall(name, as_input(raw.get("arguments")), number)
        if text or calls:
            said = [AgentText(id_, text, number)] if text else []
            self.open_steps[agent_id] = OpenStep(id_, time, self.path, number, agent_id, said, calls)
            self.agent_of_call.update(dict.fromkeys(calls, agent_id))
            if not calls:
                yield from self._complete(agent_id)

    def _result(self, data: dict[str, Any]) -> Iterator[Event]:
        """Put a result in place of its pending call; the last one completes the step."""
        id_ = text_in(data, "toolCallId")
        step = self.open_steps.get(self.agent_of_call.pop(id_, ""))
        request = step.calls.get(id_) if step else None
        if step is None or not isinstance(request, PendingCall):
            return
        step.answer(self._finish(id_, request, data))
        if step.is_answered:
            yield from self._complete(step.agent_id)

    def _finish(self, id_: str, request: PendingCall, data: dict[str, Any]) -> ToolCall:
        """Return a call with its result; a look at a running command is judged as that command."""
        failed = data.get("success") is False
        result, error = data.get("result"), as_input(data.get("error"))
        text = as_text(result.get("content") if isinstance(result, dict) else result)
        if failed:
            text = text_in(error, "message") or text
        if request.name == "apply_patch":
            patch = as_text(request.input.get("input"))
            return finish_patch(id_, patch, text, failed=failed, line=request.line)
        ending, running = _ENDED.search(text), _RUNNING.search(text)
        tail = ending or running
        text = text[: tail.start()] if tail else text
        looks_at = str(request.input.get("shellId")) if request.name in _SHELL_LOOKS and tail else ""
        is_refused = failed and text_in(error, "code") in ("rejected", "denied")
        call = self.running_commands.finish(
            id_,
            request,
            text,
            looks_at=looks_at,
            runs_in=running[1] if running else "",
            failed=failed,
            exit_code=int(ending[1]) if ending else None,
            folder=self.folder,
            outcome=REFUSED if is_refused else None,
        )
        return replace(call, agent_id=id_) if request.name == "task" else call  # it names its sub-agent

    def _complete(self, agent_id: str, unanswered: tuple[Outcome, str] | None = None) -> Iterator[Event]:
        """Yield the open step of an agent; after the main agent's ("") the events that waited for it."""
        step = self.open_steps.pop(agent_id, None)
        if step is not None:
            for id_ in step.calls:
                self.agent_of_call.pop(id_, None)
            yield step.step(unanswered)
        if not agent_id:
            yield from self._release()

    def _complete_all(self, unanswered: tuple[Outcome, str] | None = None) -> Iterator[Event]:
        for agent_id in sorted(self.open_steps, reverse=True):  # the main agent, whose id is "", last
            yield from self._complete(agent_id, unanswered)
        yield from self._release()

    def _release(self) -> Iterator[Event]:
        events, self.events_after_step = self.events_after_step, []
        yield from events
