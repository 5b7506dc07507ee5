"""Gap signals, the findings of a session, and topics of several sessions (specification 1, sections 4 and 5)."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

import msgspec

from knowbound.core.trace import Author, Outcome

LENS_VERSION = 13  # raise it when the same trace gives other findings or another report: stored findings are made again
WORTH = 4.0  # a report opens with topics that save at least this many calls (`gaps/topics.py`)
_CALLS_OF_WORDS = 2  # calls that one question to the user, or one given-up search, counts for


class SignalType(StrEnum):
    """The four sources of specification 1, section 4."""

    FAILED_SEARCH = "failed_search"
    EXPLICIT_MARKER = "explicit_marker"
    HEDGING = "hedging"
    REPEATED_FAILURE = "repeated_failure"


class Status(StrEnum):
    """Status of a signal, decided by the next steps of the same agent (specification 1, section 10: search intent)."""

    OPEN = "open"
    RESOLVED = "resolved"  # found, or answered, later in the same sample
    VERIFICATION = "verification"  # a check whose expected answer is "not there"
    MALFORMED = "malformed"  # the pattern or the call itself was wrong
    INCIDENTAL = "incidental"  # a filter over program output, a temporary path: no lookup of knowledge
    UNDECIDED = "undecided"  # rules cannot say, and no model was asked


NOT_CLOSED = frozenset({Status.OPEN, Status.UNDECIDED})  # may lack something: the upper end of the open rate


class Ending(StrEnum):
    """End of a signal."""

    FOUND = "found"
    CREATED = "created"  # the agent then wrote the missing thing itself
    ASKED = "asked"  # the agent asked the user
    GUESSED = "guessed"  # a hedge or a marker follows
    GAVE_UP = "gave_up"
    WENT_ON = "went_on"  # without the missing thing, and without a word


class Cost(msgspec.Struct, frozen=True):
    """Cost from a signal to its end; None: not in the trace."""

    calls: int = 0
    steps: int = 0
    seconds: float | None = None
    tokens: int | None = None  # written by the agent, or read for the first time


class FoundPlace(msgspec.Struct, frozen=True):
    """Place where a missing thing was found: a path, relative to the project if inside it, and a line or 0."""

    path: str
    line: int = 0


class Source(NamedTuple):
    """The weight and the cause of a type of signal."""

    weight: float  # specification 1, section 5: hard evidence weighs 1.0, soft signals 0.5
    gap: str  # specification 1, section 7.3: the source of a signal says where the gap is
    is_doubt: bool = False  # the agent's own words show doubt: what it does next may answer them


# In the order in which reports show them. A new type: CONTRIBUTING.md.
SOURCES: dict[SignalType, Source] = {
    SignalType.FAILED_SEARCH: Source(1.0, "it searched and found nothing: not there, or not where it looked"),
    SignalType.REPEATED_FAILURE: Source(1.0, "it tried again and again and found nothing: it was needed"),
    SignalType.EXPLICIT_MARKER: Source(0.5, "it marked its words as a guess: the docs were unclear", is_doubt=True),
    SignalType.HEDGING: Source(0.5, "it said that it is not sure: the docs were unclear", is_doubt=True),
}


class HedgingVerdict(msgspec.Struct, frozen=True):
    """Verdict of a judge on a hedge: specification 1's `classifierVerdict`."""

    is_uncertainty: bool
    confidence: float
    reason: str
    judge: str = ""

    @property
    def has_failed(self) -> bool:
        """Report whether the judge gave no verdict: the hedge is kept and judged the next time."""
        return not self.confidence


class Signal(msgspec.Struct):
    """One gap signal, with the file and line of its source."""

    type: SignalType
    status: Status
    session: str
    turn: int  # 1-based; 0 before the first prompt
    sample: str
    call_ids: list[str] = []
    message_id: str = ""
    tool: str = ""
    query: str = ""
    path: str = ""  # searched path
    text: str = ""  # the sentence of a hedge, the line of a marker
    context: str = ""
    reason: str = ""  # why the signal counts
    said: str = ""  # words of the agent beside the signal
    verdict: HedgingVerdict | None = None
    agent_id: str = ""  # of a sub-agent; "" for the main agent
    file: str = ""
    line: int = 0
    resolved_by: str = ""  # id of the later call that found it
    outcome: Outcome | None = None  # of a failed search
    ending: Ending | None = None
    found_at: FoundPlace | None = None
    cost: Cost | None = None
    names: tuple[str, ...] = ()  # subjects in a normal spelling: signals with a common name are of one topic
    correction: str = ""  # the following words of the user
    step: int = 0  # number of the step of its agent in the session
    topic: str = ""  # id of the topic, in a report
    by: str = ""  # the model that decided about the status; "" for rules

    @property
    def weight(self) -> float:
        """Weight of the signal (specification 1, section 5)."""
        return SOURCES[self.type].weight


class InjectedText(msgspec.Struct, frozen=True):
    """Text injected into a turn: its source, the knowledge file if known, and its first 500 characters."""

    source: str
    path: str
    excerpt: str
    content_length: int
    line: int = 0
    item: str = ""  # id of the item, if the text is an item of our store


class Turn(msgspec.Struct):
    """One turn: the prompt, the injected texts, and the amount of work of the agent."""

    index: int
    sample: str
    prompt: str = ""
    time: str = ""
    steps: int = 0
    calls: int = 0
    injected: list[InjectedText] = []
    answer: str = ""  # start of the agent's last words
    file: str = ""
    line: int = 0
    client_turn: str = ""  # id that the client gave the turn; the records of hooks have it too
    author: Author = Author.UNKNOWN  # of the prompt


class Sample(msgspec.Struct):
    """A segment of real work: a skill from its invocation to the next skill, or `general`."""

    id: str
    name: str
    turns: int = 0
    steps: int = 0
    calls: int = 0
    answered: int = 0  # steps with an answer: words, or a call with its result
    incomplete: str = ""  # why the trace is not complete


class SkippedLine(msgspec.Struct, frozen=True):
    """A line that could not be used, and the reason."""

    path: str
    line: int
    reason: str


class Findings(msgspec.Struct):
    """Findings of the gap lens in one session."""

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
    reached: list[str] = []  # knowledge files, relative to the project if inside it
    loaded: list[str] = []  # files of `reached` that the client loaded by itself
    digest: str = ""  # hash of the ids of all steps: equal for copies of a session
    tool_calls: int = 0
    lines: int = 0
    duplicates: int = 0
    skipped: list[SkippedLine] = []  # the first lines only
    skipped_by_reason: dict[str, int] = {}
    signals_left_out: int = 0  # signals beyond the limit of a session
    unknown_calls: int = 0  # calls of tools that no known client has


class TopicAnswer(msgspec.Struct, frozen=True):
    """A place where sessions found the missing thing."""

    path: str
    line: int
    sessions: int


class Example(msgspec.Struct, frozen=True):
    """A trace behind a topic."""

    session: str
    file: str
    line: int


class ProposedLine(msgspec.Struct, frozen=True):
    """A line of knowledge that would settle the topic, and the file for it."""

    text: str
    file: str


class Topic(msgspec.Struct, frozen=True):
    """One missing thing: its cost, the ends of its signals, and the answer if known."""

    id: str = ""  # "" in reports of 0.1.0, whose topics were only queries
    title: str = ""
    sessions: int = 0
    turns: int = 0
    signals: int = 0
    cost: Cost = Cost()
    endings: dict[str, int] = {}
    said: str = ""  # the agent's own sentence
    answer: list[TopicAnswer] = []
    proposed: ProposedLine | None = None
    examples: list[Example] = []
    project: str = ""
    correction: str = ""  # the following words of the user
    last: str = ""  # end of the newest session
    is_open: bool = False  # a session ended without finding it
    saves: float = 0.0  # estimated savings of writing it down: weighted sessions × calls (`gaps.topics`)

    @property
    def effort(self) -> int:
        """Calls spent; without calls, an equivalent for signals that asked or gave up."""
        in_words = sum(self.endings.get(ending, 0) for ending in (Ending.ASKED, Ending.GAVE_UP))
        return self.cost.calls or _CALLS_OF_WORDS * in_words
