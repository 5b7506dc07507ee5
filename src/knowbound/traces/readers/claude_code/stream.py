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

from knowbound.core.trace import AgentText, Break, Broken, Event, Prompt, Start, Step
from knowbound.text.redact import cut
from knowbound.traces.dialogue import MAX_REASON, as_input, text_in
from knowbound.traces.readers.claude_code.lines import TranscriptLine, flat_text
from knowbound.traces.readers.claude_code.transcript import Session
from knowbound.traces.registry import Identity, RunUsage
from knowbound.traces.source import Tally
from knowbound.traces.values import dicts, first_value, lenient, lines_of_head, read_values, token_count

UNFINISHED = "the stream ends before its result"
_MESSAGES = frozenset({"assistant", "user"})
_NOTIFICATION = "<task-notification>"
_SKILL_TEXT = "Base directory for this skill: "  # older clients do not mark it
_CURSOR_TYPES = frozenset({"tool_call", "thinking"})  # lines of another client with a similar stream
_MOST_USD = 1_000_000  # a larger number is no cost


_Line = dict[str, Any]


def _has_failed(line: _Line) -> bool:
    """Report whether a result says that the agent failed."""
    return line.get("is_error") is True or text_in(line, "subtype").startswith("error")


class ClaudeStream:
    """The reader of the output of `claude -p`."""

    name = "claude-stream"

    def identify(self, head: bytes) -> Identity | None:
        """Recognise the line types with `session_id`; a transcript has `sessionId`."""
        if b'"session_id"' not in head:
            return None  # a quick answer: this reader is asked before the reader of transcripts, which are more common
        found: Identity | None = None
        for line in _lines_of_head(head):
            if text_in(line, "sessionId") or text_in(line, "type") in _CURSOR_TYPES:
                return None
            if found is None and _is_stream_line(line):
                found = Identity(text_in(line, "session_id"), time=text_in(line, "timestamp"))
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
                spent = _usage_of_result(value, spent.model)
            elif value.get("subtype") == "init" and isinstance(value.get("model"), str):
                spent = msgspec.structs.replace(spent, model=value["model"])
        return spent


class _StreamRun:
    """State of a stream that is being read: its lines go to the session of a transcript."""

    def __init__(self, tally: Tally) -> None:
        self.tally = tally
        self.session = Session(tally, {}, ClaudeStream.name)
        self.sub_agents: dict[str, str] = {}  # call that started it → sub-agent
        self.main_agent_texts: list[str] = []  # since the last result, without spaces
        self.is_open = False  # a message came after the last result
        self.wants_prompt = True  # the next turn has no prompt yet

    def events(self, files: Sequence[Path]) -> Iterator[Event]:
        number = 0
        for file in files:
            self.session.path = str(file)
            for number, value in _values(file, self.tally):
                self._line(value, number)
                yield from self.session.hand_on()
        self.session.flush()
        if self.is_open:
            self.session.out.append(Broken(UNFINISHED, number, Break.CUT_OFF))
        yield from self.session.hand_on()

    def _line(self, line: _Line, number: int) -> None:
        """Take a line by its type; lines of other types and other lines of the system are left out."""
        kind, subtype = text_in(line, "type"), text_in(line, "subtype")
        if kind in _MESSAGES and isinstance(line.get("message"), dict):
            self._message(kind, line, number)
        elif kind == "result":
            self._result(line, number)
        elif kind != "system":  # the types below are subtypes of it
            return
        elif subtype == "init":
            self.wants_prompt = self.wants_prompt or not self.is_open  # else it belongs to a turn that goes on
            self._start(line)
        elif subtype == "hook_response" and not line.get("exit_code"):
            event = text_in(line, "hook_event")
            printed = {"type": "hook_success", "hookEvent": event, "stdout": text_in(line, "stdout")}
            self.session.attachment(printed, number, is_for_next_prompt=event == "UserPromptSubmit")
        elif subtype == "task_started" and text_in(line, "task_id"):
            self.sub_agents[text_in(line, "tool_use_id")] = text_in(line, "task_id")

    def _start(self, line: _Line) -> None:
        """Start the session with its folder; the client repeats this line in each turn."""
        id_, self.session.folder = text_in(line, "session_id"), text_in(line, "cwd")
        self.session.session = id_ or "stream"
        version, time = text_in(line, "claude_code_version"), text_in(line, "timestamp")
        self.session.out.append(Start(id_, ClaudeStream.name, self.session.folder, version=version, time=time))

    def _message(self, kind: str, line: _Line, number: int) -> None:
        """Hand a message on to the session, as the line of a transcript that it would be."""
        fields = {
            "type": kind, "sessionId": line.get("session_id"), "message": line["message"], "uuid": line.get("uuid"),
            "timestamp": line.get("timestamp"), "toolUseResult": line.get("tool_use_result"),
        }  # fmt: skip
        transcript_line = lenient(TranscriptLine, {name: value for name, value in fields.items() if value is not None})
        message = transcript_line.message
        assert message is not None
        content = message.content
        text = content if isinstance(content, str) else "\n".join(block.text or "" for block in content or ())
        transcript_line.is_meta = line.get("isSynthetic") is True or text.startswith(_SKILL_TEXT) or None
        parent = text_in(line, "parent_tool_use_id")
        agent_id = self.sub_agents.get(parent, parent)  # its call stands for a sub-agent without an id
        if kind == "assistant":
            message.id = message.id or transcript_line.uuid or f"L{number}"
            if not agent_id and message.model != "<synthetic>":  # words of the main agent's model
                self.main_agent_texts.append(_without_spaces(text))
            self._begin_turn_without_prompt(line, number)
        elif text.startswith(_NOTIFICATION):
            self.wants_prompt = False  # work in the background ended: its turn goes on
        self.is_open = True
        self.session.line(transcript_line, b"", number, agent_id)  # bytes are only searched in progress lines
        if any(isinstance(event, Prompt) for event in self.session.out):
            self.wants_prompt = False

    def _begin_turn_without_prompt(self, line: _Line, number: int) -> None:
        """Begin the turn with an empty prompt, unless it has its prompt."""
        if self.wants_prompt:
            self.wants_prompt = False
            self.session.prompt(Prompt(f"L{number}", "", text_in(line, "timestamp"), self.session.path, number))

    def _result(self, line: _Line, number: int) -> None:
        """Take the last line of a run: its failure, or the answer if no line before had it (`--output-format json`)."""
        session, result, subtype = self.session, text_in(line, "result"), text_in(line, "subtype")
        session.flush()
        if not session.session:
            self._start(line)
        if _has_failed(line):
            reason = cut(result or flat_text(line.get("errors")) or subtype or "the agent failed", MAX_REASON)
            # Some versions name an exceeded budget only in the reason.
            is_budget = subtype == "error_max_budget_usd" or "maximum budget" in reason
            session.out.append(Broken(reason, number, Break.BUDGET if is_budget else Break.FAILED))
        elif result and _without_spaces(result) not in "".join(self.main_agent_texts):
            self._begin_turn_without_prompt(line, number)
            id_ = text_in(line, "uuid") or f"L{number}"
            said = (AgentText(id_, result, number),)
            session.out.append(Step(id_, said, (), "", text_in(line, "timestamp"), session.path, number))
        self.main_agent_texts, self.is_open = [], False


def _without_spaces(text: str) -> str:
    return "".join(text.split())


def _values(file: Path, tally: Tally) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the lines of a stream, or the entries of the list that `--output-format json --verbose` prints."""
    for number, value in read_values(file, tally):
        if isinstance(value, list):
            yield from enumerate(dicts(value), 1)
        elif isinstance(value, dict):
            yield number, value


def _lines_of_head(head: bytes) -> Iterator[_Line]:
    """Yield the lines in the head of a file, also of a list or of an object over several lines."""
    first = first_value(head)
    if isinstance(first, list):
        yield from dicts(first)
        return
    if isinstance(first, dict):  # an object over several lines
        yield first
    yield from lines_of_head(head)


def _is_stream_line(line: _Line) -> bool:
    """Report whether a line is one of this format, by its type and the fields that belong to it."""
    kind = text_in(line, "type")
    if not text_in(line, "session_id"):
        return False
    if kind in _MESSAGES:
        return isinstance(line.get("message"), dict)
    if kind == "result":
        return line.get("subtype") == "success" or _has_failed(line)
    return kind == "system" and bool(text_in(line, "subtype"))


def _usage_of_result(result: dict[str, Any], model: str) -> RunUsage:
    """Return the cost in a result; figures that are no plausible numbers are left out."""
    usage = as_input(result.get("usage"))
    read = [token_count(usage.get(f"{kind}input_tokens")) for kind in ("", "cache_creation_", "cache_read_")]
    usd = result.get("total_cost_usd")
    if not isinstance(usd, int | float) or isinstance(usd, bool) or not 0 <= usd <= _MOST_USD:
        usd = None
    return RunUsage(
        model=model,
        usd=float(usd) if usd is not None else None,
        tokens_in=sum(part or 0 for part in read) if read[0] is not None else None,
        tokens_out=token_count(usage.get("output_tokens")),
    )
