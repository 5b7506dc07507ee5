"""Cline sessions: those of the command line (`ID.messages.json`), and the tasks of the editor's extension.

- Both are messages in Anthropic's form. The command line has `{sessionId, messages}` and, in a file beside it, the
  session's folder (`{session_id, cwd, …}`). A result of its tools is a list of {query, result, error, success}.
- A task (`api_conversation_history.json`) is a list of messages. A result is a `tool_result`, or a text of the user's
  role that begins with `[tool for 'input'] Result:`, in the order of the calls.
- The user's words stand in elements (task, user_message, feedback, answer, user_input); all else in the user's role is
  the client's.
- Roo Code began as a copy of this format; without a recording of it nothing here is made for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from knowbound.core.trace import Event, Start
from knowbound.text.clock import iso_time
from knowbound.traces.dialogue import (
    Message,
    ToolRequest,
    ToolResult,
    as_input,
    as_text,
    follow,
    is_error_report,
    text_in,
)
from knowbound.traces.outcome import REFUSED, STILL_RUNNING, failure
from knowbound.traces.registry import Identity
from knowbound.traces.source import Tally
from knowbound.traces.values import dicts, first_value, read_values, token_count

_WORDS = re.compile(r"<(task|user_message|feedback|answer|user_input)\b[^<>]{0,200}>")
_WORDS_KINDS = 5
_RESULT = re.compile(r"\[(\w+)(?: for .*?)?\] Result:\n?", re.DOTALL)
_FOLDER = re.compile(r"# Current (?:Working|Workspace) Directory \((.{1,1000}?)\) Files")
_OF_RESULTS = {"subagents": "use_subagents"}  # tools whose results have another name
_EXIT_CODE = re.compile(
    r"\s*\[?Command (?:executed successfully|failed|exited)[^\n]{0,20}?(?:exit )?code (-?\d{1,5})"
    r"\)?[.\]]*\s*(?:Output:\n|\[stderr\]\n)?"
)
_RUNS_ON = re.compile(r"\s*Command is still running")
_DENIED = re.compile(r"\s*The user denied this operation")
_FAILED = re.compile(r"\s*The tool execution failed|\s*Error (?:reading|executing|searching|listing|writing)\b")


class Cline:
    """The reader of Cline sessions."""

    name = "cline"

    def identify(self, head: bytes) -> Identity | None:
        """Recognise the session of the command line by its keys, a task by the elements around the user's words."""
        value = first_value(head)
        if isinstance(value, dict):
            if "workspace_root" in value and text_in(value, "session_id"):
                return Identity(text_in(value, "session_id"), time=text_in(value, "started_at"))
            is_cli = isinstance(value.get("messages"), list) and "agent" in value
            return Identity(text_in(value, "sessionId")) if is_cli and text_in(value, "sessionId") else None
        first = value[0] if isinstance(value, list) and value and isinstance(value[0], dict) else {}
        blocks = dicts(first.get("content"))
        text = text_in(blocks[0], "text") if blocks else ""
        is_task = first.get("role") == "user" and text.startswith("<task>")
        return Identity("", time=iso_time(first.get("ts"), 1000)) if is_task else None

    def read(self, files: Sequence[Path], sidechains: dict[str, Path], tally: Tally) -> Iterator[Event]:
        """Yield the events of one session."""
        about: dict[str, Any] = {}
        listed: list[tuple[Path, dict[str, Any]]] = []
        for path in files:
            for number, value in read_values(path, tally):
                if isinstance(value, list):
                    listed.append((path, {"messages": value}))
                elif isinstance(value, dict) and isinstance(value.get("messages"), list):
                    listed.append((path, value))
                elif isinstance(value, dict) and "workspace_root" in value:
                    about = value
                else:
                    tally.skip(str(path), number, "foreign")
        for path, value in listed:
            raws = dicts(value["messages"])
            session = text_in(value, "sessionId") or text_in(about, "session_id") or path.parent.name
            folder = text_in(about, "cwd") or _folder(raws)
            yield Start(session, Cline.name, folder, time=iso_time(raws[0].get("ts"), 1000) if raws else "")
            yield from follow(_messages(raws), str(path))


def _folder(raws: list[dict[str, Any]]) -> str:
    """Return the folder that the client tells the model in its first message."""
    for raw in raws[:1]:
        for block in dicts(raw.get("content")):
            if found := _FOLDER.search(text_in(block, "text")):
                return found[1]
    return ""


def _messages(raws: list[dict[str, Any]]) -> Iterator[Message]:
    for line, raw in enumerate(raws, 1):
        id_, time = text_in(raw, "id") or f"M{line}", iso_time(raw.get("ts"), 1000)
        content = raw.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else dicts(content)
        if raw.get("role") == "assistant":
            texts = tuple(text for block in blocks if (text := _text(block)).strip())
            asked = tuple(_request(block) for block in blocks if block.get("type") == "tool_use")
            model = text_in(as_input(raw.get("modelInfo")), "modelId", "id")
            yield Message("assistant", id_, texts, asked, (), False, time, line, _new_tokens(raw.get("metrics")), model)
            continue
        results, words, others = list[ToolResult](), list[str](), list[str]()
        for block in blocks:
            text = _text(block)
            if block.get("type") == "tool_result":
                results.append(_result_of_block(block))
            elif found := _RESULT.match(text):
                results.append(_result("", text[found.end() :], _OF_RESULTS.get(found[1], found[1])))
            said = list(_own_words(text))
            words += said
            others += [text] if text.strip() and not said and not _RESULT.match(text) else []
        yield Message("tool", id_, tuple(others), (), tuple(results), False, time, line)
        if words:
            yield Message("user", id_, tuple(words), time=time, line=line)


def _own_words(text: str) -> Iterator[str]:
    """Yield what stands in the elements of the user's words."""
    at, unclosed = 0, set[str]()
    while len(unclosed) < _WORDS_KINDS and (opened := _WORDS.search(text, at)):
        at = opened.end()
        end = -1 if opened[1] in unclosed else text.find(f"</{opened[1]}>", at)
        if end < 0:
            unclosed.add(opened[1])
        elif words := text[at:end].strip():
            yield words
        at = max(at, end)


def _text(block: dict[str, Any]) -> str:
    return text_in(block, "text") if block.get("type") == "text" else ""


def _request(block: dict[str, Any]) -> ToolRequest:
    """Return a call; files of a list are its paths."""
    input_ = as_input(block.get("input"))
    paths = [text_in(one, "path") for one in dicts(input_.get("files"))]
    return ToolRequest(text_in(block, "id"), text_in(block, "name"), {**input_, "paths": paths} if paths else input_)


def _result_of_block(block: dict[str, Any]) -> ToolResult:
    parts = [one for one in dicts(block.get("content")) if "success" in one]
    id_, name = text_in(block, "tool_use_id"), text_in(block, "name")
    if not parts:
        text = as_text(block.get("content"))
        return _result(id_, text, name, is_error=block.get("is_error") is True)
    text = "\n".join(as_text(one.get("result")) or text_in(one, "error") for one in parts)
    return _result(id_, text, name, is_error=not any(one["success"] is True for one in parts))


def _result(id_: str, text: str, name: str, *, is_error: bool | None = None) -> ToolResult:
    """Return a result with the outcome that the client's own words say."""
    code, outcome = _EXIT_CODE.match(text), None
    if _DENIED.match(text):
        outcome = REFUSED
    elif _RUNS_ON.match(text):
        outcome = STILL_RUNNING
    elif _FAILED.match(text) and code is None:
        outcome = failure(text)
    if code is not None:
        return ToolResult(id_, text[code.end() :], False, name, int(code[1]), outcome)
    failed = is_error if is_error is not None else is_error_report(text)
    return ToolResult(id_, text, failed and outcome is None, name, None, outcome)


def _new_tokens(raw: object) -> int | None:
    """Return the tokens that were written, and those read for the first time."""
    about = as_input(raw)
    about = as_input(about.get("tokens")) or about
    read = token_count(about.get("prompt", about.get("inputTokens")))
    written = token_count(about.get("completion", about.get("outputTokens")))
    if read is None or written is None:
        return None
    cached = token_count(about.get("cached", about.get("cacheReadTokens"))) or 0
    return max(0, read - cached) + written
