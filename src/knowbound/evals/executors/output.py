"""From what an agent's process left to its execution: the trace, the last words, how it ended, what it cost.

A stream that a reader recognises is the trace, with the prompt put before it where the stream lacks it. Anything
else is text: the answer of a conversation of two messages, which the reader of plain chats reads.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import msgspec

from knowbound.core.trace import Broken, Event, Prompt, Step
from knowbound.evals.executor import Ending, Execution, Task
from knowbound.evals.executors.agent_process import AgentExit
from knowbound.text.redact import redact
from knowbound.traces.readers.chat import Chat
from knowbound.traces.readers.claude_code import stream as claude_stream
from knowbound.traces.readers.codex import exec as codex_exec
from knowbound.traces.registry import Reader, recognise
from knowbound.traces.source import Tally, read_head
from knowbound.traces.stream import Spent, Stream

_CUT_OFF = frozenset({claude_stream.UNFINISHED, codex_exec.UNFINISHED})
_LAST_LINES = 5  # of the errors an agent printed
_MAX_PROBLEM = 1000


class Told(msgspec.Struct, frozen=True):
    """What a trace says of its run."""

    has_prompt: bool = False
    answer: str = ""
    broken: str = ""  # why the agent failed, when it did not go on after that


def execution_of(task: Task, ran: AgentExit) -> Execution:
    """What came of a process that ran for a task."""
    known = _recognised(ran.stdout)
    told, spent, trace = Told(), Spent(), ""
    if known is not None:
        reader, told = known
        trace = str(_with_prompt(reader, ran.stdout, task, told))
        spent = reader.spent(ran.stdout) if isinstance(reader, Stream) else spent
    elif (text := _text(ran.stdout)) and ran.status == 0:
        told = Told(answer=text)
        trace = str(write_chat(task, [{"role": "assistant", "content": text}]))
    ending, problem = _ending(ran, told, is_stream=known is not None)
    return Execution(
        ending, trace, told.answer, redact(problem)[:_MAX_PROBLEM], ran.seconds, spent.usd, spent.tokens_in,
        spent.tokens_out, spent.model,
    )  # fmt: skip


def write_chat(task: Task, messages: Sequence[object]) -> Path:
    """A conversation that the task's prompt begins, as a trace."""
    trace = task.output_dir / "trace.json"
    said = {"session_id": task.sample, "messages": [{"role": "user", "content": task.prompt}, *messages]}
    _write(trace, json.dumps(said, ensure_ascii=False, indent=1).encode("utf-8", "replace"))
    return trace


def _ending(ran: AgentExit, told: Told, *, is_stream: bool) -> tuple[Ending, str]:
    if ran.timed_out:
        return Ending.TIMEOUT, ran.problem
    if ran.status is None:
        return Ending.CRASHED, ran.problem
    if "error_max_budget_usd" in told.broken or "maximum budget" in told.broken:
        return Ending.BUDGET, told.broken
    if ran.status != 0:
        # Most agents that fail say why at the end of their stream, and print less useful things as errors.
        why = told.broken if told.broken and told.broken not in _CUT_OFF else _last_lines(ran.stderr)
        return Ending.CRASHED, f"exit status {ran.status}: {why}" if why else f"exit status {ran.status}"
    if told.broken:
        return (Ending.INCOMPLETE if told.broken in _CUT_OFF else Ending.CRASHED), told.broken
    if not told.answer.strip():
        return (Ending.INCOMPLETE, "its stream holds no answer") if is_stream else (Ending.CRASHED, "it said nothing")
    return Ending.DONE, ""


def _recognised(stdout: Path) -> tuple[Reader, Told] | None:
    """The reader of a stream, and what the stream says; None where it is text, or JSON without a step in it."""
    try:
        known = recognise(read_head(stdout))
    except Exception:  # nothing there, or a head that only looks like an archive
        return None
    if known is None:
        return None
    events = list(known[0].read([stdout], {}, Tally()))
    if not any(isinstance(event, Step | Broken) for event in events):
        return None
    return known[0], _told(events)


def _told(events: Sequence[Event]) -> Told:
    has_prompt, answer, broken = False, "", ""
    for event in events:
        if isinstance(event, Prompt):
            has_prompt = True
        elif isinstance(event, Broken):
            broken = event.reason or "the agent failed"
        elif isinstance(event, Step):
            broken = ""
            if event.said and not event.agent_id:
                answer = "\n".join(said.text for said in event.said)
    return Told(has_prompt, answer, broken)


def _with_prompt(reader: Reader, stdout: Path, task: Task, told: Told) -> Path:
    """The stream as a trace that begins with the prompt; the stream itself where it has one or cannot hold it."""
    if told.has_prompt:
        return stdout
    content = stdout.read_bytes()
    prompt = task.prompt.encode("utf-8", "replace").decode()  # lone surrogates become "?"
    if isinstance(reader, Stream):
        identity = reader.identify(read_head(stdout))
        session = identity.session if identity else ""
        content = reader.prompt_lines(session or task.sample, prompt) + content
    elif isinstance(reader, Chat):
        content = _chat_with_prompt(content, prompt)
    else:
        return stdout
    trace = task.output_dir / "trace.jsonl"
    _write(trace, content)
    return trace


def _chat_with_prompt(content: bytes, prompt: str) -> bytes:
    """A chat of one document or of lines, with the prompt as its first message."""
    first = {"role": "user", "content": prompt}
    try:
        value = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return msgspec.json.encode(first) + b"\n" + content
    if isinstance(value, list):
        return msgspec.json.encode([first, *value])
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        return msgspec.json.encode({**value, "messages": [first, *value["messages"]]})
    return msgspec.json.encode(first) + b"\n" + content


def _text(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace").strip()
    except OSError:
        return ""


def _last_lines(path: Path) -> str:
    lines = [line.strip() for line in _text(path)[-8 * _MAX_PROBLEM :].splitlines() if line.strip()]
    return " / ".join(lines[-_LAST_LINES:])


def _write(path: Path, content: bytes) -> None:
    """Whole or not at all: whoever finds the trace finds all of it."""
    fresh = path.with_suffix(".new")
    fresh.write_bytes(content)
    fresh.replace(path)
