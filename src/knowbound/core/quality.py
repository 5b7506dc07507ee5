"""Quality of injection: a turn as a judge sees it, the verdict on each item, the documents of the log, corrections.

Specification 2, section 2. On topic: the item bears on the request of the prompt. Used: the answer or a tool call
restates the item or acts on it. Contradicted: explicitly; leaving an item out is no contradiction.

Section 3: the documents of the quality log, with the names of the specification. A turn is one document of
`kms_quality_log` and is kept for 90 days; a day is one document of `kms_quality_rollup` and is kept for ever. Counts
add: a week is the sum of its days.

Section 5: an answer to a suggested correction is one document in `kms_quality_answer`. It is written before its effect
is carried out and marked as done afterwards, so that a later process finishes the work of a killed process. Each write
counts up `revision` and replaces exactly the revision before it: of two people who answer at once, the second is
refused.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Self

import msgspec

from knowbound.config import ALPHA, BETA, GAMMA
from knowbound.core.trace import ToolCall

KEPT_DAYS = 90  # of raw turns
EXCERPT = 500  # code points of an item's content
LONGEST_TEXT = 4_000  # code points of the prompt and of the answer
_SHA_DIGITS = 16  # of a content's hash, which logs keep
_LIMIT_RATIO = 1.1  # of one limit of durations to the limit before


def _add_values(first: Any, second: Any) -> Any:
    """Add two values; mappings are joined, and the values of equal keys added."""
    if not isinstance(first, dict):
        return first + second
    joined = first | second
    return {key: first[key] + second[key] if key in first and key in second else joined[key] for key in sorted(joined)}


class Metric(StrEnum):
    """Question about an injected item. The fourth metric of the specification, discovery, is about corrections."""

    ON_TOPIC = "on_topic"
    USED = "used"
    CONTRADICTED = "contradicted"


class JudgedItem(msgspec.Struct, frozen=True):
    """An item as a judge sees it."""

    id: str
    content: str
    is_whole: bool = True  # False: only the beginning is known
    source: str = ""  # of an exported turn: the store that the item is from
    confidence: float = 1.0  # of an exported turn: at the time of injection


class JudgedCall(msgspec.Struct, frozen=True):
    """A tool call of the turn, with its output."""

    name: str
    input: dict[str, Any] = {}
    output: str = ""
    outcome: str = ""  # of `core.trace.Outcome`; "" if unknown

    @classmethod
    def of(cls, call: ToolCall) -> JudgedCall:
        """Return a call of a trace, with its whole output."""
        return cls(call.name, call.input or {}, output=call.text, outcome=call.outcome)


class JudgedTurn(msgspec.Struct, frozen=True):
    """A turn as a judge sees it: everything that is known."""

    id: str
    prompt: str
    response: str
    items: tuple[JudgedItem, ...] = ()
    tool_calls: tuple[JudgedCall, ...] = ()
    read_before: tuple[str, ...] = ()  # files that earlier turns of the session read
    next_message: str = ""  # the user's own words after the turn
    session: str = ""
    project: str = ""
    agent: str = ""  # the reader's name; "" if unknown
    timestamp: str = ""  # of an exported turn, ISO 8601; "" if unknown


class ItemVerdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """Verdict of a judge on one item of a turn."""

    item: str
    on_topic: bool
    used: bool
    contradicted: bool
    correction: str = ""  # of a contradicted item: the true statement, in the words of the answer
    reason: str = ""  # a few words
    judge: str = ""  # version of the judge: rules or prompt, and model

    def says(self, metric: Metric) -> bool:
        """Return the verdict on one question."""
        return bool(getattr(self, metric))


class TurnEnding(StrEnum):
    """End of a turn."""

    STOPPED = "stopped"
    FAILED = "failed"  # an error of the API
    INTERRUPTED = "interrupted"  # by the user, or the session ended


class LoggedItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """An item at the time of the turn, with the verdict on it."""

    id: str
    source_backend: str  # sqlite, mongo, …; of an unmanaged item its channel: hook:…, instructions
    content_excerpt: str  # the first 500 code points
    content_length: int
    confidence: float = 1.0  # at the time of injection
    content_sha: str = ""  # version of the content
    rank: int = 0
    source: str = ""  # personal, technical, cross_domain; of an unmanaged item the store or file that it is from
    verdict: ItemVerdict | None = None  # None: not judged yet
    own_id: str = ""  # of an unmanaged item: its id in the store of the tool that injected it
    origin: str = ""  # of an unmanaged item: the source that the tool names for it


class LoggedCall(msgspec.Struct, frozen=True, omit_defaults=True):
    """A tool call of a turn; a corrective call names its items."""

    name: str
    outcome: str
    input_excerpt: str = ""
    corrected: tuple[str, ...] = ()  # ids of the items that the call superseded, flagged, updated or deleted


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
    injected_items: tuple[LoggedItem, ...] = ()  # for the prompt: the four metrics count these alone
    pulled_items: tuple[LoggedItem, ...] = ()  # requested by the agent
    other_items: tuple[LoggedItem, ...] = ()  # injected by other tools
    tool_calls: tuple[LoggedCall, ...] = ()  # corrective ones first
    tool_calls_count: int = 0  # of all calls
    steps: int = 0
    failed_searches: int = 0
    turn_tokens: int | None = None  # of the agent; None: not in the trace
    injected_tokens: int = 0
    arm: str = ""  # if an item was found for the prompt: shadow; of a holdout injected, held_out
    silenced: tuple[str, ...] = ()  # ids of items that the prompt was about, and that ranking at 0 held back
    rank_ms: float | None = None  # of searching and ranking, without the start of the hook
    prompt_ms: float | None = None  # of the hook that injected
    stop_ms: float | None = None  # of the hook that queued the turn
    trace: str = ""  # file of the trace, needed to judge the turn again
    judge: str = ""  # version of the judge; "": not judged
    scored_at: str = ""  # UTC: time of writing
    problem: str = ""  # why the turn is not judged

    @property
    def id(self) -> str:
        """Key of the document: a turn that is written again replaces it."""
        return f"{self.session_id}/{self.turn_id}"

    @property
    def date(self) -> str:
        """Day of the prompt, UTC."""
        return self.timestamp[:10]

    @property
    def is_scored(self) -> bool:
        """Report whether nothing is left to be judged."""
        return not self.problem

    @property
    def items(self) -> tuple[LoggedItem, ...]:
        """All items that the judge is asked about."""
        return (*self.injected_items, *self.pulled_items, *self.other_items)


class _Sums(msgspec.Struct, frozen=True, omit_defaults=True):
    """Counts that add field by field."""

    def __add__(self, other: Self) -> Self:
        return type(self)(*(_add_values(getattr(self, name), getattr(other, name)) for name in self.__struct_fields__))


class Counts(_Sums, frozen=True, omit_defaults=True):
    """Judged items, counted by verdict."""

    judged: int = 0
    on_topic: int = 0
    used: int = 0
    contradicted: int = 0
    unjudged: int = 0

    def of(self, metric: Metric) -> int:
        """Return the number of positive verdicts."""
        return int(getattr(self, metric))


class Weights(msgspec.Struct, frozen=True):
    """The constants of effective confidence (section 4), as the settings have them."""

    alpha: float = ALPHA
    beta: float = BETA
    gamma: float = GAMMA


CONTRACT = Weights()


class QualityScores(msgspec.Struct, frozen=True, omit_defaults=True):
    """The two moving averages of an item with one wording, over its injections in the order of turns."""

    usage: float = 0.0
    contradiction: float = 0.0
    last: str = ""  # time of the last turn that is folded in, or the day where whole days were
    sha: str = ""  # version of the content; "" if unknown

    def after(
        self, used: float, contradicted: float, gamma: float = GAMMA, *, last: str = "", sha: str = ""
    ) -> QualityScores:
        """Return the averages after one more judged injection. Another wording starts from 0."""
        is_same_wording = not sha or not self.sha or sha[:_SHA_DIGITS] == self.sha[:_SHA_DIGITS]  # "": taken as equal
        before = self if is_same_wording else QualityScores()
        return QualityScores(
            usage=(1 - gamma) * before.usage + gamma * used,
            contradiction=(1 - gamma) * before.contradiction + gamma * contradicted,
            last=last or before.last,
            sha=sha or before.sha,
        )

    def factor(self, weights: Weights = CONTRACT) -> float:
        """Return the quotient of effective and stored confidence, never below 0."""
        return max(0.0, 1 + weights.alpha * self.usage - weights.beta * self.contradiction)


class Spread(_Sums, frozen=True, omit_defaults=True):
    """Sums over turns with n judged items and k positive verdicts; they add.

    They give the variance between turns, for an interval in which two items of one turn are not independent.
    """

    turns: int = 0
    nn: int = 0  # Σ n²
    kk: dict[str, int] = {}  # metric → Σ k²
    kn: dict[str, int] = {}  # metric → Σ k·n

    @classmethod
    def of_turn(cls, counts: Counts) -> Spread:
        """Return the sums of one turn."""
        n, k_by_metric = counts.judged, {str(metric): counts.of(metric) for metric in Metric}
        kk = {name: k * k for name, k in k_by_metric.items()}
        kn = {name: k * n for name, k in k_by_metric.items()}
        return cls(turns=1, nn=n * n, kk=kk, kn=kn)


class Durations(_Sums, frozen=True, omit_defaults=True):
    """Durations of hook runs, counted by upper limit. Adds by adding counts."""

    buckets: dict[int, int] = {}  # ms, rounded up to a limit → runs

    @classmethod
    def of(cls, ms: float) -> Durations:
        """Return the duration of one run, counted at the next limit. Limits are a tenth apart."""
        return cls({math.ceil(_LIMIT_RATIO ** math.ceil(math.log(max(1.0, ms), _LIMIT_RATIO))): 1})

    @property
    def runs(self) -> int:
        """Number of runs."""
        return sum(self.buckets.values())

    def at_most(self, share: float) -> int | None:
        """Return the limit in ms within which this share of the runs ended; None without runs."""
        counted_runs = 0
        for limit in sorted(self.buckets):
            counted_runs += self.buckets[limit]  # runs within this limit
            if counted_runs >= share * self.runs:
                return limit
        return None


# Of one day alone: a sum of days has the latest times, and no averages.
_FIELDS_NOT_ADDED = frozenset({"date", "made_at", "newest", "scores", "gamma", "scores_by_day"})


class DayRollup(msgspec.Struct, frozen=True, omit_defaults=True):
    """One day: a document of `kms_quality_rollup`. A sum has the date of its first day."""

    date: str
    made_at: str = ""
    turns: int = 0
    newest: str = ""  # latest `scored_at` of the turns; with their number it shows whether a turn came later
    unscored: int = 0  # turns whose judge failed
    prompts_with_items: int = 0
    interrupted: int = 0
    injected: Counts = Counts()
    spread: Spread = Spread()  # of `injected`
    by_backend: dict[str, Counts] = {}
    by_source: dict[str, Counts] = {}
    by_item: dict[str, Counts] = {}
    pulled: Counts = Counts()
    others: dict[str, Counts] = {}  # by source
    corrective_calls: int = 0
    injected_tokens: int = 0
    held_out: int = 0  # prompts for which a found item was not injected
    shadow: Counts = Counts()  # of items that would have been injected
    silenced: dict[str, int] = {}  # item → prompts that it was held back from because it was contradicted
    silenced_prompts: int = 0  # prompts that an item was held back from
    rank_ms: Durations = Durations()
    prompt_ms: Durations = Durations()
    stop_ms: Durations = Durations()
    judges: dict[str, int] = {}  # version → turns
    scores: dict[str, QualityScores] = {}  # item → its averages at the end of the day; a sum of days has none
    gamma: float | None = None  # with which they were made; None: not yet
    scores_by_day: bool = False  # the day's turns were gone: its counts were folded in as one injection

    def __add__(self, other: DayRollup) -> DayRollup:
        added_fields = (name for name in DayRollup.__struct_fields__ if name not in _FIELDS_NOT_ADDED)
        sums = {name: _add_values(getattr(self, name), getattr(other, name)) for name in added_fields}
        made_at, newest = max(self.made_at, other.made_at), max(self.newest, other.newest)
        return DayRollup(date=self.date, made_at=made_at, newest=newest, **sums)

    @property
    def prompts_left_alone(self) -> int:
        """Number of turns without an injected item."""
        return self.turns - self.prompts_with_items


class Closing(StrEnum):
    """State of a warranted correction."""

    OPEN = ""
    RESOLVED = "resolved"  # the item was superseded, flagged, updated or deleted
    NOT_WARRANTED = "not warranted"  # dismissed by a person


class Discovery(msgspec.Struct, frozen=True, omit_defaults=True):
    """A warranted correction: opened by a contradiction of an item, closed by a corrective call in any session."""

    item: str
    raised: str  # UTC
    session_id: str
    turn_id: str
    statement: str = ""  # statement of the agent instead of the item
    contradictions: int = 1
    closing: Closing = Closing.OPEN
    closed: str = ""  # UTC
    closed_by: str = ""  # the corrective tool
    judge: str = ""  # version of the judge that found the newest contradiction; "" in records of earlier versions
    source: str = ""  # of an item that another tool injected: its store or file; "": an item of our store
    own_id: str = ""  # its id there

    @property
    def id(self) -> str:
        """Key of the record: item and time of raising."""
        return f"{self.item}@{self.raised}"


ANSWER_DAYS = 14  # without an answer, an item that is injected is flagged UNVERIFIED


class SuggestionDecision(StrEnum):
    """Kind of answer."""

    ACCEPTED = "accepted"  # the item is superseded
    DISMISSED = "dismissed"  # the item was not contradicted
    UNDONE = "undone"  # the answer was taken back: the suggestion is open again
    FLAGGED = "flagged"  # nobody answered in time: the item is flagged UNVERIFIED, the suggestion stays open
    NONE = "none"  # an answer that could not be carried out


class SuggestionAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer to one suggestion."""

    record: str  # id of the warranted correction
    item: str
    kind: SuggestionDecision
    time: str  # UTC; never before the time at which the correction was raised
    by: str = ""
    revision: int = 1
    done: bool = False  # the store matches the answer
    note: str = ""
    content: str = ""  # text that supersedes the item; erased once done
    again: bool = False  # content that was withdrawn earlier is true again
    successor: str = ""  # id of the item that superseded it

    @property
    def id(self) -> str:
        """Key of the answer: one per warranted correction."""
        return self.record

    @property
    def closes(self) -> bool:
        """Report whether the answer closes the suggestion."""
        return self.kind in (SuggestionDecision.ACCEPTED, SuggestionDecision.DISMISSED)


class Suggestion(msgspec.Struct, frozen=True):
    """A correction that waits for an answer."""

    item: str
    content: str  # of the item, now
    content_sha: str
    statement: str  # statement of the agent instead; "" if screening withholds it (kms/screening.py)
    draft: str  # proposed replacement; "" if the agent said nothing plausible
    missing: str  # reason for a missing draft
    raised: str
    session: str
    turn: str
    contradictions: int
    is_unverified: bool  # the item is flagged UNVERIFIED
    record: str  # id of the warranted correction
    needs_person: bool = False  # the draft's value is neither in the tree nor in the user's words: no agent accepts it
    judge: str = ""  # version of the judge that found the contradiction
    answer: SuggestionAnswer | None = None  # an answer that was taken back, or FLAGGED
    held_by: str = ""  # party that holds the item back from injection; "" if it may be injected

    @property
    def is_unanswered(self) -> bool:
        """Report whether nobody ever answered, and its item was not flagged for that."""
        return self.answer is None or self.answer.kind is SuggestionDecision.NONE

    def is_due(self, since: str, now: str) -> bool:
        """Report whether the suggestion has waited ANSWER_DAYS since it could first be shown."""
        waited = datetime.fromisoformat(now) - datetime.fromisoformat(since)
        return waited >= timedelta(days=ANSWER_DAYS)
