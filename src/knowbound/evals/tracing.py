"""From the trace of one run to what was found in it: read as any trace is read, with the same lens.

Whatever the agent called its sessions and skills, a run of a sample is one sample: all signals in its trace are
that sample's (specification 1, section 5).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from knowbound.core.knowledge import relative_to
from knowbound.core.signal import Findings
from knowbound.core.trace import Event, Outcome, Start, Step, ToolCall
from knowbound.evals.assertions.rules import Called
from knowbound.gaps.lens import SessionLens
from knowbound.traces.calls import NO_RESULT, Whole, kept_whole
from knowbound.traces.registry import recognise
from knowbound.traces.source import Tally, read_head


class Traced(msgspec.Struct, frozen=True):
    """What a trace holds; `problem` says why it is not complete."""

    found: Findings
    calls: tuple[Called, ...] = ()
    answer: str = ""  # the agent's last words
    problem: str = ""


def read_trace(
    trace: Path, sample: str, folder: Path, working: Path, globs: tuple[str, ...], repeat_at_least: int
) -> Traced:
    """Read the trace that an executor left for a sample; paths are from where it worked, in the knowledge base."""
    try:
        known = recognise(read_head(trace))
    except OSError as error:
        return Traced(Findings(sample, ""), problem=f"the trace cannot be read: {error.strerror or error}")
    if known is None:
        return Traced(Findings(sample, ""), problem="no reader recognises the trace")
    reader, identity = known
    parts: list[Findings] = []
    start: Start | None = Start(identity.session or trace.stem, reader.name)
    with kept_whole() as whole:
        watched = _Watched(whole)
        events = watched.follow(reader.read([trace], {}, Tally()))
        while start is not None:
            lens = SessionLens(
                session=start.session, agent=reader.name, knowledge=globs, repeat_at_least=repeat_at_least
            )
            if parts:
                lens.start(start)
            start = lens.follow(events)
            parts.append(lens.findings([str(trace)]))
    problem = _problem(parts) or ("a tool call has no result in it" if watched.unanswered else "")
    return Traced(_as_one(parts, sample, folder, working), tuple(watched.calls), watched.answer, problem)


class _Watched:
    """The calls and the last words among the events that go by."""

    def __init__(self, whole: Mapping[str, Whole]) -> None:
        self._whole = whole
        self.calls: list[Called] = []
        self.answer = ""
        self.unanswered = False

    def follow(self, events: Iterator[Event]) -> Iterator[Event]:
        for event in events:
            if isinstance(event, Step):
                self.calls.extend(map(self._called, event.calls))
                self.unanswered = self.unanswered or any(call.reason == NO_RESULT for call in event.calls)
                if event.said and not event.agent_id:
                    self.answer = event.said[-1].text
            yield event

    def _called(self, call: ToolCall) -> Called:
        whole = self._whole.get(call.id)
        if whole is None:  # the reader keeps its calls in another way: then only the start of them is known
            return Called(call.name, f"{call.query} {call.where}", call.excerpt, call.kind, True, True)
        # Some readers decide by a structured result, and leave the text of it alone.
        cut = not whole.output and call.outcome is Outcome.OK
        return Called(call.name, whole.input, whole.output, call.kind, output_cut=cut)


def _problem(parts: list[Findings]) -> str:
    """Why the trace is not complete: no answer, a failure, a call without an end."""
    samples = [sample for part in parts for sample in part.samples]
    if not samples:
        return "the trace holds no answer of the agent"
    return next((sample.incomplete for sample in samples if sample.incomplete), "")


def _as_one(parts: list[Findings], sample: str, folder: Path, working: Path) -> Findings:
    """All of it as one sample, with knowledge files relative to the knowledge base."""
    whole = Findings(sample, parts[0].agent, project=str(folder))
    bases = (str(folder), str(folder.resolve()))
    reached: dict[str, None] = {}
    for part in parts:
        whole.turns.extend(part.turns)
        whole.signals.extend(part.signals)
        whole.samples.extend(part.samples)
        whole.tool_calls += part.tool_calls
        here = part.project or str(working)  # the lens tells paths from the folder that the trace names
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
