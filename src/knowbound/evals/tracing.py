"""From what a run left to its execution (trace, answer, ending, cost), and to what the lens of `observe` finds in it.

A stream that a reader recognises is the trace, with the prompt put before it where the stream lacks it. Anything
else is text: the answer of a conversation of two messages, which the reader of plain chats reads.

What is kept has no secrets: a run is redacted the moment it has been graded. The file `redacted` in its folder says
that it was; a run whose process was killed before that is redacted by the next evaluation.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from knowbound.core.knowledge_paths import relative_to
from knowbound.core.signal import Findings
from knowbound.core.trace import Break, Broken, Event, Outcome, Prompt, Start, Step, ToolCall
from knowbound.evals.assertions import ToolUse
from knowbound.evals.executor import Execution, Task
from knowbound.evals.executors.agent_process import AgentExit, is_running
from knowbound.gaps.lens import LensSettings
from knowbound.gaps.reading import findings_of
from knowbound.stats.evaluation import RunEnding
from knowbound.text.redact import excerpt_of_end, redact, redact_stream
from knowbound.traces.readers.chat import Chat
from knowbound.traces.registry import Reader, RunUsage, Stream, recognise
from knowbound.traces.source import Tally, read_head
from knowbound.user_files import make_file, make_private

_LAST_LINES = 5  # of the errors an agent printed
_PROBLEM_CHARACTERS = 1000
CLIENT_HOME = "client-home"  # the home of a client, in the output folder of a task
OUTPUT_FOLDERS = "v[01]/*/*"  # below the folder of a run: version, sample and repeat, attempt
_REDACTED_MARK = "redacted"
_NO_TEXT = frozenset({"lock", "exit", "run.json", _REDACTED_MARK})  # our files, without text of the agent


class StreamSummary(msgspec.Struct, frozen=True):
    """Facts about a run that its output stream states."""

    has_prompt: bool = False
    answer: str = ""
    broken: Broken | None = None  # how the agent failed, when it did not go on after that


def execution_of(task: Task, ended: AgentExit) -> Execution:
    """Return the execution of a task from its ended process; writes the trace file."""
    stream = _read_stream(ended.stdout)
    summary, spent, trace = StreamSummary(), RunUsage(), ""
    if stream is not None:
        reader, summary = stream
        trace = str(_with_prompt(reader, ended.stdout, task, summary))
        spent = reader.spent(ended.stdout) if isinstance(reader, Stream) else spent
    elif (text := _text_of_file(ended.stdout)) and ended.status == 0:  # what a failed program printed is no answer
        summary = StreamSummary(answer=text)
        trace = str(write_chat(task, [{"role": "assistant", "content": text}]))
    ending, problem = _ending(ended, summary, is_stream=stream is not None)
    return Execution(
        ending=ending,
        trace=trace,
        answer=summary.answer,
        problem=redact(problem)[:_PROBLEM_CHARACTERS],
        seconds=ended.seconds,
        usd=spent.usd,
        tokens_in=spent.tokens_in,
        tokens_out=spent.tokens_out,
        model=spent.model,
        shows_calls=stream is not None,
    )


def write_chat(task: Task, messages: Sequence[object]) -> Path:
    """Write a conversation that begins with the task's prompt as a trace; return its file."""
    trace = task.output_dir / "trace.json"
    chat = {"session_id": task.sample, "messages": [{"role": "user", "content": task.prompt}, *messages]}
    make_file(trace, json.dumps(chat, ensure_ascii=False, indent=1).encode("utf-8", "replace"))
    return trace


def _ending(ended: AgentExit, summary: StreamSummary, *, is_stream: bool) -> tuple[RunEnding, str]:
    """Return how a run ended, and why if not well: the process says it first, then the stream, then the answer."""
    broken = summary.broken
    if ended.timed_out:
        return RunEnding.TIMEOUT, ended.problem
    if ended.status is None:  # it did not end by itself
        return RunEnding.CRASHED, ended.problem
    if broken is not None and broken.how is Break.BUDGET:
        return RunEnding.BUDGET, broken.reason
    is_cut_off = broken is not None and broken.how is Break.CUT_OFF
    if ended.status != 0:
        # Most agents that fail say why at the end of their stream, and print less useful things as errors.
        why = broken.reason if broken is not None and not is_cut_off else _last_lines(ended.stderr)
        return RunEnding.CRASHED, f"exit status {ended.status}: {why}" if why else f"exit status {ended.status}"
    if broken is not None:
        return RunEnding.INCOMPLETE if is_cut_off else RunEnding.CRASHED, broken.reason
    if summary.answer.strip():
        return RunEnding.DONE, ""
    return (RunEnding.INCOMPLETE, "its stream holds no answer") if is_stream else (RunEnding.CRASHED, "it said nothing")


def _read_stream(stdout: Path) -> tuple[Reader, StreamSummary] | None:
    """Return the reader of a stream, and what the stream says; None if it is text, or JSON that is no trace."""
    try:
        recognised = recognise(read_head(stdout))
    except Exception:  # nothing there, or a head that only looks like an archive
        return None
    if recognised is None:
        return None
    reader = recognised[0]
    events = list(reader.read([stdout], {}, Tally()))
    # A client's stream counts even without a step: the run was cut off, and its first line is no answer in plain text.
    is_stream = isinstance(reader, Stream) or any(isinstance(event, Step | Broken) for event in events)
    return (reader, _summary(events)) if is_stream else None


def _summary(events: Sequence[Event]) -> StreamSummary:
    """Return the facts of a stream: the last answer of the main agent, and a failure that no step followed."""
    has_prompt, answer, broken = False, "", None
    for event in events:
        if isinstance(event, Prompt):
            has_prompt = has_prompt or bool(event.text)
        elif isinstance(event, Broken):
            broken = event if event.reason else msgspec.structs.replace(event, reason="the agent failed")
        elif isinstance(event, Step):
            broken = None  # the agent went on after the failure
            if event.said and not event.agent_id:  # a sub-agent's words are no answer to the sample
                answer = "\n".join(said.text for said in event.said)
    return StreamSummary(has_prompt, answer, broken)


def _with_prompt(reader: Reader, stdout: Path, task: Task, summary: StreamSummary) -> Path:
    """The stream as a trace that begins with the prompt; the stream itself where it has one or cannot hold it."""
    if summary.has_prompt:
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
    make_file(trace, content)
    return trace


def _chat_with_prompt(content: bytes, prompt: str) -> bytes:
    """A chat of one document or of lines, with the prompt as its first message."""
    first = {"role": "user", "content": prompt}
    try:
        value = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        value = None
    if isinstance(value, list):
        return msgspec.json.encode([first, *value])
    if isinstance(value, dict) and isinstance(value.get("messages"), list):
        return msgspec.json.encode({**value, "messages": [first, *value["messages"]]})
    return msgspec.json.encode(first) + b"\n" + content  # one message a line


def _text_of_file(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8", "replace").strip()
    except OSError:
        return ""


def _last_lines(path: Path) -> str:
    lines = map(str.strip, excerpt_of_end(_text_of_file(path), 8 * _PROBLEM_CHARACTERS).splitlines())
    return " / ".join([line for line in lines if line][-_LAST_LINES:])


def redact_folder(folder: Path) -> bool:
    """Redact what the run of one task left in its output folder; report whether it held a secret."""
    if not folder.is_dir() or (folder / _REDACTED_MARK).exists():  # redacted before
        return False
    (folder / "stdin").unlink(missing_ok=True)  # left where the agent never began
    shutil.rmtree(folder / CLIENT_HOME, ignore_errors=True)  # left where it was cut off
    changed = [_redact_file(path) for path in sorted(folder.iterdir()) if path.is_file() and path.name not in _NO_TEXT]
    make_file(folder / _REDACTED_MARK, b"")
    return any(changed)


def redact_left_behind(run_dir: Path) -> None:
    """Redact the runs of an evaluation that was ended before it could; an agent that still runs is left alone."""
    for folder in run_dir.glob(OUTPUT_FOLDERS):
        if not is_running(folder):
            redact_folder(folder)


def _redact_file(path: Path) -> bool:
    """Redact a file and make it private; report whether it held a secret."""
    make_private(path)
    content = path.read_bytes()
    text = content.decode("utf-8", "surrogateescape")
    redacted = redact_stream(text)
    if redacted == text:
        return False
    make_file(path, redacted.encode("utf-8", "surrogateescape"))
    return True


# ---- the findings of a trace


class Traced(msgspec.Struct, frozen=True):
    """Findings, tool calls and answer of a trace; `problem` says why the trace is incomplete."""

    found: Findings
    calls: tuple[ToolUse, ...] = ()
    answer: str = ""  # the agent's last words
    problem: str = ""


def read_trace(trace: Path, sample: str, folder: Path, working: Path, settings: LensSettings) -> Traced:
    """Read the trace that an executor left for a sample; its relative paths start at `working`, inside `folder`."""
    try:
        recognised = recognise(read_head(trace))
    except OSError as error:
        return Traced(Findings(sample, ""), problem=f"the trace cannot be read: {error.strerror or error}")
    if recognised is None:
        return Traced(Findings(sample, ""), problem="no reader recognises the trace")
    reader, identity = recognised
    events = list(reader.read([trace], {}, Tally()))
    steps = [event for event in events if isinstance(event, Step)]
    parts = findings_of(iter(events), Start(identity.session or trace.stem, reader.name), [str(trace)], settings)
    last_words = [step.said[-1].text for step in steps if step.said and not step.agent_id]  # of the main agent
    return Traced(
        found=_as_one_sample(parts, sample, folder, working),
        calls=tuple(_tool_use(call) for step in steps for call in step.calls),
        answer=last_words[-1] if last_words else "",
        problem=_problem(parts, steps),
    )


def _tool_use(call: ToolCall) -> ToolUse:
    """Return a call as assertions see it; a part that the reader does not keep is marked as cut."""
    if call.input is None:  # a reader that does not keep what a call was given
        search = f"{call.query} {call.where}"
        return ToolUse(call.name, search, call.output or "", call.kind, input_cut=True, output_cut=True)
    # Some readers decide by a structured result and leave out its text.
    is_cut = not call.output and call.outcome is Outcome.OK
    return ToolUse(call.name, msgspec.json.encode(call.input).decode(), call.output or "", call.kind, output_cut=is_cut)


def _problem(parts: list[Findings], steps: list[Step]) -> str:
    """Return the reason why the trace is incomplete (no answer, a failure, a call without a result), or ""."""
    samples = [sample for part in parts for sample in part.samples]
    if not samples:
        return "the trace holds no answer of the agent"
    if incomplete := next((sample.incomplete for sample in samples if sample.incomplete), ""):
        return incomplete
    unanswered = any(call.is_unanswered for step in steps for call in step.calls)
    return "a tool call has no result in it" if unanswered else ""


def _as_one_sample(parts: list[Findings], sample: str, folder: Path, working: Path) -> Findings:
    """Join the findings of a trace into one sample, with knowledge files relative to the knowledge base."""
    whole = Findings(sample, parts[0].agent, project=str(folder))
    bases = (str(folder), str(folder.resolve()))  # a trace has the path as given, or with links followed
    reached: dict[str, None] = {}  # each once, in order
    for part in parts:
        whole.turns.extend(part.turns)
        whole.signals.extend(part.signals)
        whole.samples.extend(part.samples)
        whole.tool_calls += part.tool_calls
        here = part.project or str(working)  # the lens makes paths relative to the folder that the trace names
        for path in part.reached:
            whole_path = path if path.startswith("/") else f"{here}/{path.removeprefix('./')}"
            for base in bases:
                whole_path = relative_to(whole_path, base)
            reached[whole_path] = None
    for signal in whole.signals:
        signal.sample = sample
        for base in bases:
            signal.path = "" if signal.path.rstrip("/") == base else relative_to(signal.path, base)
    for turn in whole.turns:
        turn.sample = sample
    whole.reached = list(reached)
    return whole
