"""The four metrics of injected items over rolling windows of days, with their targets, and what injecting changes.

Specification 2, section 2 ("The four metrics"). A window is the sum of its days. Items of one turn are dependent: the
sums over turns that each day keeps give the design effect. The metrics show whether items are used; their effect shows
only in a comparison of turns with items and turns whose items were withheld at random, by whole sessions.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import date, timedelta
from enum import StrEnum

import msgspec

from knowbound.core.quality import Counts, DayRollup, Durations, Metric, Spread
from knowbound.stats.calibration import Estimate
from knowbound.stats.floor import more_to_settle
from knowbound.stats.paired import Difference, unpaired_difference
from knowbound.stats.printing import percent
from knowbound.stats.rate import Rate, clustered_rate, middle_95

WINDOW_DAYS = 7  # section 2: "each over a rolling 7 days"
PROMPT_LIMIT_MS = 150  # the p95 of the hook that injects, with the start of its process
RANKING_LIMIT_MS = 150  # section 6: the p95 of searching and ranking
STOP_LIMIT_MS = 500  # section 6: the time that the Stop hook may add
SLOW_SHARE = 0.95  # the p95
FEWEST_TURNS = 20  # on each side, before a difference of their outcomes says anything
_RESAMPLES = 2000
FEWEST_RUNS = 20  # of a hook: with fewer runs the p95 is only the slowest run


class QualityMetric(StrEnum):
    """The four metrics: three about injected items, one about warranted corrections."""

    ON_TOPIC = "on_topic"
    USED = "used"
    CONTRADICTED = "contradicted"
    DISCOVERY = "discovery"


class Target(msgspec.Struct, frozen=True):
    """Target of a metric."""

    share: float
    is_ceiling: bool = False  # at most, not at least

    @property
    def kind(self) -> str:
        """The name of its direction in documents."""
        return "at_most" if self.is_ceiling else "at_least"

    def __str__(self) -> str:
        return f"{'≤' if self.is_ceiling else '≥'} {percent(self.share)}"


TARGETS: dict[QualityMetric, Target] = {  # section 2
    QualityMetric.ON_TOPIC: Target(0.80),
    QualityMetric.USED: Target(0.50),
    QualityMetric.CONTRADICTED: Target(0.05, is_ceiling=True),
    QualityMetric.DISCOVERY: Target(0.70),
}
ITEM_METRICS: dict[QualityMetric, Metric] = {QualityMetric(metric): metric for metric in Metric}


class TargetState(StrEnum):
    """Position of a metric relative to its target. The whole interval decides, not its middle."""

    MET = "met"
    MISSED = "missed"
    UNDECIDED = "undecided"
    UNKNOWN = "unknown"  # nothing was counted


class TrendDirection(StrEnum):
    """Change of a metric since the previous window. The interval of the difference decides."""

    BETTER = "better"
    WORSE = "worse"
    SAME = "none seen"
    UNKNOWN = "unknown"


class MetricStatus(msgspec.Struct, frozen=True):
    """One metric in this window and in the previous one, and corrected for the error of the judge."""

    metric: QualityMetric
    now: Rate
    before: Rate
    corrected: Estimate = Estimate()  # for the judge's error; without a value if the error is unknown
    pending: int = 0  # open warranted corrections, which would count in `now` if made now

    @property
    def target(self) -> Target:
        """Target of the metric."""
        return TARGETS[self.metric]

    @property
    def state(self) -> TargetState:
        """Position relative to the target; met or missed only if open corrections cannot change it."""
        state = state_of(self.now, self.target)
        if state is TargetState.MISSED and self.pending:  # they can only raise the rate
            state = state_of(Rate(self.now.k + self.pending, self.now.n, self.now.design), self.target)
            return state if state is TargetState.MISSED else TargetState.UNDECIDED
        return state

    @property
    def more(self) -> int | None:
        """Further counts that would decide at a constant share; 0: decided; None: no number would."""
        rate, share = _as_floor(self.now, self.target)
        return more_to_settle(rate, share)

    @property
    def difference(self) -> Difference | None:
        """Difference between this window and the previous one."""
        return unpaired_difference(self.before, self.now)

    @property
    def trend(self) -> TrendDirection:
        """Direction of a certain change."""
        difference = self.difference
        if difference is None:
            return TrendDirection.UNKNOWN
        if difference.low <= 0 <= difference.high:
            return TrendDirection.SAME
        has_risen = difference.low > 0
        return TrendDirection.BETTER if has_risen != self.target.is_ceiling else TrendDirection.WORSE


class WindowRates(msgspec.Struct, frozen=True):
    """Metrics of the window that ends with a day."""

    date: str
    rates: dict[QualityMetric, Rate]


def state_of(rate: Rate, target: Target) -> TargetState:
    """Return the position of a rate relative to a target."""
    rate, share = _as_floor(rate, target)
    if rate.interval is None:
        return TargetState.UNKNOWN
    low, high = rate.interval
    return TargetState.MET if low >= share else TargetState.MISSED if high < share else TargetState.UNDECIDED


def _as_floor(rate: Rate, target: Target) -> tuple[Rate, float]:
    """Return rate and share of an equivalent lower limit; a ceiling becomes its complement."""
    return (Rate(rate.n - rate.k, rate.n, rate.design), 1 - target.share) if target.is_ceiling else (rate, target.share)


def item_rate(counts: Counts, spread: Spread, metric: Metric) -> Rate:
    """Return the share of positive verdicts, with the design effect of turns."""
    k, n = counts.of(metric), counts.judged
    share = k / n if n else 0.0
    # Σ (k − share·n)² over the turns, multiplied out.
    squares = spread.kk.get(metric, 0) - 2 * share * spread.kn.get(metric, 0) + share * share * spread.nn
    return clustered_rate(k, n, spread.turns, max(0.0, squares))


def item_rates(day: DayRollup, backends: Collection[str] = ()) -> dict[QualityMetric, Rate]:
    """Return the three metrics about items, of a day or of a sum of days; with backends, of their items alone.

    Days keep sums over turns for all items: those of a backend get the same design effect.
    """
    found = {name: item_rate(day.injected, day.spread, metric) for name, metric in ITEM_METRICS.items()}
    if not backends:
        return found
    counts = sum((day.by_backend.get(name, Counts()) for name in backends), Counts())
    return {name: Rate(counts.of(ITEM_METRICS[name]), counts.judged, rate.design) for name, rate in found.items()}


def window(end: str, days: int = WINDOW_DAYS) -> tuple[str, str]:
    """Return the first and the last day of the window that ends with this day."""
    return (date.fromisoformat(end) - timedelta(days=days - 1)).isoformat(), end


def day_before(day: str, days: int = 1) -> str:
    """Return the day that is `days` days earlier."""
    return (date.fromisoformat(day) - timedelta(days=days)).isoformat()


def sum_of_days(days: Iterable[DayRollup], first: str, last: str) -> DayRollup:
    """Return the sum of the days from `first` to `last`, dated `last`."""
    total = DayRollup(last)
    for day in days:
        if first <= day.date <= last:
            total += day
    return total


def rolling(days: Sequence[DayRollup], last: str, discovered: Callable[[str, str], Rate]) -> tuple[WindowRates, ...]:
    """Return the metrics of the windows that end with each calendar day, from the first kept day to the last.

    `discovered` returns the discovery rate from one day to another.
    """
    known = {day.date: day for day in days}
    found = []
    for end in _calendar(min(known, default=""), last):
        first, _ = window(end)
        parts = [known[day] for day in _calendar(first, end) if day in known]
        injected, spread = sum((day.injected for day in parts), Counts()), sum((day.spread for day in parts), Spread())
        total = DayRollup(end, injected=injected, spread=spread)
        found.append(WindowRates(end, {**item_rates(total), QualityMetric.DISCOVERY: discovered(first, end)}))
    return tuple(found)


def _calendar(first: str, last: str) -> list[str]:
    """Return every day from the first to the last; none without a first day."""
    if not first:
        return []
    start = date.fromisoformat(first)
    number = (date.fromisoformat(last) - start).days + 1
    return [(start + timedelta(days=at)).isoformat() for at in range(number)]


def p95_ms(durations: Durations) -> int | None:
    """Return the p95 of hook runs in ms, right to a tenth; None without runs."""
    return durations.at_most(SLOW_SHARE)


def is_slower_than(durations: Durations, limit: int) -> bool:
    """Report whether the p95 is surely above the limit: enough runs, and more than the rounding of a tenth."""
    ms = p95_ms(durations)
    return ms is not None and durations.runs >= FEWEST_RUNS and ms > 1.1 * limit


class TurnOutcome(StrEnum):
    """Compared count of a turn; lower is better."""

    STEPS = "steps"
    CALLS = "calls"
    FAILED_SEARCHES = "failed_searches"
    CORRECTIVE_CALLS = "corrective_calls"
    TOKENS = "tokens"


class ArmTurn(msgspec.Struct, frozen=True):
    """A turn of one side with its known outcomes."""

    session: str
    is_held_out: bool
    outcomes: dict[TurnOutcome, float]


class OutcomeDifference(msgspec.Struct, frozen=True):
    """One outcome: the means of both sides, and injected − held out with its interval."""

    outcome: TurnOutcome
    injected: float | None = None
    held_out: float | None = None
    value: float | None = None
    low: float | None = None  # None: not known yet
    high: float | None = None
    n_injected: int = 0
    n_held_out: int = 0
    more: int | None = None  # further turns like these that would decide; 0: decided; None: unknown

    @property
    def is_decided(self) -> bool:
        """Report whether the whole interval is on one side of 0."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


class HoldoutComparison(msgspec.Struct, frozen=True):
    """Both sides, outcome by outcome."""

    injected: int  # turns
    held_out: int
    outcomes: tuple[OutcomeDifference, ...]
    sessions: int = 0

    @property
    def more_sessions(self) -> int | None:
        """Return about how many further sessions like these would decide an outcome; None if unknown."""
        needed = [outcome.more for outcome in self.outcomes if outcome.more]
        turns = self.injected + self.held_out
        return math.ceil(min(needed) * self.sessions / turns) if needed and turns else None


def compare_arms(turns: Iterable[ArmTurn]) -> HoldoutComparison:
    """Compare every outcome of both sides."""
    all_turns = list(turns)
    held_out = sum(turn.is_held_out for turn in all_turns)
    outcomes = tuple(_outcome_difference(all_turns, outcome) for outcome in TurnOutcome)
    sessions = len({turn.session for turn in all_turns})
    return HoldoutComparison(
        injected=len(all_turns) - held_out, held_out=held_out, outcomes=outcomes, sessions=sessions
    )


def _outcome_difference(turns: Sequence[ArmTurn], outcome: TurnOutcome) -> OutcomeDifference:
    """Compare one outcome over the turns that have it; no interval where a side has too few turns."""
    with_outcome = [turn for turn in turns if outcome in turn.outcomes]
    # First the injected side, then the one held out.
    sides = [[turn.outcomes[outcome] for turn in with_outcome if turn.is_held_out is held] for held in (False, True)]
    injected, held_out = (sum(side) / len(side) if side else None for side in sides)
    sizes = {"n_injected": len(sides[0]), "n_held_out": len(sides[1])}
    if injected is None or held_out is None:
        return OutcomeDifference(outcome, injected, held_out, **sizes)
    value = injected - held_out
    fewest = min(map(len, sides))
    if fewest < FEWEST_TURNS:
        missing = sum(max(0, FEWEST_TURNS - len(side)) for side in sides)
        return OutcomeDifference(outcome, injected, held_out, value, **sizes, more=missing)
    low, high = _outcome_interval(with_outcome, outcome, value)
    return OutcomeDifference(
        outcome, injected, held_out, value, low, high, **sizes, more=_more_turns(value, low, high, with_outcome)
    )


def _outcome_interval(
    turns: Sequence[ArmTurn], outcome: TurnOutcome, value: float
) -> tuple[float, float] | tuple[None, None]:
    """Return the 95% bootstrap interval over sessions; None with a single session or one side only."""
    sums: dict[str, list[float]] = {}  # session → sum and number of the injected side, then of the one held out
    for turn in turns:
        session_sums = sums.setdefault(turn.session, [0.0, 0, 0.0, 0])
        at = 2 * turn.is_held_out  # where the sums of its side begin
        session_sums[at] += turn.outcomes[outcome]
        session_sums[at + 1] += 1
    if len(sums) < 2:
        return None, None
    draw = random.Random(f"{outcome}/{len(sums)}/{value}")  # the same turns give the same interval
    clusters, found = list(sums.values()), []
    for _ in range(_RESAMPLES):
        total, n, other_total, other_n = map(sum, zip(*draw.choices(clusters, k=len(clusters)), strict=True))
        if n and other_n:  # a draw without one side is useless
            found.append(total / n - other_total / other_n)
    return middle_95(found) if found else (None, None)


def _more_turns(value: float, low: float | None, high: float | None, turns: Sequence[ArmTurn]) -> int | None:
    """Return how many further turns of both sides the interval needs to exclude 0. It shrinks with their root."""
    if low is None or high is None or not value:
        return None
    if not low <= 0 <= high:
        return 0
    reach = value - low if value > 0 else high - value  # of the interval, towards 0
    return max(1, round(len(turns) * (reach / abs(value)) ** 2) + 1 - len(turns))
