"""Comparisons of logged turns, with whole sessions resampled, because turns of one session are dependent.

Turns with injected items against turns whose items were withheld at random: the four metrics of specification 2 show
whether injected items are used, and only a random comparison shows their effect. And two rankings of the same logged
candidates: the judged items among its first k represent a ranking, by the share of positive verdicts on them.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence
from enum import StrEnum

import msgspec

from knowbound.core.quality import Metric
from knowbound.stats.floor import FEWEST_PROMPTS
from knowbound.stats.rate import Mean, Rate, mean_of, middle_95

FEWEST_TURNS = 20  # on each side, before a difference says anything
_RESAMPLES = 2000


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
    given = list(turns)
    held = sum(turn.is_held_out for turn in given)
    outcomes = tuple(_compared(given, outcome) for outcome in TurnOutcome)
    return HoldoutComparison(len(given) - held, held, outcomes, len({turn.session for turn in given}))


def _compared(turns: Sequence[ArmTurn], outcome: TurnOutcome) -> OutcomeDifference:
    known = [turn for turn in turns if outcome in turn.outcomes]
    sides = [[turn.outcomes[outcome] for turn in known if turn.is_held_out is held] for held in (False, True)]
    injected, held_out = (sum(side) / len(side) if side else None for side in sides)
    sizes = {"n_injected": len(sides[0]), "n_held_out": len(sides[1])}
    if injected is None or held_out is None:
        return OutcomeDifference(outcome, injected, held_out, **sizes)
    value = injected - held_out
    fewest = min(map(len, sides))
    if fewest < FEWEST_TURNS:
        missing = sum(max(0, FEWEST_TURNS - len(side)) for side in sides)
        return OutcomeDifference(outcome, injected, held_out, value, **sizes, more=missing)
    low, high = _interval(known, outcome, value)
    return OutcomeDifference(
        outcome, injected, held_out, value, low, high, **sizes, more=_more(value, low, high, known)
    )


def _interval(turns: Sequence[ArmTurn], outcome: TurnOutcome, value: float) -> tuple[float, float] | tuple[None, None]:
    """Return the 95% bootstrap interval over sessions; None with a single session or one side only."""
    sums: dict[str, list[float]] = {}  # session → sum and number of either side
    for turn in turns:
        one = sums.setdefault(turn.session, [0.0, 0, 0.0, 0])
        at = 2 * turn.is_held_out
        one[at] += turn.outcomes[outcome]
        one[at + 1] += 1
    if len(sums) < 2:
        return None, None
    draw = random.Random(f"{outcome}/{len(sums)}/{value}")
    clusters, found = list(sums.values()), []
    for _ in range(_RESAMPLES):
        total, n, other_total, other_n = map(sum, zip(*draw.choices(clusters, k=len(clusters)), strict=True))
        if n and other_n:  # a draw without one side is useless
            found.append(total / n - other_total / other_n)
    return middle_95(found) if found else (None, None)


def _more(value: float, low: float | None, high: float | None, turns: Sequence[ArmTurn]) -> int | None:
    """Return how many further turns of both sides the interval needs to exclude 0. It shrinks with their root."""
    if low is None or high is None or not value:
        return None
    if not low <= 0 <= high:
        return 0
    reach = value - low if value > 0 else high - value
    return max(1, round(len(turns) * (reach / abs(value)) ** 2) + 1 - len(turns))


FEWEST_REPLAYED = FEWEST_PROMPTS  # with judged items in both rankings, before a replay decides anything


class Ranker(StrEnum):
    """The backends whose candidates are ordered by measured quality; the others are ordered by stored confidence."""

    PRESENT = "present"  # those of the present leg
    QUALITY = "quality"  # those of the next leg, too


class Ranking(msgspec.Struct, frozen=True):
    """A ranker, the backends whose measured quality it counts, and its floor of relevance."""

    ranker: Ranker
    backends: tuple[str, ...] = ()
    floor: float = 0.0


class ReplayVerdict(StrEnum):
    """The verdict of a replay on the candidate."""

    NO_WORSE = "no worse"
    WORSE = "worse"  # in one metric for certain
    TOO_FEW = "too few"  # turns


class MetricChange(msgspec.Struct, frozen=True):
    """One metric: precision at k of both rankings, and the mean difference per turn with its interval."""

    before: Rate
    after: Rate
    difference: Mean


class ReplayResult(msgspec.Struct, frozen=True):
    """The result of a replay. It has counts alone: every machine that shares the log sees it."""

    made: str
    before: Ranking
    after: Ranking
    k: int
    compared: int = 0  # turns with a judged item in the first k of both
    metrics: dict[Metric, MetricChange] = {}

    @property
    def verdict(self) -> ReplayVerdict:
        """Decide whether the candidate may replace the present ranking."""
        if self.compared < FEWEST_REPLAYED:
            return ReplayVerdict.TOO_FEW
        if any(is_worse(metric, one.difference) for metric, one in self.metrics.items()):
            return ReplayVerdict.WORSE
        return ReplayVerdict.NO_WORSE


class TurnPair(msgspec.Struct, frozen=True):
    """The verdicts of one metric on the judged items among the first k of both rankings, in one turn."""

    session: str
    before: tuple[bool, ...]
    after: tuple[bool, ...]


def compare(pairs: Sequence[TurnPair]) -> MetricChange:
    """Compare one metric over turns in which both rankings have a judged item."""
    clusters: dict[str, list[float]] = {}
    for pair in pairs:
        clusters.setdefault(pair.session, []).append(_share(pair.after) - _share(pair.before))
    difference = mean_of(clusters.values())
    if len(clusters) > 1 and difference.low is None:  # every turn has the same difference: the interval is a point
        difference = Mean(difference.n, difference.value, difference.value, difference.value)
    return MetricChange(_rate(pair.before for pair in pairs), _rate(pair.after for pair in pairs), difference)


def is_worse(metric: Metric, difference: Mean) -> bool:
    """Report whether the whole interval is on the bad side: contradictions are to be few, the rest is to be much."""
    if difference.low is None or difference.high is None:
        return False
    return difference.low > 0 if metric is Metric.CONTRADICTED else difference.high < 0


def _share(said: tuple[bool, ...]) -> float:
    return sum(said) / len(said)


def _rate(turns: Iterable[tuple[bool, ...]]) -> Rate:
    said = [one for turn in turns for one in turn]
    return Rate(sum(said), len(said))
