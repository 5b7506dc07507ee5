"""Gap signals and what was found in a session (specification 1, sections 4 and 5)."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from knowbound.core.trace import Outcome


class SignalType(StrEnum):
    """The four sources of specification 1, section 4."""

    FAILED_SEARCH = "failed_search"
    EXPLICIT_MARKER = "explicit_marker"
    HEDGING = "hedging"
    REPEATED_FAILURE = "repeated_failure"


class Status(StrEnum):
    """Whether the miss is still open."""

    OPEN = "open"
    RESOLVED = "resolved"  # found later in the same sample
    VERIFICATION = "verification"  # the agent was checking that something is absent


# Specification 1, section 5: hard evidence weighs 1.0, soft signals 0.5.
WEIGHTS: dict[SignalType, float] = {
    SignalType.FAILED_SEARCH: 1.0,
    SignalType.REPEATED_FAILURE: 1.0,
    SignalType.EXPLICIT_MARKER: 0.5,
    SignalType.HEDGING: 0.5,
}


class Verdict(msgspec.Struct, frozen=True):
    """What a judge said about a hedge: specification 1's `classifierVerdict`."""

    is_uncertainty: bool
    confidence: float
    reason: str
    judge: str = ""


class Signal(msgspec.Struct):
    """One gap signal, with the way back to the line it came from."""

    type: SignalType
    status: Status
    session: str
    turn: int  # 1-based; 0 before the first prompt
    sample: str
    call_ids: list[str] = []
    message_id: str = ""
    tool: str = ""
    query: str = ""
    path: str = ""  # where the agent looked
    text: str = ""  # the sentence of a hedge, the line of a marker
    context: str = ""
    reason: str = ""  # why it counts
    said: str = ""  # the agent's own words beside it
    verdict: Verdict | None = None
    agent_id: str = ""  # the sub-agent, "" for the main one
    file: str = ""
    line: int = 0
    resolved_by: str = ""  # the call that found it later
    outcome: Outcome | None = None  # of a failed search

    def __post_init__(self) -> None:
        # Databases of version 0.1 have no outcome: there an empty result is known by its reason alone.
        if self.outcome is None and self.reason.endswith("matched nothing"):
            self.outcome = Outcome.EMPTY

    @property
    def weight(self) -> float:
        """Specification 1, section 5."""
        return WEIGHTS[self.type]


class Injected(msgspec.Struct, frozen=True):
    """Text injected into a turn: its source, the knowledge file where known, and its first 500 characters."""

    source: str
    path: str
    excerpt: str
    content_length: int
    line: int = 0


class Turn(msgspec.Struct):
    """One turn: the prompt, what was injected for it, and how much the agent did."""

    index: int
    sample: str
    prompt: str = ""
    time: str = ""
    steps: int = 0
    calls: int = 0
    injected: list[Injected] = []
    answer: str = ""  # the start of the agent's last words
    file: str = ""
    line: int = 0


class Sample(msgspec.Struct):
    """A segment of real work: a skill from its invocation to the next, or `general`."""

    id: str
    name: str
    turns: int = 0
    steps: int = 0
    calls: int = 0
    incomplete: str = ""  # why its trace is not complete: then it leaves the denominators


class SkippedLine(msgspec.Struct, frozen=True):
    """A line that could not be used, and why."""

    path: str
    line: int
    reason: str


class Findings(msgspec.Struct):
    """What the lens found in one session."""

    session: str
    agent: str
    project: str = ""
    version: str = ""
    started: str = ""
    ended: str = ""
    files: list[str] = []
    turns: list[Turn] = []
    samples: list[Sample] = []
    signals: list[Signal] = []
    reached: list[str] = []  # knowledge files, relative to the project where they lie in it
    digest: str = ""  # over the ids of all steps: the same for the same session
    tool_calls: int = 0
    lines: int = 0
    duplicates: int = 0
    skipped: list[SkippedLine] = []
