"""What is kept of measured turns: the document of a turn, and the rollup of a day (specification 2, section 3).

The names are the contract's. A turn is one document of `kms_quality_log` and is kept for 90 days; a day is one document
of `kms_quality_rollup` and is kept for ever. Counts add, so that a week is the sum of its days.
"""

from __future__ import annotations

import math
from enum import StrEnum

import msgspec

from knowbound.core.quality import ItemVerdict, Metric

KEPT_DAYS = 90  # of raw turns
EXCERPT = 500  # code points of an item's content
LONGEST_TEXT = 4_000  # code points of the prompt and of the answer


class TurnEnding(StrEnum):
    """How a turn ended."""

    STOPPED = "stopped"
    FAILED = "failed"  # an error of the API
    INTERRUPTED = "interrupted"  # by the user, or the session ended


class LoggedItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """An item of a turn, as it was then, with the verdict on it."""

    id: str
    source_backend: str  # sqlite, mongo, …; for what others injected how it came: hook:…, instructions
    content_excerpt: str  # the first 500 code points
    content_length: int
    confidence: float = 1.0  # at the time of injection
    content_sha: str = ""  # the version of its content
    rank: int = 0
    source: str = ""  # personal, technical, cross_domain; for what others injected its file
    verdict: ItemVerdict | None = None  # None: not judged yet


class LoggedCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tool call of a turn; corrective ones name their items."""

    name: str
    outcome: str
    input_excerpt: str = ""
    corrected: tuple[str, ...] = ()  # ids of items that it superseded, flagged, updated or deleted


class QualityTurn(msgspec.Struct, frozen=True, omit_defaults=True):
    """One turn: a document of `kms_quality_log`."""

    session_id: str
    turn_id: str  # Claude Code's prompt_id, Codex's turn_id
    timestamp: str  # of the prompt, UTC
    agent: str = "unknown"
    ending: TurnEnding = TurnEnding.STOPPED
    user_prompt: str = ""  # truncated, without secrets
    user_prompt_length: int = 0
    assistant_response: str = ""  # truncated, without secrets
    assistant_response_length: int = 0
    injected_items: tuple[LoggedItem, ...] = ()  # for the prompt: these alone are in the four metrics
    pulled_items: tuple[LoggedItem, ...] = ()  # the agent asked for them
    other_items: tuple[LoggedItem, ...] = ()  # that others injected
    tool_calls: tuple[LoggedCall, ...] = ()  # corrective ones first
    tool_calls_count: int = 0  # of all
    steps: int = 0
    failed_searches: int = 0
    turn_tokens: int | None = None  # of the agent, as far as the trace says
    injected_tokens: int = 0
    arm: str = ""  # of a holdout, where something was found for the prompt: injected, held_out
    prompt_ms: float | None = None  # of the hook that injected
    stop_ms: float | None = None  # of the hook that queued the turn
    trace: str = ""  # the file that it was read from, so that it can be judged again
    judge: str = ""  # the version of the judge; "": not judged
    scored_at: str = ""  # when it was written, UTC
    problem: str = ""  # why it is not judged

    @property
    def id(self) -> str:
        """What makes it one document, however often it is written."""
        return f"{self.session_id}/{self.turn_id}"

    @property
    def date(self) -> str:
        """The day that it counts for, UTC."""
        return self.timestamp[:10]

    @property
    def is_scored(self) -> bool:
        """Whether nothing of it is left to be judged."""
        return not self.problem

    @property
    def items(self) -> tuple[LoggedItem, ...]:
        """All that the judge is asked about."""
        return (*self.injected_items, *self.pulled_items, *self.other_items)


class Counts(msgspec.Struct, frozen=True, omit_defaults=True):
    """Items that were judged, and what the verdicts were."""

    judged: int = 0
    on_topic: int = 0
    used: int = 0
    contradicted: int = 0
    unjudged: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, name) + getattr(other, name) for name in Counts.__struct_fields__))

    def of(self, metric: Metric) -> int:
        """How many were called yes."""
        return int(getattr(self, metric))


class Spread(msgspec.Struct, frozen=True, omit_defaults=True):
    """How alike the items of one turn are: sums over turns, of which n items were judged and k called yes.

    They add, and give the variance between turns, and with it an interval that does not count two items of one turn
    as two independent ones.
    """

    turns: int = 0
    nn: int = 0  # Σ n²
    kk: dict[str, int] = {}  # metric → Σ k²
    kn: dict[str, int] = {}  # metric → Σ k·n

    @classmethod
    def of_turn(cls, counts: Counts) -> Spread:
        """One turn."""
        n, k = counts.judged, {str(metric): counts.of(metric) for metric in Metric}
        return cls(1, n * n, {name: one * one for name, one in k.items()}, {name: one * n for name, one in k.items()})

    def __add__(self, other: Spread) -> Spread:
        return Spread(
            self.turns + other.turns, self.nn + other.nn, _added(self.kk, other.kk), _added(self.kn, other.kn)
        )


def _added(one: dict[str, int], other: dict[str, int]) -> dict[str, int]:
    return {name: one.get(name, 0) + other.get(name, 0) for name in sorted(one.keys() | other.keys())}


class Durations(msgspec.Struct, frozen=True, omit_defaults=True):
    """How long hooks took: how many runs ended within each of the limits. Adds by adding counts."""

    buckets: dict[int, int] = {}  # ms, rounded up to a limit → runs

    @classmethod
    def of(cls, ms: float) -> Durations:
        """One run: limits are a tenth apart, so what is read off them is right to that."""
        return cls({math.ceil(1.1 ** math.ceil(math.log(max(1.0, ms), 1.1))): 1})

    def __add__(self, other: Durations) -> Durations:
        keys = self.buckets.keys() | other.buckets.keys()
        return Durations({key: self.buckets.get(key, 0) + other.buckets.get(key, 0) for key in sorted(keys)})

    @property
    def runs(self) -> int:
        """How many there were."""
        return sum(self.buckets.values())

    def at_most(self, share: float) -> int | None:
        """The limit that this share of the runs kept, in ms; None without runs."""
        seen = 0
        for limit in sorted(self.buckets):
            seen += self.buckets[limit]
            if seen >= share * self.runs:
                return limit
        return None


class DayRollup(msgspec.Struct, frozen=True, omit_defaults=True):
    """One day: a document of `kms_quality_rollup`."""

    date: str
    made_at: str = ""
    turns: int = 0
    newest: str = ""  # the latest `scored_at` of its turns: with their number it tells whether something came later
    unscored: int = 0  # turns whose judge failed
    prompts_with_items: int = 0
    interrupted: int = 0
    injected: Counts = Counts()
    spread: Spread = Spread()  # of what was injected
    by_backend: dict[str, Counts] = {}
    by_source: dict[str, Counts] = {}
    by_item: dict[str, Counts] = {}
    pulled: Counts = Counts()
    others: dict[str, Counts] = {}  # by where it came from
    corrective_calls: int = 0
    injected_tokens: int = 0
    held_out: int = 0  # prompts that got nothing, although something was found
    prompt_ms: Durations = Durations()
    stop_ms: Durations = Durations()
    judges: dict[str, int] = {}  # version → turns

    @property
    def prompts_left_alone(self) -> int:
        """Turns whose prompt got nothing."""
        return self.turns - self.prompts_with_items


class Closing(StrEnum):
    """How a warranted correction was closed."""

    OPEN = ""
    RESOLVED = "resolved"  # superseded, flagged, updated or deleted
    NOT_WARRANTED = "not warranted"  # somebody dismissed it


class Discovery(msgspec.Struct, frozen=True, omit_defaults=True):
    """A warranted correction: opened by a contradiction of an item, closed by a corrective call in any session."""

    item: str
    raised: str  # when, UTC
    session_id: str
    turn_id: str
    statement: str = ""  # what the agent said instead
    contradictions: int = 1
    closing: Closing = Closing.OPEN
    closed: str = ""  # when
    closed_by: str = ""  # the corrective tool

    @property
    def id(self) -> str:
        """One record per item and time of raising."""
        return f"{self.item}@{self.raised}"
