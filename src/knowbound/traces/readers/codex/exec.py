"""Output of `codex exec --json`, clients 0.44 and later: the turns of a thread as items that start and complete.

- No line names the model's response of an item. The model waits for all calls of a step, so a step ends before the
  next one begins.
- A command has its output and exit status, and still its shell (`/bin/bash -lc '…'`).
- `error` alone is no failure: clients write it for every attempt to reconnect. `turn.failed` ends a turn, and so does
  the end of the stream within a turn. An item of type `error` is a warning.
- The stream has no prompts, no times and no text of hooks. A turn begins with `turn.started`; without a prompt in the
  stream it begins with an empty prompt.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Raw

from knowbound.core.trace import AgentText, Break, Broken, Event, Prompt, Start, ToolCall, ToolKind
from knowbound.text.redact import cut
from knowbound.traces.calls.finish import MAX_PATHS, PATCH_FAILED, finish_call
from knowbound.traces.calls.outcome import REFUSED, SUCCESS
from knowbound.traces.dialogue import MAX_REASON, OpenStep, PendingCall, as_input, as_text, text_in
from knowbound.traces.readers.codex.lines import searched_web
from knowbound.traces.registry import Identity, RunUsage
from knowbound.traces.source import Tally, read_lines
from knowbound.traces.values import (
    NOTHING,
    decoded_lines,
    dicts,
    line_decoder,
    lines_of_head,
    object_of,
    token_count,
    value_of,
)

UNFINISHED = "the stream ends within a turn"
_CALLS = frozenset({"command_execution", "mcp_tool_call", "file_change", "web_search", "collab_tool_call"})
_ITEMS = _CALLS | {"agent_message", "reasoning", "plan", "todo_list", "error", "user_message"}


class _ExecItem(msgspec.Struct, gc=False):
    id: str | None = None
    type: str = ""
    text: str | None = None
    command: str | None = None
    aggregated_output: str | None = None
    exit_code: int | None = None
    status: str | None = None
    changes: Raw = NOTHING
    server: str | None = None
    tool: str | None = None
    arguments: Raw = NOTHING
    result: Raw = NOTHING
    error: Raw = NOTHING
    query: str | None = None
    action: Raw = NOTHING
    prompt: str | None = None
    receiver_thread_ids: list[str] | None = None


class _ExecEvent(msgspec.Struct, gc=False):
    type: str = ""
    thread_id: str | None = None
    item: _ExecItem | None = None
    message: Raw = NOTHING
    error: Raw = NOTHING
    usage: Raw = NOTHING


_decode_line = line_decoder(_ExecEvent)


class CodexExec:
    """The reader of the output of `codex exec --json`."""

    name = "codex-exec"

    def identify(self, head: bytes) -> Identity | None:
        """Recognise `thread.started`, which names the session, or items."""
        found: Identity | None = None
        for line in lines_of_head(head, _decode_line):
            if line.type == "thread.started" and line.thread_id:
                return Identity(line.thread_id)
            if line.type in ("item.started", "item.updated", "item.completed") and line.item is not None:
                found = found or (Identity("") if line.item.type in _ITEMS else None)
        return found

    def read(self, files: Sequence[Path], sidechains: dict[str, Path], tally: Tally) -> Iterator[Event]:
        """Yield the events of one session. A resumed thread has several streams."""
        for file in files:
            yield from _Thread(str(file), tally).events()

    def prompt_lines(self, session: str, prompt: str) -> bytes:
        """Return the start of a thread with the prompt as an item, which the stream itself does not have."""
        item = {"id": "prompt", "type": "user_message", "text": prompt}
        lines = ({"type": "thread.started", "thread_id": session}, {"type": "item.completed", "item": item})
        return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)

    def spent(self, file: Path) -> RunUsage:
        """Return the tokens of the last turn, which are the total of the run; prices are not in the stream."""
        spent = RunUsage()
        for _, line in decoded_lines(file, Tally(), _decode_line):
            if usage := object_of(line.usage):
                spent = RunUsage(
                    tokens_in=token_count(usage.get("input_tokens")),
                    tokens_out=token_count(usage.get("output_tokens")),
                )
        return spent


class _Thread:
    """State of a stream that is being read."""

    def __init__(self, path: str, tally: Tally) -> None:
        self.path, self.tally = path, tally
        self.session: str | None = None
        self.response: OpenStep | None = None
        self.running: set[str] = set()  # calls of the response that have not ended
        self.is_open = False  # within a turn
        self.has_prompt = False  # the turn has its prompt
        self.error = ""  # the last error of the turn

    def events(self) -> Iterator[Event]:
        number = 0
        for number, raw in read_lines(Path(self.path), self.tally):
            try:
                line = _decode_line(raw)
            except ValueError as reason:
                self.tally.skip(self.path, number, str(reason))
                continue
            yield from self._line(line, number)
        yield from self._complete()
        if self.is_open:
            yield Broken(self.error, number) if self.error else Broken(UNFINISHED, number, Break.CUT_OFF)

    def _line(self, line: _ExecEvent, number: int) -> Iterator[Event]:
        if line.type == "thread.started" and self.session is None:
            self.session = line.thread_id or ""
            yield Start(self.session, CodexExec.name)
        elif line.type == "turn.started":
            self.is_open, self.error = True, ""
        elif line.type == "error":
            self.is_open, self.error = True, _reason(line.message)
        elif line.type in ("turn.completed", "turn.failed"):
            yield from self._complete()
            if line.type == "turn.failed":
                yield Broken(_reason(line.error) or self.error or "the turn failed", number)
            self.is_open = self.has_prompt = False
        elif line.item is not None and line.type.startswith("item."):
            yield from self._item(line.item, line.type == "item.completed", number)

    def _item(self, item: _ExecItem, completed: bool, number: int) -> Iterator[Event]:
        id_ = item.id or f"L{number}"
        if item.type == "user_message" and completed:
            yield from self._complete()
            self.is_open = True
            if item.text and item.text.strip():
                self.has_prompt = True
                yield Prompt(id_, item.text.strip(), "", self.path, number)
        elif item.type == "agent_message" and completed and item.text and item.text.strip():
            response = yield from self._responding(id_, number)
            response.said.append(AgentText(id_, item.text, number))
        elif item.type in _CALLS:
            known = self.response.calls.get(id_) if self.response else None
            response = self.response if self.response and known else (yield from self._responding(id_, number))
            response.calls[id_] = _call_of(id_, item, completed, known.line if known else number)
            (self.running.discard if completed else self.running.add)(id_)

    def _responding(self, id_: str, number: int) -> Generator[Event, None, OpenStep]:
        """Return the response of an item: the one whose calls still run, or a new one."""
        self.is_open = True
        if not self.has_prompt:
            self.has_prompt = True
            yield Prompt(f"L{number}", "", "", self.path, number)
        if self.response is not None and self.response.calls and not self.running:
            yield from self._complete()
        if self.response is None:
            self.response = OpenStep(id_, "", self.path, number)
        return self.response

    def _complete(self) -> Iterator[Event]:
        response, self.response = self.response, None
        self.running = set()
        if response is not None:
            yield response.step()


def _reason(raw: Raw) -> str:
    """Return the message of an error, which may be in an object."""
    value = value_of(raw)
    return cut(text_in(value, "message") if isinstance(value, dict) else as_text(value), MAX_REASON)


def _call_of(id_: str, item: _ExecItem, completed: bool, line: int) -> ToolCall:
    if item.type == "command_execution":
        return _command(id_, item, completed, line)
    if item.type == "mcp_tool_call":
        return _mcp(id_, item, completed, line)
    if item.type == "file_change":
        return _change(id_, item, completed, line)
    if item.type == "web_search":
        # The query is empty until the search has run; then the action has it, too.
        request = PendingCall("web_search", {**object_of(item.action), "query": item.query or ""}, line)
        return searched_web(id_, request, "completed" if completed else None)
    call = finish_call(
        id_,
        item.tool or "collab",
        {"prompt": item.prompt or ""},
        "" if completed else None,
        is_error=item.status == "failed",
        kind=ToolKind.OTHER,
        line=line,
    )
    started = item.receiver_thread_ids or [""]
    return msgspec.structs.replace(call, agent_id=started[0] if item.tool == "spawn_agent" else "")


def _command(id_: str, item: _ExecItem, completed: bool, line: int) -> ToolCall:
    outcome = REFUSED if item.status == "declined" else None
    failed = item.status == "failed" or None  # otherwise the exit status decides
    return finish_call(
        id_,
        "exec_command",
        {"cmd": item.command or ""},
        (item.aggregated_output or "") if completed else None,
        is_error=failed if item.exit_code is None else None,
        exit_code=item.exit_code,
        outcome=outcome,
        line=line,
    )


def _mcp(id_: str, item: _ExecItem, completed: bool, line: int) -> ToolCall:
    result, error = object_of(item.result), _reason(item.error)
    text = error or as_text(result.get("content"))
    failed = bool(error) or item.status == "failed" or result.get("isError") is True
    name = f"mcp__{item.server}__{item.tool or ''}" if item.server else item.tool or "mcp"
    input_ = as_input(value_of(item.arguments))
    return finish_call(id_, name, input_, text if completed else None, is_error=failed, line=line)


def _change(id_: str, item: _ExecItem, completed: bool, line: int) -> ToolCall:
    """Return an edit by patch with all its files."""
    changes = dicts(value_of(item.changes))
    files = tuple(dict.fromkeys(path for change in changes if (path := text_in(change, "path"))))[:MAX_PATHS]
    bad = item.status in ("failed", "declined")
    input_ = {"path": files[0] if files else ""}
    outcome = PATCH_FAILED if bad else SUCCESS
    call = finish_call(
        id_, "apply_patch", input_, "" if completed else None, outcome=outcome if completed else None, line=line
    )
    return call if bad or not completed else msgspec.structs.replace(call, paths=files)
