"""The report of `observe` as it is stored: one value that every format shows.

It cannot be made without its watermark, so no format can show a gap rate or a coverage without it
(specification 1, section 7).
"""

from __future__ import annotations

import msgspec

from knowbound.core.signal import Signal, SkippedLine, Topic
from knowbound.core.trace import ReadShares, SessionsRead
from knowbound.stats.figures import Coverage, GapFigures, HedgeJudging, Marking, SkillRow, Watermark


class Totals(msgspec.Struct, frozen=True):
    """Amount that was read, skipped lines included."""

    files: int
    sessions: int
    turns: int
    tool_calls: int
    samples: int
    skipped_lines: int
    lines: int = 0
    duplicates: int = 0  # messages whose id was read before
    signals: int = 0
    unknown_calls: int = 0  # calls of tools that no known client has
    turns_by_programs: int = 0  # prompts that the client says came from a script, a schedule or another agent
    unmanaged_items: int = 0  # texts of other tools in the agents' context, if the traces show them


class Incomplete(msgspec.Struct, frozen=True):
    """A sample without a complete trace: it is in no rate, and is listed."""

    session: str
    sample: str
    name: str
    reason: str
    day: str = ""  # on which its session began


class ObserveReport(msgspec.Struct, frozen=True):
    """Everything that `observe` reports."""

    watermark: Watermark
    totals: Totals
    gap: GapFigures
    coverage: Coverage
    skills: list[SkillRow]
    topics: list[Topic]  # what to write down, best first
    inventory: list[Signal]  # the signals to read first: at most 500, `totals.signals` says how many there are
    incomplete: list[Incomplete]
    skipped: dict[str, int]  # reason → lines
    skipped_examples: list[SkippedLine]
    unrecognised: list[str]  # files that no reader recognises
    agents: dict[str, int]  # agent → sessions
    places: list[str]  # the folders and files that were searched for traces
    filters: dict[str, str]  # since, project, skill, agent where given
    warnings: list[str]
    made: str  # when, UTC
    version: str
    root: str = ""  # the project whose knowledge files coverage is about
    last_look: str = ""  # time of the previous run with the same places and filters
    projects: dict[str, int] = {}  # project → sessions, most first
    topic_names: dict[str, str] = {}  # by which the topic of a signal is known (`gaps.topics.TopicNames`)
    skill_of: dict[str, str] = {}  # sample → skill, for the samples in the inventory
    judging: HedgeJudging | None = None  # where the judge of hedges has a cap
    marking: Marking = Marking()
    reading: SessionsRead = SessionsRead()

    @property
    def read(self) -> ReadShares:
        """Return the shares of lines and of calls that knowbound could not read."""
        unread = self.totals.skipped_lines - self.skipped.get("truncated", 0)  # a line cut short is of a known kind
        return ReadShares(self.totals.lines, unread, self.totals.tool_calls, self.totals.unknown_calls)


class TopicSignal(msgspec.Struct, frozen=True):
    """A signal of a topic, with what people call its sample: the skill, and the day its session began."""

    signal: Signal
    skill: str
    day: str


class TopicReport(msgspec.Struct, frozen=True):
    """One topic with every signal of it."""

    topic: Topic
    watermark: Watermark
    signals: list[TopicSignal]
    places: list[str]
    made: str
    version: str


class ReviewFigures(msgspec.Struct, frozen=True):
    """The one line of figures, with its watermark, and what was read."""

    gap_rate: float | None = None
    weighted: float | None = None
    open: float | None = None
    open_upper: float | None = None  # with undecided signals
    coverage: float | None = None
    test_set: str = ""  # path of the traces
    samples: int = 0
    sha256_8: str = ""
    warning: str = ""
    sessions: int = 0
    tool_calls: int = 0
    agents: dict[str, int] = {}
    reading: SessionsRead = SessionsRead()
    unread_files: int = 0  # files that no reader recognises
    warnings: list[str] = []
    unknown_turns: int = 0  # turns whose claims nobody could check
    turns: int = 0
    unknown_lines: float | None = None  # share of trace lines
    unknown_tools: float | None = None  # share of tool calls
    statements: int = 0
    contradicted: int = 0
