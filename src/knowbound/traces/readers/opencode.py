"""OpenCode sessions (also those of Kilo): the database `opencode.db`, the older tree of JSON files, and exports.

- `session`, `message` and `part` are the tables of the database and the folders of the tree
  (`session/PROJECT/SES.json`, `message/SES/MSG.json`, `part/MSG/PRT.json`). An export has `info` and `messages`.
- A part is a text, a tool call with its result, or the client's own (step-start, reasoning, patch, snapshot). A text
  with `synthetic` is the client's, not the user's.
- The outcome of a call: `state.status`; of a command `state.metadata.exit`; of a search the number of matches in
  `state.metadata`. A call that does not fit any tool is recorded as the tool `invalid`, with status `completed`.
- A sub-agent is a session with a parent; the call of the tool `task` names it in `state.metadata.sessionId`.
- The number of a line is the number of the message in its session.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from knowbound.core.trace import AgentText, Broken, Event, Injection, Prompt, Skill, Start, Step, ToolCall, ToolKind
from knowbound.text.clock import iso_time
from knowbound.text.redact import cut
from knowbound.traces.calls.finish import finish_call
from knowbound.traces.calls.outcome import INTERRUPTED, NO_MATCH, STILL_RUNNING, SUCCESS, TIMED_OUT, WRONG_INPUT
from knowbound.traces.calls.tools import kind_of
from knowbound.traces.dialogue import MAX_REASON, as_input, as_text, text_in
from knowbound.traces.registry import Identity
from knowbound.traces.source import SQLITE_SIGNATURE, Tables, Tally, has_table, tables_of
from knowbound.traces.values import dicts, first_value, head_of, object_of, read_objects, token_count

_COUNTS = ("matches", "count")  # number of matches: of grep; of glob and list
_STOPPED = re.compile(r"terminated command after exceeding timeout|User aborted the command")
_MOST_NESTED = 20  # sub-agents of sub-agents


class _Message(msgspec.Struct):
    """A message with its parts."""

    id: str
    about: dict[str, Any]
    parts: list[dict[str, Any]]


class _Session(msgspec.Struct):
    """A session whose messages are known."""

    id: str
    parent: str = ""
    project: str = ""
    version: str = ""
    created: object = None
    messages: list[_Message] = []
    path: str = ""


class OpenCode:
    """The reader of OpenCode sessions."""

    name = "opencode"

    def identify(self, head: bytes) -> Identity | None:
        """Recognise the database by its tables, and a file of the tree or an export by its ids."""
        if has_table(head, "part") and has_table(head, "message"):
            return Identity("")
        value = first_value(head)
        if not isinstance(value, dict):
            return None
        own, session = text_in(value, "id"), text_in(value, "sessionID")
        if own.startswith("ses_") and ("projectID" in value or "directory" in value):
            return Identity(own, time=_created(value))
        if session and own.startswith(("msg_", "prt_")):
            return Identity(session, time=_created(value))
        info = value.get("info")
        if isinstance(info, dict) and text_in(info, "id").startswith("ses_"):
            return Identity(text_in(info, "id"), time=_created(info))
        return None

    def read(self, files: Sequence[Path], sidechains: dict[str, Path], tally: Tally) -> Iterator[Event]:
        """Yield the events of a session in files, or of every session in a database, a Start before each."""
        documents = [path for path in files if not head_of(path).startswith(SQLITE_SIGNATURE)]
        if documents:
            yield from _events(_session_of_files(documents, tally), {})
        for path in files:
            if path not in documents:
                with tables_of(path, tally) as tables:
                    yield from _from_database(tables, str(path)) if tables else ()


def _created(about: dict[str, Any]) -> str:
    times = about.get("time")
    return iso_time(times.get("created") or times.get("start"), 1000) if isinstance(times, dict) else ""


# ---- the database


def _from_database(tables: Tables, path: str) -> Iterator[Event]:
    """Yield the events of the sessions that a person began; each has the sessions of its sub-agents in place."""
    sessions = [
        _Session(
            text_in(row, "id"), text_in(row, "parent_id"), text_in(row, "directory"), text_in(row, "version"),
            row.get("time_created"), path=path,
        )
        for row in tables.rows("session", "id parent_id directory version time_created", "ORDER BY time_created, id")
    ]  # fmt: skip
    known_ids = {session.id for session in sessions}
    sub_sessions: dict[str, list[_Session]] = {}
    for session in sessions:
        sub_sessions.setdefault(session.parent if session.parent in known_ids else "", []).append(session)
    for session in sub_sessions.get("", ()):
        _read_messages(session, tables)
        yield from _events(session, sub_sessions, tables)


def _read_messages(session: _Session, tables: Tables) -> None:
    """Read the messages of a session."""
    found = {
        text_in(row, "id"): _Message(text_in(row, "id"), object_of(row.get("data") or ""), [])
        for row in tables.rows("message", "id data", "WHERE session_id = ? ORDER BY time_created, id", session.id)
    }
    for row in tables.rows("part", "message_id data", "WHERE session_id = ? ORDER BY id", session.id):
        if message := found.get(text_in(row, "message_id")):
            message.parts.append(object_of(row.get("data") or ""))
    session.messages = list(found.values())


# ---- the tree and exports


def _session_of_files(files: Iterable[Path], tally: Tally) -> _Session:
    """Put the files of a session together; what a later file repeats counts once."""
    session = _Session("")
    messages: dict[str, _Message] = {}
    parts: dict[str, tuple[str, dict[str, Any]]] = {}
    for path, value in ((file, value) for file in files for _, value in read_objects(file, tally)):
        info = value.get("info")
        for data in [info, *_exported(value)] if isinstance(info, dict) else [value]:
            id_ = text_in(data, "id")
            if id_.startswith("prt_"):
                tally.duplicates += id_ in parts
                parts[id_] = (text_in(data, "messageID"), data)
            elif id_.startswith("msg_"):
                tally.duplicates += id_ in messages
                messages[id_] = _Message(id_, data, [])
            elif id_.startswith("ses_"):
                session = _Session(
                    id_, text_in(data, "parentID"), text_in(data, "directory"), text_in(data, "version"),
                    as_input(data.get("time")).get("created"), path=str(path),
                )  # fmt: skip
        session.path = session.path or str(path)
    for _, (message, data) in sorted(parts.items()):
        if message in messages:
            messages[message].parts.append(data)
    session.messages = [messages[id_] for id_ in sorted(messages)]
    session.id = session.id or next((text_in(message.about, "sessionID") for message in session.messages), "")
    return session


def _exported(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the messages and parts of an export."""
    for message in dicts(value.get("messages")):
        if isinstance(info := message.get("info"), dict):
            yield info
            yield from dicts(message.get("parts"))


# ---- events


def _events(
    session: _Session, sub_sessions: dict[str, list[_Session]], tables: Tables | None = None
) -> Iterator[Event]:
    """Yield the events of a session, those of its sub-agents after the step that started them."""
    time = iso_time(session.created, 1000)
    yield Start(session.id, OpenCode.name, session.project, version=session.version, time=time)
    agents = {agent.id: agent for agent in sub_sessions.get(session.id, ())}
    is_task = bool(session.parent) and tables is None  # a file of a sub-agent alone
    for event in _own_events(session, "", is_task=is_task):
        yield event
        if isinstance(event, Step):
            for call in event.calls:
                if (agent := agents.pop(call.agent_id, None)) and tables:  # files have no other session
                    yield from _events_of_agent(agent, sub_sessions, tables, 0)
    for agent in agents.values():  # no call of the session started them
        if tables:
            yield from _events_of_agent(agent, sub_sessions, tables, 0)


def _events_of_agent(
    agent: _Session, sub_sessions: dict[str, list[_Session]], tables: Tables, depth: int
) -> Iterator[Event]:
    """Yield the steps of a sub-agent, then of those that it started; their messages are read when they are needed."""
    _read_messages(agent, tables)
    yield from (event for event in _own_events(agent, agent.id) if isinstance(event, Step | Broken))
    agent.messages = []  # they were yielded: free the memory
    if depth < _MOST_NESTED:
        for deeper in sub_sessions.get(agent.id, ()):
            yield from _events_of_agent(deeper, sub_sessions, tables, depth + 1)


def _own_events(session: _Session, agent_id: str, *, is_task: bool = False) -> Iterator[Event]:
    """Yield the events of a session's own messages, without those of its sub-agents."""
    for line, message in enumerate(session.messages, 1):
        data = message.about
        if data.get("role") == "user":
            if not agent_id:  # a sub-agent's prompts are the agent's own words
                yield from _user(message, session.path, line, is_task=is_task)
        elif data.get("summary") is True:
            text = "\n".join(text_in(part, "text") for part in message.parts if part.get("type") == "text")
            yield Injection("summary", text, line=line)
        elif data.get("role") == "assistant":
            yield from _agent(message, session.path, line, agent_id)


def _user(message: _Message, path: str, line: int, *, is_task: bool) -> Iterator[Event]:
    """Yield the user's own words; the task of a sub-agent and what the client adds are injected."""
    words = []
    for part in message.parts:
        if part.get("type") != "text" or not (text := text_in(part, "text").strip()):
            continue
        if is_task or part.get("synthetic") is True or part.get("ignored") is True:
            yield Injection("task" if is_task else "client", text, line=line)
        else:
            words.append(text)
    if words:
        yield Prompt(message.id, "\n".join(words), _created(message.about), path, line)


def _agent(message: _Message, path: str, line: int, agent_id: str) -> Iterator[Event]:
    """Yield the step of an agent's message, the skills that it invokes, and the error that ended it."""
    said = list[AgentText]()
    calls = list[ToolCall]()
    for part in message.parts:
        if part.get("type") == "text" and (text := text_in(part, "text")).strip():
            said.append(AgentText(message.id, text, line))
        elif part.get("type") == "tool":
            calls.append(_call(part, f"{message.id}#{len(calls)}", line))
    model = text_in(message.about, "modelID")
    if said or calls:
        time, tokens = _created(message.about), _new_tokens(message.about.get("tokens"))
        yield Step(message.id, tuple(said), tuple(calls), agent_id, time, path, line, tokens, model)
        yield from (Skill(call.query, "call", line) for call in calls if call.name == "skill" and not call.failed)
    error = message.about.get("error")
    if isinstance(error, dict) and text_in(error, "name") != "MessageAbortedError":
        data = error.get("data")
        reason = (text_in(data, "message") if isinstance(data, dict) else "") or text_in(error, "name", "message")
        yield Broken(cut(reason or "error", MAX_REASON), line)


def _new_tokens(raw: object) -> int | None:
    """Return the tokens that were written, and those read for the first time."""
    if not isinstance(raw, dict):
        return None
    cache = raw.get("cache")
    parts = [raw.get("input"), raw.get("output"), raw.get("reasoning")]
    parts.append(cache.get("write") if isinstance(cache, dict) else None)
    known = [count for part in parts if (count := token_count(part)) is not None]
    return sum(known) if known else None


def _call(part: dict[str, Any], id_: str, line: int) -> ToolCall:
    """Return a tool call, whose outcome comes from its state first, then from the text of its result."""
    name, id_ = text_in(part, "tool"), text_in(part, "callID") or id_
    state = as_input(part.get("state"))
    status, input_, metadata = state.get("status"), as_input(state.get("input")), as_input(state.get("metadata"))
    output = as_text(state.get("output"))
    if status == "error":
        text = as_text(state.get("error"))
        outcome = INTERRUPTED if metadata.get("interrupted") is True else None
        return finish_call(id_, name, input_, text, is_error=True, outcome=outcome, line=line)
    if status != "completed":
        return finish_call(id_, name, input_, None, outcome=STILL_RUNNING if status == "running" else None, line=line)
    if name == "invalid":  # the client's name for a call that it could not read
        return finish_call(id_, text_in(input_, "tool") or name, {}, output, outcome=WRONG_INPUT, line=line)
    kind, code, outcome = kind_of(name), None, None
    if kind is ToolKind.SHELL:
        code = metadata.get("exit")
        stopped = _STOPPED.search(output[-1000:]) if code is None else None
        outcome = (TIMED_OUT if stopped[0].startswith("term") else INTERRUPTED) if stopped else None
        code = code if isinstance(code, int) else None
    elif kind in (ToolKind.SEARCH, ToolKind.LIST):
        counts = [count for key in _COUNTS if isinstance(count := metadata.get(key), int)]
        outcome = (SUCCESS if counts[0] else NO_MATCH) if counts else None
    failed = None if code is not None else False  # the exit code decides
    call = finish_call(id_, name, input_, output, is_error=failed, exit_code=code, outcome=outcome, line=line)
    agent = text_in(metadata, "sessionId", "sessionID")
    return msgspec.structs.replace(call, agent_id=agent) if agent else call
