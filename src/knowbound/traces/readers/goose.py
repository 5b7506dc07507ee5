"""Goose sessions: the database `sessions.db`, and the JSON document of `goose session export`.

- A message has its content as a list of parts: text, thinking, toolRequest {id, toolCall {value {name, arguments}}} and
  toolResponse {id, toolResult {status, value {content, isError, structuredContent {exit_code}}}}.
- A tool is named alone or after its extension (`developer__shell`). `text_editor` reads with the command `view`.
- A sub-agent is a session of the type `sub_agent`, which the result of the call names (`subagent_session_id`).
- Tokens are kept for a session, for a message only if the row has them. A line is the number of the message.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from knowbound.core.trace import Event, Start, Step, ToolKind
from knowbound.text.clock import comparable_time, iso_time
from knowbound.traces.calls.outcome import failure
from knowbound.traces.calls.tools import kind_of
from knowbound.traces.dialogue import Message, ToolRequest, ToolResult, as_input, as_text, follow, text_in
from knowbound.traces.registry import Identity
from knowbound.traces.source import SQLITE_SIGNATURE, Tables, Tally, has_table, tables_of
from knowbound.traces.values import dicts, first_value, head_of, read_objects, token_count, value_of

_SUB_AGENT = "sub_agent"
_EDITOR = "text_editor"
_EXITED = re.compile(r"\n\nCommand exited with code -?\d{1,5}\Z")


class Goose:
    """The reader of Goose sessions."""

    name = "goose"

    def identify(self, head: bytes) -> Identity | None:
        """Recognise the database by its tables and columns, an export by its conversation."""
        if has_table(head, "messages") and has_table(head, "sessions"):
            return Identity("") if b"content_json" in head else None
        value = first_value(head)
        if isinstance(value, dict) and "working_dir" in value and isinstance(value.get("conversation"), list):
            return Identity(text_in(value, "id"), time=text_in(value, "created_at"))
        return None

    def read(self, files: Sequence[Path], sidechains: dict[str, Path], tally: Tally) -> Iterator[Event]:
        """Yield the events of every session in the files, a Start before each."""
        for path in files:
            if head_of(path).startswith(SQLITE_SIGNATURE):
                with tables_of(path, tally) as tables:
                    yield from _from_database(tables, str(path)) if tables else ()
                continue
            for number, value in read_objects(path, tally):
                if isinstance(value.get("conversation"), list):
                    yield _start(value)
                    yield from follow(_messages(dicts(value["conversation"])), str(path))
                else:
                    tally.skip(str(path), number, "foreign")


def _from_database(tables: Tables, path: str) -> Iterator[Event]:
    """Yield the events of every session, with the steps of each sub-agent after the step that started it."""
    columns = "id session_type working_dir created_at"
    sessions = {text_in(row, "id"): row for row in tables.rows("sessions", columns, "ORDER BY created_at, id")}
    sub_agents = {id_ for id_, row in sessions.items() if row.get("session_type") == _SUB_AGENT}
    unread_agents = set(sub_agents)
    for id_, row in sessions.items():
        if id_ in sub_agents:
            continue
        yield _start(row)
        for event in follow(_messages_of_session(tables, id_), path):
            yield event
            started = [call.agent_id for call in event.calls if call.agent_id] if isinstance(event, Step) else []
            for agent in unread_agents.intersection(started):
                unread_agents.discard(agent)
                yield from _steps_of_agent(tables, agent, path)
    for agent in sorted(unread_agents):  # no call that is left names them
        yield _start(sessions[agent])
        yield from _steps_of_agent(tables, agent, path)


def _steps_of_agent(tables: Tables, agent: str, path: str) -> Iterator[Step]:
    yield from (event for event in follow(_messages_of_session(tables, agent), path, agent) if isinstance(event, Step))


def _start(about: dict[str, Any]) -> Start:
    time = comparable_time(text_in(about, "created_at"))
    return Start(text_in(about, "id"), Goose.name, text_in(about, "working_dir"), time=time)


def _messages_of_session(tables: Tables, session: str) -> Iterator[Message]:
    """Yield the messages of a session in the database, as those of an export."""
    columns = "message_id role content_json created_timestamp tokens"
    rows = tables.rows("messages", columns, "WHERE session_id = ? ORDER BY id", session)
    yield from _messages(
        {
            "id": row.get("message_id"), "role": row.get("role"), "created": row.get("created_timestamp"),
            "content": value_of(row.get("content_json") or ""), "tokens": row.get("tokens"),
        }
        for row in rows
    )  # fmt: skip


def _messages(raws: Iterable[dict[str, Any]]) -> Iterator[Message]:
    """Yield the messages; text in the user's role that the user does not see has the role of a tool."""
    for number, raw in enumerate(raws, 1):
        texts, requests, results = list[str](), list[ToolRequest](), list[ToolResult]()
        for part in dicts(raw.get("content")):
            match part.get("type"):
                case "text":
                    texts += [text] if (text := text_in(part, "text")).strip() else []
                case "toolRequest":
                    requests.append(_request(part))
                case "toolResponse":
                    results.append(_result(part))
        role = "assistant" if text_in(raw, "role").lower() == "assistant" else "user"
        metadata = raw.get("metadata")
        if role == "user" and isinstance(metadata, dict) and metadata.get("userVisible") is False:
            role = "tool"
        time, id_ = iso_time(raw.get("created")), text_in(raw, "id") or f"M{number}"
        parts = (tuple(texts), tuple(requests), tuple(results))
        yield Message(role, id_, *parts, time=time, line=number, tokens=token_count(raw.get("tokens")))


def _request(part: dict[str, Any]) -> ToolRequest:
    """Return a call with its kind, which an editor's command or the extension of the tool may say."""
    call = as_input(as_input(part.get("toolCall")).get("value"))
    name, input_ = text_in(call, "name"), as_input(call.get("arguments"))
    extension, _, tool = name.rpartition("__")
    kind = kind_of(tool)
    if tool == _EDITOR:
        kind = ToolKind.READ if input_.get("command") == "view" else ToolKind.EDIT
    elif tool == "tree":
        kind = ToolKind.LIST
    elif kind is ToolKind.OTHER and extension:
        kind = kind_of(f"mcp__{name}")  # an extension is an MCP server
    return ToolRequest(text_in(part, "id"), name, input_, kind)


def _result(part: dict[str, Any]) -> ToolResult:
    """Return a result with its exit code, or with the sub-agent that its call started."""
    result = as_input(part.get("toolResult"))
    value = result.get("value")
    if result.get("status") == "error":
        text = as_text(result.get("error"))
        return ToolResult(text_in(part, "id"), text, is_error=True, outcome=failure(text))
    value_fields = as_input(value)
    text = _EXITED.sub("", as_text(value_fields.get("content", value)))
    code = as_input(value_fields.get("structuredContent")).get("exit_code")
    agent = text_in(as_input(value_fields.get("_meta")), "subagent_session_id")
    exit_code = code if isinstance(code, int) and not isinstance(code, bool) else None
    is_error = value_fields.get("isError") is True
    return ToolResult(text_in(part, "id"), text, is_error, exit_code=exit_code, agent_id=agent)
