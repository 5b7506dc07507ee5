"""Output of `claude -p` with `--output-format stream-json --verbose` or `json`: clients 1.0 to 2.1.

- Lines are as in a transcript, with `session_id`; `tool_use_result` (not in older clients) is a transcript's
  `toolUseResult`. `json` prints the last line alone, or with `--verbose` all lines as one list.
- A sub-agent's lines have `parent_tool_use_id`; newer clients name the sub-agent in `task_started`.
- `result` ends the run, with its cost and its failure (`is_error`, a `subtype` that starts with `error`). Work in the
  background may go on after it, to a `result` of its own.
- The stream has no prompts, unless the client repeats them (`--replay-user-messages`). Text of the client in the
  user's role is marked `isSynthetic`. A turn begins with an `init` line and ends with its `result`; without a prompt in
  the stream it begins with an empty prompt.
- With `--include-hook-events` the output of hooks (`hook_response`) comes before the `init` of their turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Raw, field

from knowbound.core.trace import AgentText, Break, Broken, Event, Prompt, Start, Step
from knowbound.text.redact import cut
from knowbound.traces.dialogue import MAX_REASON
from knowbound.traces.readers.claude_code.lines import ApiMessage, TranscriptLine, text_of
from knowbound.traces.readers.claude_code.transcript import Session
from knowbound.traces.registry import Identity, RunUsage
from knowbound.traces.source import Tally
from knowbound.traces.values import (
    NOTHING,
    dicts,
    first_value,
    lenient,
    line_decoder,
    lines_of_head,
    read_values,
    token_count,
)

UNFINISHED = "the stream ends before its result"
_MESSAGES = frozenset({"assistant", "user"})
_NOTIFICATION = "<task-notification>"
_SKILL_TEXT = "Base directory for this skill: "  # older clients do not mark it
_CURSOR = frozenset({"tool_call", "thinking"})  # lines of another client with a similar stream
_MOST_USD = 1_000_000  # a larger number is no cost


class _StreamLine(msgspec.Struct, gc=False):
    type: str = ""
    subtype: str | None = None
    session_id: str | None = None
    transcript_session: str | None = field(default=None, name="sessionId")
    parent_tool_use_id: str | None = None
    uuid: str | None = None
    timestamp: str | None = None
    message: ApiMessage | None = None
    tool_use_result: Raw = NOTHING
    is_synthetic: bool | None = field(default=None, name="isSynthetic")
    cwd: str | None = None
    claude_code_version: str | None = None
    task_id: str | None = None
    tool_use_id: str | None = None
    is_error: bool | None = None
    result: str | None = None
    errors: Raw = NOTHING
    hook_event: str | None = None
    stdout: str | None = None
    exit_code: int | None = None

    @property
    def failed(self) -> bool:
        """True if a result says that the agent failed."""
        return bool(self.is_error) or (self.subtype or "").startswith("error")

    @property
    def reason(self) -> str:
        """Reason of the failure, in the client's words."""
        return cut(self.result or text_of(self.errors) or self.subtype or "the agent failed", MAX_REASON)

    @property
    def how(self) -> Break:
        """ToolKind of the failure: the subtype names an exceeded budget; some versions only name it in the reason."""
        is_budget = self.subtype == "error_max_budget_usd" or "maximum budget" in self.reason
        return Break.BUDGET if is_budget else Break.FAILED


_decode_line = line_decoder(_StreamLine)


class ClaudeStream:
    """The reader of the output of `claude -p`."""

    name = "claude-stream"

    def identify(self, head: bytes) -> Identity | None:
        """Recognise the line types with `session_id`; a transcript has `sessionId`."""
        if b'"session_id"' not in head:
            return None  # a quick answer: this reader is asked before the reader of transcripts, which are more common
        found: Identity | None = None
        for line in _lines_of(head):
            if line.transcript_session is not None or line.type in _CURSOR:
                return None
            if found is None and _is_ours(line):
                found = Identity(line.session_id or "", "", line.timestamp or "")
        return found

    def read(self, files: Sequence[Path], sidechains: dict[str, Path], tally: Tally) -> Iterator[Event]:
        """Yield the events of one session; sub-agents write into the same stream."""
        return _StreamRun(tally).events(files)

    def prompt_lines(self, session: str, prompt: str) -> bytes:
        """Return the prompt as the client itself repeats it."""
        message = {"role": "user", "content": prompt}
        return msgspec.json.encode({"type": "user", "session_id": session, "message": message}) + b"\n"

    def spent(self, file: Path) -> RunUsage:
        """Return the figures of the last result, which are the total of the run."""
        spent = RunUsage()
        for _, value in _values(file, Tally()):
            if value.get("type") == "result":
                spent = _spent(value, spent.model)
            elif value.get("subtype") == "init" and isinstance(value.get("model"), str):
                spent = msgspec.structs.replace(spent, model=value["model"])
        return spent


class _StreamRun:
    """State of a stream that is being read: its lines go to the session of a transcript."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        self.session = Session(tally, {}, ClaudeStream.name)
        self.sub_agents: dict[str, str] = {}  # call that started it → sub-agent
        self.said: list[str] = []  # by the main agent, since the last result, without spaces
        self.is_open = False  # a message came after the last result
        self.wants_prompt = True  # the next turn has no prompt yet

    def events(self, files: Sequence[Path]) -> Iterator[Event]:
        number = 0
        for file in files:
            self.session.path = str(file)
            for number, value in _values(file, self.tally):
                self._line(lenient(_StreamLine, value), number)
                yield from self.session.hand_on()
        self.session.flush()
        if self.is_open:
            self.session.out.append(Broken(UNFINISHED, number, Break.CUT_OFF))
        yield from self.session.hand_on()

    def _line(self, line: _StreamLine, number: int) -> None:
        if line.type in _MESSAGES and line.message is not None:
            self._message(line, line.message, number)
        elif line.type == "result":
            self._result(line, number)
        elif line.type != "system":
            return
        elif line.subtype == "init":
            self.wants_prompt = self.wants_prompt or not self.is_open
            self._start(line)
        elif line.subtype == "hook_response" and not line.exit_code:
            event = line.hook_event or ""
            printed = {"type": "hook_success", "hookEvent": event, "stdout": line.stdout or ""}
            self.session.attachment(printed, number, holds=event == "UserPromptSubmit")
        elif line.subtype == "task_started" and line.task_id and line.tool_use_id:
            self.sub_agents[line.tool_use_id] = line.task_id

    def _start(self, line: _StreamLine) -> None:
        """Start the session with its folder; the client repeats this line in each turn."""
        self.session.session = line.session_id or "stream"
        self.session.folder = folder = line.cwd or ""
        version = line.claude_code_version or ""
        self.session.out.append(Start(line.session_id or "", ClaudeStream.name, folder, version, line.timestamp or ""))

    def _message(self, line: _StreamLine, message: ApiMessage, number: int) -> None:
        content = message.content
        text = content if isinstance(content, str) else "\n".join(block.text or "" for block in content or ())
        parent = line.parent_tool_use_id or ""
        agent_id = self.sub_agents.get(parent, parent)
        if line.type == "assistant":
            message.id = message.id or line.uuid or f"L{number}"
            self.said += [_unspaced(text)] if not agent_id and message.model != "<synthetic>" else []
            self._need_prompt(line, number)
        elif text.startswith(_NOTIFICATION):
            self.wants_prompt = False  # work in the background ended: its turn goes on
        self.is_open = True
        shown = TranscriptLine(
            type=line.type,
            session_id=line.session_id,
            message=message,
            is_meta=line.is_synthetic or text.startswith(_SKILL_TEXT) or None,
            uuid=line.uuid,
            timestamp=line.timestamp,
            tool_use_result=line.tool_use_result,
        )
        self.session.line(shown, b"", number, agent_id)
        if any(isinstance(event, Prompt) for event in self.session.out):
            self.wants_prompt = False

    def _need_prompt(self, line: _StreamLine, number: int) -> None:
        """Begin the turn with an empty prompt if the agent answers and no prompt has come."""
        if self.wants_prompt:
            self.wants_prompt = False
            self.session.prompt(Prompt(f"L{number}", "", line.timestamp or "", self.session.path, number))

    def _result(self, line: _StreamLine, number: int) -> None:
        session = self.session
        session.flush()
        if not session.session:
            self._start(line)
        if line.failed:
            session.out.append(Broken(line.reason, number, line.how))
        elif line.result and _unspaced(line.result) not in "".join(self.said):
            # The only line of `--output-format json`.
            self._need_prompt(line, number)
            id_ = line.uuid or f"L{number}"
            said = (AgentText(id_, line.result, number),)
            session.out.append(Step(id_, said, (), "", line.timestamp or "", session.path, number))
        self.said, self.is_open = [], False


def _unspaced(text: str) -> str:
    return "".join(text.split())


def _values(file: Path, tally: Tally) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the lines of a stream, or the entries of the list that `--output-format json --verbose` prints."""
    for number, value in read_values(file, tally):
        if isinstance(value, list):
            yield from enumerate(dicts(value), 1)
        elif isinstance(value, dict):
            yield number, value


def _lines_of(head: bytes) -> Iterator[_StreamLine]:
    first = first_value(head)
    if isinstance(first, list):
        yield from (lenient(_StreamLine, value) for value in dicts(first))
        return
    if isinstance(first, dict):  # an object over several lines
        yield lenient(_StreamLine, first)
    yield from lines_of_head(head, _decode_line)


def _is_ours(line: _StreamLine) -> bool:
    if not line.session_id:
        return False
    if line.type in _MESSAGES:
        return line.message is not None
    if line.type == "result":
        return line.subtype == "success" or line.failed
    return line.type == "system" and bool(line.subtype)


def _spent(result: dict[str, Any], model: str) -> RunUsage:
    given = result.get("usage")
    usage = given if isinstance(given, dict) else {}
    read = [token_count(usage.get(f"{kind}input_tokens")) for kind in ("", "cache_creation_", "cache_read_")]
    usd = result.get("total_cost_usd")
    if not isinstance(usd, int | float) or isinstance(usd, bool) or not 0 <= usd <= _MOST_USD:
        usd = None
    return RunUsage(
        model,
        float(usd) if usd is not None else None,
        sum(part or 0 for part in read) if read[0] is not None else None,
        token_count(usage.get("output_tokens")),
    )
