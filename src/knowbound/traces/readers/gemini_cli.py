"""Gemini CLI sessions (`~/.gemini/tmp/*/chats/session-*`) and saved chats, and those of Qwen Code.

- A session is one JSON document `{sessionId, projectHash, startTime, lastUpdated, messages}`, or (newer clients) JSON
  lines: a line with the session's data, then its messages, `$set` and `$rewindTo` lines. A message that grows is
  written again, whole: the last one of an id counts. Messages that the user rewound stay: the agent did look for their
  subject. `$set` may have masked or summarised messages, which are skipped.
- Messages are of type user, gemini, info, warning or error. A gemini message has its tool calls with their results:
  `toolCalls[] {id, name, args, status, result[].functionResponse.response {output|error}}`.
- A sub-agent has a session of its own (`kind` subagent), whose task is not the user's words.
- A document may be stored several times while it grows; copies of one session are joined by message id.
- Saved chats and checkpoints are lists of `{role, parts}` (also under `history` or `clientHistory`).

Its fork Qwen Code (`~/.qwen/projects/*/chats/*.jsonl`) writes lines with the same parts:

- Lines are of type user, assistant, tool_result and system. A result has its text in `functionResponse.response`
  (`output` or `error`) and its status in `toolCallResult`.
- Calls of a sub-agent are no lines of their own: a system line of the subtype ui_telemetry names each with its input,
  and `prompt_id` has the sub-agent after a `#` (the main agent: `########` and a number). It has no output.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from knowbound.core.trace import (
    AgentText,
    Broken,
    Event,
    Injection,
    Outcome,
    Prompt,
    Skill,
    Start,
    Step,
    ToolCall,
    ToolKind,
)
from knowbound.text.redact import cut
from knowbound.traces.calls.finish import finish_call
from knowbound.traces.calls.outcome import INTERRUPTED, NO_MATCH, SUCCESS, failure, is_empty_result
from knowbound.traces.calls.tools import kind_of
from knowbound.traces.dialogue import Message, ToolResult, as_input, as_text, follow, message_of, read_parts, text_in
from knowbound.traces.registry import Identity
from knowbound.traces.source import Tally
from knowbound.traces.values import dicts, first_value, head_of, new_tokens, read_objects, read_values

_TYPES = frozenset({"user", "gemini", "info", "warning", "error"})
_HISTORIES = ("history", "clientHistory")
_PARTS = frozenset({"text", "functionCall", "functionResponse", "inlineData", "fileData", "thought"})
_CONTINUE = "System: Please continue."  # the client's own words after a broken stream
_FILES = "--- Content from referenced files ---"  # between the user's words and the files named with @
_SETUP_TEXT = "This is the Gemini CLI. We are setting up the context for our chat."
_NO_AGENT_FAILURE = re.compile(r"\s*unknown command", re.IGNORECASE)
_REFUSED = re.compile(r"user (?:denied|rejected|did not allow)|denied by policy|did not approve", re.IGNORECASE)
_NO_FILES = re.compile(r"\s*no files matching the criteria", re.IGNORECASE)
# The client's report of a command: "Command: …\nDirectory: …\nOutput: …\nError: (none)\nExit Code: 0\nSignal: 0\n…".
_REPORT = re.compile(r"(?:Command: .*?\nDirectory: [^\n]*\n)?(?:Output|Stdout): ", re.DOTALL)
_REPORT_END = re.compile(r"(Error|Exit Code|Signal|Background PIDs|Process Group PGID): (\(none\)|.*)")


class _Record(msgspec.Struct, frozen=True):
    """A message of a session with its file and position."""

    id: str
    raw: dict[str, Any]
    path: str
    line: int
    is_task: bool = False  # of a sub-agent's session, where the main agent has the user's role


class GeminiCli:
    """The reader of Gemini CLI sessions and saved chats."""

    name = "gemini-cli"

    def identify(self, head: bytes) -> Identity | None:
        """Recognise `sessionId` with `projectHash`, or messages with `role` and Gemini's untyped `parts`."""
        value = first_value(head)
        if isinstance(value, dict) and text_in(value, "sessionId") and "projectHash" in value:
            return Identity(text_in(value, "sessionId"), time=text_in(value, "startTime"))
        return Identity("") if _history(value) else None

    def read(self, files: Sequence[Path], sidechains: dict[str, Path], tally: Tally) -> Iterator[Event]:
        """Yield the events of one session, which may have several copies."""
        if len(files) == 1:
            yield from _events(_records(files[0], tally))
            return
        joined: dict[str, _Record] = {}
        starts: list[Start] = []
        chats: list[Event] = []
        for path in sorted(files, key=lambda path: text_in(as_input(first_value(head_of(path))), "lastUpdated")):
            for record in _records(path, tally):
                if isinstance(record, Start):
                    starts.append(record)
                elif isinstance(record, _Record):
                    tally.duplicates += record.id in joined
                    joined[record.id] = record
                else:
                    chats.append(record)
        yield from _events([*starts[:1], *sorted(joined.values(), key=lambda record: text_in(record.raw, "timestamp"))])
        yield from chats


def _records(path: Path, tally: Tally) -> Iterator[Start | _Record | Event]:
    """Yield the session's data and its messages in their last state; of a saved chat its events."""
    growing: _Record | None = None  # the last message: later lines may have newer states of it
    yielded_ids: set[str] = set()
    is_task = False
    for number, value in read_values(path, tally):
        if history := _history(value):
            yield Start(path.stem, GeminiCli.name)
            parsed = (message_of(raw, f"M{number}", number) for number, raw in enumerate(history, 1))
            yield from follow((_with_role(message) for message in parsed if message is not None), str(path))
        elif not isinstance(value, dict):
            tally.skip(str(path), number, "foreign")
        elif "sessionId" in value and "projectHash" in value:
            is_task = value.get("kind") == "subagent"  # its prompt is the main agent's
            yield _start(value)
        messages = value.get("messages") if isinstance(value, dict) else None
        listed = list(enumerate(messages, 1)) if isinstance(messages, list) else [(number, value)]
        for line, raw in listed:
            if not isinstance(raw, dict) or text_in(raw, "type") not in _TYPES:
                if isinstance(messages, list):
                    tally.skip(str(path), line, "foreign")
                continue
            record = _Record(text_in(raw, "id") or f"M{line}", raw, str(path), line, is_task)
            if growing is not None and growing.id != record.id:
                yield growing
                yielded_ids.add(growing.id)
            if record.id in yielded_ids:
                tally.duplicates += 1  # a state that came too late
                growing = None
            else:
                growing = record
    if growing is not None:
        yield growing


def _start(raw: dict[str, Any]) -> Start:
    folders = raw.get("directories")
    project = folders[0] if isinstance(folders, list) and folders and isinstance(folders[0], str) else ""
    return Start(text_in(raw, "sessionId"), GeminiCli.name, project, time=text_in(raw, "startTime"))


def _events(records: Iterable[Start | _Record | Event]) -> Iterator[Event]:
    """Yield the events of messages; a Start and the events of saved chats pass through."""
    for record in records:
        if not isinstance(record, _Record):
            yield record
            continue
        kind = record.raw.get("type")
        if kind == "user":
            yield from _user(record)
        elif kind == "gemini":
            yield from _agent(record)
        elif kind == "error":
            reason = as_text(record.raw.get("content"))
            if not _NO_AGENT_FAILURE.match(reason):
                yield Broken(cut(reason, 500), record.line)


def _user(record: _Record) -> Iterator[Event]:
    """Yield the user's own words; text that the client put after or in place of them is injected."""
    shown = record.raw.get("displayContent") or record.raw.get("content")  # what the user typed
    text = "\n".join(read_parts(shown)[0])
    if record.is_task:
        yield Injection("task", text, line=record.line)
        return
    words, mark, files = text.partition(_FILES)
    if words.strip() == _CONTINUE or words.startswith((_SETUP_TEXT, "<session_context>", "<state_snapshot>")):
        yield Injection("client", text, line=record.line)
        return
    if mark:
        yield Injection("file", files.strip(), line=record.line)
    if words.strip():
        yield Prompt(record.id, words.strip(), text_in(record.raw, "timestamp"), record.path, record.line)


def _agent(record: _Record) -> Iterator[Event]:
    """Yield the step of an agent's message, and the skills that it invokes."""
    raws = dicts(record.raw.get("toolCalls"))
    calls = tuple(_call(raw, f"{record.id}#{number}", record.line) for number, raw in enumerate(raws))
    said = tuple(AgentText(record.id, text, record.line) for text in read_parts(record.raw.get("content"))[0])
    yield Step(record.id, said, calls, "", text_in(record.raw, "timestamp"), record.path, record.line)
    for raw in raws:
        if raw.get("name") == "activate_skill":
            yield Skill(text_in(as_input(raw.get("args")), "name"), "call", record.line)


def _call(raw: dict[str, Any], id_: str, line: int) -> ToolCall:
    """Return a tool call, whose outcome comes from its status first, then from the text of its result."""
    name, status = text_in(raw, "name"), raw.get("status")
    results = read_parts(raw.get("result"))[2]
    output: str | None = "\n".join(result.output for result in results)
    failed = status == "error" or any(result.is_error for result in results)
    outcome = exit_code = None
    if not results:
        output = text_in(raw, "resultDisplay") or None
    if status == "cancelled":
        refused = _REFUSED.search(output or "")
        outcome = (Outcome.REJECTED, "the user refused it") if refused else (Outcome.CANCELLED, "cancelled")
    elif output is None and status == "success":  # it printed nothing
        output = ""
    elif output and kind_of(name) is ToolKind.SHELL:
        output, exit_code = shell_output(output)
    elif output and kind_of(name) is ToolKind.READ and _NO_FILES.match(output):
        outcome = (Outcome.MISSING, "no file matched")
    input_, id_ = as_input(raw.get("args")), text_in(raw, "id") or id_
    is_error = failed or (None if exit_code is not None else False)  # else the exit code decides
    return finish_call(id_, name, input_, output, is_error=is_error, exit_code=exit_code, outcome=outcome, line=line)


def shell_output(text: str) -> tuple[str, int | None]:
    """Return the output of a command and its exit code, from the client's report."""
    report = _REPORT.match(text)
    if report is None:
        return text, None
    lines = text[report.end() :].rstrip().split("\n")
    fields: dict[str, str] = {}
    while len(lines) > 1 and (end := _REPORT_END.fullmatch(lines[-1])) and "Error" not in fields:
        fields[end[1]] = end[2]
        lines.pop()
    if fields.get("Error", "(none)") != "(none)":
        lines.append(fields["Error"])
    output = "\n".join(lines)
    code = fields.get("Exit Code", "0" if fields.get("Signal", "0") == "0" else "")  # newer clients leave out a zero
    return "" if output == "(empty)" else output, int(code) if re.fullmatch(r"-?[0-9]{1,5}", code) else None


def _history(value: object) -> list[Any] | None:
    """Return the messages of a saved chat: `role` user or model with parts that name their kind by their key."""
    listed = value
    if isinstance(value, dict):
        listed = next(
            (value[key] for key in _HISTORIES if isinstance(value.get(key), list) and _history(value[key])), None
        )
    if not isinstance(listed, list) or not listed:
        return None
    first = listed[0]
    if not isinstance(first, dict) or first.get("role") not in ("user", "model"):
        return None
    parts = first.get("parts")
    named = isinstance(parts, list) and all(
        isinstance(part, dict) and "type" not in part and _PARTS & part.keys() for part in parts
    )
    return listed if named else None


def _with_role(message: Message) -> Message:
    """Return a message with the role `tool` if the client wrote it in the user's role, as at the start of a chat."""
    if message.role == "user" and message.texts and message.texts[0].startswith((_SETUP_TEXT, _CONTINUE)):
        return msgspec.structs.replace(message, role="tool")
    return message


# ---- Qwen Code, a fork

_QWEN_TYPES = frozenset({"user", "assistant", "tool_result", "system"})
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
        if not isinstance(value, dict) or text_in(value, "type") not in _QWEN_TYPES or not text_in(value, "sessionId"):
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
        """Yield the messages of a file; a Start and the calls of sub-agents are put aside."""
        for number, value in read_objects(path, self.tally):
            if text_in(value, "type") not in _QWEN_TYPES:
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
        if event.get("event.name") != _CALL or not agent or agent.startswith("#"):  # `ID########0` is the main agent's
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
    """Return the message of a line by its type: results of tools, words of the user, or the agent's."""
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
