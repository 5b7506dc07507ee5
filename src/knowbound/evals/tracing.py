"""From the trace of one run to what was found in it: read as any trace is read, with the same lens.

Whatever the agent called its sessions and skills, a run of a sample is one sample: all signals in its trace are
that sample's (specification 1, section 5).
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from knowbound.core.paths import relative_to
from knowbound.core.signal import Findings
from knowbound.core.trace import Outcome, Start, Step, ToolCall
from knowbound.evals.assertions import ToolUse
from knowbound.gaps.lens import LensSettings
from knowbound.gaps.reading import findings_of
from knowbound.traces.registry import recognise
from knowbound.traces.source import Tally, read_head


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
    last_words = [step.said[-1].text for step in steps if step.said and not step.agent_id]
    return Traced(
        found=_as_one_sample(parts, sample, folder, working),
        calls=tuple(_tool_use(call) for step in steps for call in step.calls),
        answer=last_words[-1] if last_words else "",
        problem=_problem(parts, steps),
    )


def _tool_use(call: ToolCall) -> ToolUse:
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
    if any(sample.incomplete for sample in samples):
        return next(sample.incomplete for sample in samples if sample.incomplete)
    unanswered = any(call.is_unanswered for step in steps for call in step.calls)
    return "a tool call has no result in it" if unanswered else ""


def _as_one_sample(parts: list[Findings], sample: str, folder: Path, working: Path) -> Findings:
    """All of it as one sample, with knowledge files relative to the knowledge base."""
    whole = Findings(sample, parts[0].agent, project=str(folder))
    bases = (str(folder), str(folder.resolve()))
    reached: dict[str, None] = {}
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
