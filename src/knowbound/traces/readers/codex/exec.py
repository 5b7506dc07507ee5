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

from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from knowbound.core.trace import AgentText, Break, Broken, Event, Prompt, Start, ToolCall, ToolKind
from knowbound.text.redact import cut
from knowbound.traces.calls.finish import MAX_PATHS, PATCH_FAILED, finish_call
from knowbound.traces.calls.outcome import REFUSED, SUCCESS
from knowbound.traces.dialogue import MAX_REASON, OpenStep, PendingCall, as_input, as_text, text_in
from knowbound.traces.readers.codex.lines import web_search_call
from knowbound.traces.registry import Identity, RunUsage
from knowbound.traces.source import Tally
from knowbound.traces.values import dicts, lines_of_head, read_objects, token_count

UNFINISHED = "the stream ends within a turn"
_Item = dict[str, Any]


class CodexExec:
    """The reader of the output of `codex exec --json`."""

    name = "codex-exec"

    def identify(self, head: bytes) -> Identity | None:
        """Recognise `thread.started`, which names the session, or items."""
        found: Identity | None = None
        for line in lines_of_head(head):
            if line.get("type") == "thread.started" and text_in(line, "thread_id"):
                return Identity(text_in(line, "thread_id"))
            if line.get("type") in ("item.started", "item.updated", "item.completed"):
                found = found or (Identity("") if text_in(as_input(line.get("item")), "type") in _ITEMS else None)
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
        for _, line in read_objects(file, Tally()):
            if usage := as_input(line.get("usage")):
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
        self.unfinished_calls: set[str] = set()  # calls of the response that have not ended
        self.is_open = False  # within a turn
        self.has_prompt = False  # the turn has its prompt
        self.error = ""  # the last error of the turn

    def events(self) -> Iterator[Event]:
        number = 0
        for number, line in read_objects(Path(self.path), self.tally):
            yield from self._line(line, number)
        yield from self._complete()
        if self.is_open:
            yield Broken(self.error, number) if self.error else Broken(UNFINISHED, number, Break.CUT_OFF)

    def _line(self, line: dict[str, Any], number: int) -> Iterator[Event]:
        """Take a line: the start of the thread, the start or end of a turn, an error, or an item."""
        kind, item = text_in(line, "type"), line.get("item")
        if kind == "thread.started" and self.session is None:
            self.session = text_in(line, "thread_id")
            yield Start(self.session, CodexExec.name)
        elif kind == "turn.started":
            self.is_open, self.error = True, ""
        elif kind == "error":
            self.is_open, self.error = True, _reason(line.get("message"))
        elif kind in ("turn.completed", "turn.failed"):
            yield from self._complete()
            if kind == "turn.failed":
                yield Broken(_reason(line.get("error")) or self.error or "the turn failed", number)
            self.is_open = self.has_prompt = False
        elif isinstance(item, dict) and kind.startswith("item."):
            yield from self._item(item, kind == "item.completed", number)

    def _item(self, item: _Item, completed: bool, number: int) -> Iterator[Event]:
        """Take an item as it starts, changes or completes; texts count only when they are complete."""
        id_, kind, text = text_in(item, "id") or f"L{number}", text_in(item, "type"), text_in(item, "text")
        if kind == "user_message" and completed:
            yield from self._complete()
            self.is_open = True
            if text.strip():
                self.has_prompt = True
                yield Prompt(id_, text.strip(), "", self.path, number)
        elif kind == "agent_message" and completed and text.strip():
            response = yield from self._responding(id_, number)
            response.said.append(AgentText(id_, text, number))
        elif kind in _CALLS:
            earlier_call = self.response.calls.get(id_) if self.response else None
            response = self.response if self.response and earlier_call else (yield from self._responding(id_, number))
            response.calls[id_] = _CALLS[kind](id_, item, completed, earlier_call.line if earlier_call else number)
            (self.unfinished_calls.discard if completed else self.unfinished_calls.add)(id_)

    def _responding(self, id_: str, number: int) -> Generator[Event, None, OpenStep]:
        """Return the response of an item: the one whose calls still run, or a new one."""
        self.is_open = True
        if not self.has_prompt:
            self.has_prompt = True
            yield Prompt(f"L{number}", "", "", self.path, number)  # the stream itself has no prompts
        if self.response is not None and self.response.calls and not self.unfinished_calls:
            yield from self._complete()
        if self.response is None:
            self.response = OpenStep(id_, "", self.path, number)
        return self.response

    def _complete(self) -> Iterator[Event]:
        """Yield the step of the open response, if there is one."""
        response, self.response = self.response, None
        self.unfinished_calls = set()
        if response is not None:
            yield response.step()


def _reason(value: object) -> str:
    """Return the message of an error, which may be in an object."""
    return cut(text_in(value, "message") if isinstance(value, dict) else as_text(value), MAX_REASON)


def _web_search(id_: str, item: _Item, completed: bool, line: int) -> ToolCall:
    # The query is empty until the search has run; then the action has it, too.
    request = PendingCall("web_search", {**as_input(item.get("action")), "query": text_in(item, "query")}, line)
    return web_search_call(id_, request, "completed" if completed else None)


def _sub_agent_call(id_: str, item: _Item, completed: bool, line: int) -> ToolCall:
    """Return a call that starts a sub-agent, or sends it something."""
    tool, failed, output = text_in(item, "tool"), item.get("status") == "failed", "" if completed else None
    input_ = {"prompt": text_in(item, "prompt")}
    call = finish_call(id_, tool or "collab", input_, output, is_error=failed, kind=ToolKind.OTHER, line=line)
    started = item.get("receiver_thread_ids") or [""]
    return replace(call, agent_id=str(started[0]) if tool == "spawn_agent" and isinstance(started, list) else "")


def _command(id_: str, item: _Item, completed: bool, line: int) -> ToolCall:
    """Return a command line; its exit code decides, where there is one."""
    status, code = item.get("status"), item.get("exit_code")
    failed = status == "failed" or None  # otherwise the exit status decides
    return finish_call(
        id_,
        "exec_command",
        {"cmd": text_in(item, "command")},
        text_in(item, "aggregated_output") if completed else None,
        is_error=failed if not isinstance(code, int) else None,
        exit_code=code if isinstance(code, int) else None,
        outcome=REFUSED if status == "declined" else None,
        line=line,
    )


def _mcp(id_: str, item: _Item, completed: bool, line: int) -> ToolCall:
    """Return a call of an MCP tool; a result may report an error itself."""
    result, error = as_input(item.get("result")), _reason(item.get("error"))
    text = error or as_text(result.get("content"))
    failed = bool(error) or item.get("status") == "failed" or result.get("isError") is True
    server, tool = text_in(item, "server"), text_in(item, "tool")
    name = f"mcp__{server}__{tool}" if server else tool or "mcp"
    input_ = as_input(item.get("arguments"))
    return finish_call(id_, name, input_, text if completed else None, is_error=failed, line=line)


def _change(id_: str, item: _Item, completed: bool, line: int) -> ToolCall:
    """Return an edit by patch with all its files."""
    changes = dicts(item.get("changes"))
    files = tuple(dict.fromkeys(path for change in changes if (path := text_in(change, "path"))))[:MAX_PATHS]
    has_failed = item.get("status") in ("failed", "declined")
    input_ = {"path": files[0] if files else ""}
    outcome = (PATCH_FAILED if has_failed else SUCCESS) if completed else None
    call = finish_call(id_, "apply_patch", input_, "" if completed else None, outcome=outcome, line=line)
    return call if has_failed or not completed else replace(call, paths=files)


_CALLS: dict[str, Callable[[str, _Item, bool, int], ToolCall]] = {
    "command_execution": _command,
    "mcp_tool_call": _mcp,
    "file_change": _change,
    "web_search": _web_search,
    "collab_tool_call": _sub_agent_call,
}
_ITEMS = frozenset({*_CALLS, "agent_message", "reasoning", "plan", "todo_list", "error", "user_message"})
