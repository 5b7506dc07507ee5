"""Gap signals and what was found in a session (specification 1, sections 4 and 5)."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import msgspec

from knowbound.core.trace import Outcome


class SignalType(StrEnum):
    """The four sources of specification 1, section 4."""

    FAILED_SEARCH = "failed_search"
    EXPLICIT_MARKER = "explicit_marker"
    HEDGING = "hedging"
    REPEATED_FAILURE = "repeated_failure"


class Status(StrEnum):
    """What a signal comes to, by what the same agent did next (specification 1, section 10: search intent)."""

    OPEN = "open"
    RESOLVED = "resolved"  # found, or answered, later in the same sample
    VERIFICATION = "verification"  # a check whose expected answer is "not there"
    MALFORMED = "malformed"  # the pattern or the call itself was wrong
    INCIDENTAL = "incidental"  # a filter over program output, a temporary path: no lookup of knowledge


class Ending(StrEnum):
    """How a signal ended."""

    FOUND = "found"
    CREATED = "created"  # the agent then wrote it itself
    ASKED = "asked"  # the user
    GUESSED = "guessed"  # a hedge or a marker follows
    GAVE_UP = "gave_up"
    WENT_ON = "went_on"  # without it, and without a word


class Cost(msgspec.Struct, frozen=True):
    """What was spent from a signal to its end; None: the trace does not say."""

    calls: int = 0
    steps: int = 0
    seconds: float | None = None
    tokens: int | None = None  # written by the agent, and read by it for the first time


class FoundPlace(msgspec.Struct, frozen=True):
    """Where something was found: a path, relative to the project where it lies in it, and a line or 0."""

    path: str
    line: int = 0


class Source(NamedTuple):
    """What a type of signal is: its weight, what it says about the gap, and the words of `knowbound explain`."""

    weight: float  # specification 1, section 5: hard evidence weighs 1.0, soft signals 0.5
    gap: str  # specification 1, section 7.3: the source of a signal says where the gap is
    meaning: str
    example: str
    is_doubt: bool = False  # the agent's own words show doubt: what it does next may answer them


# In the order in which reports show them. A new type: a row here, a module in gaps/, and a call in gaps/lens.py.
SOURCES: dict[SignalType, Source] = {
    SignalType.FAILED_SEARCH: Source(
        1.0,
        "it searched and missed: the knowledge is not there",
        "The agent looked something up (a search, a listing, a read of a path it made up itself) and it was not there. "
        "Weight 1.0. Rejections, cancellations, time-outs, permission and usage errors are not failed searches.",
        'Grep "revenue_schema" → no matches. Consecutive similar misses are one event.',
    ),
    SignalType.REPEATED_FAILURE: Source(
        1.0,
        "it tried again and again: not there, and it was needed",
        "Within 3 consecutive steps of one sample the agent used the same class of lookup at least 3 times, and all "
        "failed. Weight 1.0. Counted before similar searches collapse.",
        "Three Greps for the same schema under three names, none with a match. Setting: repeated_failure_calls.",
    ),
    SignalType.EXPLICIT_MARKER: Source(
        0.5,
        "it marked its words as a guess: the docs were unclear",
        "The agent marked its own words as inferred or unknown: 【推断】 【知识缺口】 【未知】 [inferred] [unknown] "
        "[knowledge gap]. Weight 0.5. Not where the marker is quoted, in code, or talked about.",
        "【推断】this data should come from the user_profile table",
        is_doubt=True,
    ),
    SignalType.HEDGING: Source(
        0.5,
        "it said that it is not sure: the docs were unclear",
        "The agent said that it is not sure of a fact. Words of doubt make a sentence a candidate; a judge decides. "
        "Weight 0.5. Options, politeness and talk about the future are not hedges.",
        "I'm not sure which service owns this table. The verdict (confidence, reason) is kept with the signal.",
        is_doubt=True,
    ),
}


class HedgingVerdict(msgspec.Struct, frozen=True):
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
    verdict: HedgingVerdict | None = None
    agent_id: str = ""  # the sub-agent, "" for the main one
    file: str = ""
    line: int = 0
    resolved_by: str = ""  # the call that found it later
    outcome: Outcome | None = None  # of a failed search
    ending: Ending | None = None
    found_at: FoundPlace | None = None
    cost: Cost | None = None
    names: tuple[str, ...] = ()  # what it is about, in one spelling: signals that share one are of one topic
    correction: str = ""  # the user's words that followed
    step: int = 0  # of its agent in the session, counted
    topic: str = ""  # the id of its topic, in a report

    @property
    def weight(self) -> float:
        """Specification 1, section 5."""
        return SOURCES[self.type].weight


class InjectedText(msgspec.Struct, frozen=True):
    """Text injected into a turn: its source, the knowledge file where known, and its first 500 characters."""

    source: str
    path: str
    excerpt: str
    content_length: int
    line: int = 0
    item: str = ""  # the id of the item of our store that this is


class Turn(msgspec.Struct):
    """One turn: the prompt, what was injected for it, and how much the agent did."""

    index: int
    sample: str
    prompt: str = ""
    time: str = ""
    steps: int = 0
    calls: int = 0
    injected: list[InjectedText] = []
    answer: str = ""  # the start of the agent's last words
    file: str = ""
    line: int = 0
    client_turn: str = ""  # the client's own id of the turn: joins it with what the hooks recorded


class Sample(msgspec.Struct):
    """A segment of real work: a skill from its invocation to the next, or `general`."""

    id: str
    name: str
    turns: int = 0
    steps: int = 0
    calls: int = 0
    answered: int = 0  # steps that hold an answer: words, or a call with its result
    incomplete: str = ""  # why its trace is not complete


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
    loaded: list[str] = []  # those among them that the client put into the context by itself
    digest: str = ""  # over the ids of all steps: the same for the same session
    tool_calls: int = 0
    lines: int = 0
    duplicates: int = 0
    skipped: list[SkippedLine] = []  # the first few
    skipped_by_reason: dict[str, int] = {}
    signals_left_out: int = 0  # beyond those that a session keeps
