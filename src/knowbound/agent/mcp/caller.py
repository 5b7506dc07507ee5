"""The caller of a tool: its session, turn and tool call, if the client names them; and the record of what it pulled.

Codex names all three in `_meta`. Claude Code names only the tool call there; the server's environment has the session
that the server was started in, which is wrong after /clear. So the call is looked up in the transcripts, which the
client writes at that moment. What is not found stays empty: nothing is guessed.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from knowbound.agent.hook import log as hook_log
from knowbound.agent.hook.resident import is_off
from knowbound.injection.inject import item_row
from knowbound.injection.log import PULLED
from knowbound.injection.prompt import item_key, remember_keys
from knowbound.injection.record import EXCERPT, Record
from knowbound.text.redact import excerpt
from knowbound.traces.registry import default_folders

if TYPE_CHECKING:
    from knowbound.kms.index.ranking import FoundItem

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,199}")
_CODEX_META, _CODEX_CALL_ID = "x-codex-turn-metadata", "callId"
_CLAUDE, _UNNAMED_AGENT = "claude-code", "sub-agent"
_CLAUDE_CALL_ID = "claudecode/toolUseId"
_CLAUDE_SESSION = "CLAUDE_CODE_SESSION_ID"
_WAIT_SECONDS = 1.0  # Claude Code writes its transcript about 0.1 s late
_RETRY_SECONDS = 0.02
_RECENT_SECONDS = 600  # a session that calls a tool has just written its transcript
_TAIL_BYTES = 4 << 20  # that are read, at the end of a transcript


class Caller(msgspec.Struct, frozen=True):
    """The known facts about a call; "" for unknown ones."""

    session: str = ""
    turn: str = ""  # Codex: turn_id; Claude Code: promptId
    call: str = ""
    agent: str = "unknown"  # the name that hooks use
    agent_id: str = ""  # of a sub-agent of Claude Code

    @property
    def context(self) -> str:
        """The name of the caller's context, as hooks have it; "" without a session."""
        return "-".join(filter(None, (self.session, self.agent_id))) if self.session else ""

    def fields(self) -> dict[str, str]:
        """Return what the record of a pull has."""
        turn = "turn_id" if self.agent == "codex" else "prompt_id"
        return {"agent": self.agent, "agent_id": self.agent_id, turn: self.turn, "call": self.call}


def client_of(meta: Mapping[str, Any]) -> str:
    """Return the client that calls a tool, by its own fields of `_meta`."""
    if isinstance(meta.get(_CODEX_META), dict):
        return "codex"
    return _CLAUDE if _CLAUDE_CALL_ID in meta else "other"


def caller_of(meta: Mapping[str, Any], environ: Mapping[str, str]) -> Caller:
    """Return the caller of a tool call with this `_meta`; may wait a second for Claude Code's transcript."""
    codex = meta.get(_CODEX_META)
    if isinstance(codex, dict):
        return Caller(
            session=_valid_id(codex.get("session_id")),
            turn=_valid_id(codex.get("turn_id")),
            call=_valid_id(meta.get(_CODEX_CALL_ID)),
            agent="codex",
        )
    call = _valid_id(meta.get(_CLAUDE_CALL_ID))
    if not call:
        return Caller()
    folders = default_folders(environ, Path(environ.get("HOME") or os.path.expanduser("~")))
    projects = [folder for folder in folders if folder.name == "projects"]
    session = _valid_id(environ.get(_CLAUDE_SESSION))
    deadline = time.monotonic() + _WAIT_SECONDS
    while True:
        for transcript in _transcripts(projects, session):
            if caller := _caller_in(transcript, call):
                return caller
        if time.monotonic() > deadline:
            return Caller(call=call, agent=_CLAUDE)
        time.sleep(_RETRY_SECONDS)


def _valid_id(value: object) -> str:
    return value if isinstance(value, str) and _ID.fullmatch(value) else ""


def _transcripts(projects: list[Path], session: str) -> Iterator[Path]:
    """Yield the transcripts that may have the call: that of the server's first session, then recently written ones."""
    session_transcripts = _transcripts_of(projects, session) if session else []
    yield from session_transcripts
    modified = {path: _modified_at(path) for path in _transcripts_of(projects, "*")}
    since = time.time() - _RECENT_SECONDS
    for path in sorted(modified.keys() - set(session_transcripts), key=modified.__getitem__, reverse=True):
        if modified[path] < since:
            return
        yield path


def _transcripts_of(projects: list[Path], session: str) -> list[Path]:
    """Return the transcripts of a session ("*": of all) and of its sub-agents."""
    patterns = (f"*/{session}.jsonl", f"*/{session}/subagents/*.jsonl")
    return [path for folder in projects for pattern in patterns for path in folder.glob(pattern)]


def _modified_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _caller_in(transcript: Path, call: str) -> Caller | None:
    """Return the caller if the transcript has this tool call; the prompt above the call is its turn."""
    try:
        with transcript.open("rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
            tail = file.read(_TAIL_BYTES)
    except OSError:
        return None
    if call.encode() not in tail:
        return None
    turn = ""
    for data in tail.split(b"\n"):
        if b'"promptId"' not in data and call.encode() not in data:
            continue
        line = hook_log.json_object(data)  # empty if it is cut off, or not finished yet
        turn = _valid_id(line.get("promptId")) or turn
        if line.get("type") == "assistant" and _has_tool_use(line.get("message"), call):
            sub_agent = (_valid_id(line.get("agentId")) or _UNNAMED_AGENT) if line.get("isSidechain") else ""
            session = _valid_id(line.get("sessionId"))
            return Caller(session=session, turn=turn, call=call, agent=_CLAUDE, agent_id=sub_agent)
    return None


def _has_tool_use(message: object, call: str) -> bool:
    blocks = message.get("content") if isinstance(message, dict) else None
    return isinstance(blocks, list) and any(
        isinstance(block, dict) and block.get("type") == "tool_use" and block.get("id") == call for block in blocks
    )


def record_pull(
    home: str, meta: Mapping[str, Any], tool: str, query: str, items: Sequence[FoundItem], *, is_shown: bool
) -> None:
    """Record items that an agent pulled from the store, in the log of injections; `is_shown`: as a whole entry.

    A whole entry is in the caller's context, so the hook does not inject it there again. A search result is not
    withheld, because the agent may have passed over it. A record that cannot be written is a failed run in the hook
    log, which `doctor` shows.
    """
    if is_off() or not items:
        return
    began = time.monotonic()
    try:
        caller = caller_of(meta, os.environ)
        record = Record(PULLED)
        record.key["session"] = caller.session
        pulled = {"tool": tool, "query": excerpt(query, EXCERPT), "items": [item_row(item) for item in items]}
        record.add_known(caller.fields() | pulled)
        record.begin(home)
        if is_shown and caller.context:
            remember_keys(home, caller.context, [item_key(item) for item in items])
    except Exception as error:  # the agent has its answer
        reason = f"{type(error).__name__}: {error}"
        spent_ms = (time.monotonic() - began) * 1000
        hook_log.write(home, PULLED, "failed", spent_ms, items=0, tokens=0, reason=reason)
