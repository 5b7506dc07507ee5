"""Measured ranking: effective confidence, the replay of two rankings, and the rollout as values.

Specification 2, section 4: a stored confidence is adjusted by measured use and contradiction.

    effective = max(0, stored · (1 + α · usage − β · contradiction))

Usage and contradiction are exponential moving averages over the injections of an item, in the order of turns, from 0
on. So one use makes × 1.15, one contradiction × 0.40 and two make 0: wrong information costs more than missing
information. Not being used is never punished by itself.

Sections 6 and 7: `quality/rollout/` has the legs, decides criteria and watches the failure modes;
`report/quality/rollout.py` has the words. A replay compares two rankings of the same logged candidates: the judged
items among its first k represent a ranking, by the share of positive verdicts on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from enum import StrEnum
from statistics import median

import msgspec

from knowbound.core.quality import CONTRACT, DayRollup, Durations, Metric, QualityScores, QualityTurn, Weights
from knowbound.stats.floor import FEWEST_PROMPTS
from knowbound.stats.judge_gate import MeasuredMetric
from knowbound.stats.quality import QualityMetric
from knowbound.stats.rate import Mean, Rate, mean_of

FEWEST_REPLAYED = FEWEST_PROMPTS  # turns with judged items in both rankings, before a replay decides anything


# The rollout


class CriterionName(StrEnum):
    """Criterion for entering, leaving or reverting a leg."""

    LEG_BEFORE = "leg_before"  # the previous leg can be left
    REPLAY = "replay"  # the ranking of the leg is no worse on logged candidates
    DAYS = "days"
    CLEAN = "clean"  # few turns are without a verdict
    JUDGE = "judge"  # the judge passed its gate
    ON_TOPIC_RISE = "on_topic_rise"
    USAGE_RISE = "usage_rise"
    CONTRADICTION = "contradiction"  # no worse
    ON_TOPIC_TARGET = "on_topic_target"
    DISCOVERY_TARGET = "discovery_target"
    STOP_HOOK = "stop_hook"
    AGREEMENT = "agreement"
    ON_TOPIC_DROP = "on_topic_drop"
    RANKING_COST = "ranking_cost"  # of searching and ranking, without the start of a process
    FALSE_DEMOTIONS = "false_demotions"
    REGRESSION = "regression"  # any of the three metrics of items is worse
    DRIFT = "drift"


class CriterionState(StrEnum):
    """State of a criterion. A kill criterion is met while its limit is kept."""

    MET = "met"
    NOT_YET = "not yet"
    TRIPPED = "tripped"
    UNKNOWN = "unknown"


class RolloutCriterion(msgspec.Struct, frozen=True):
    """A criterion with its numbers: days, ms or shares; differences are shares as well."""

    name: CriterionName
    state: CriterionState
    value: float | None = None
    limit: float | None = None
    low: float | None = None  # the 95% interval of the value
    high: float | None = None
    n: int = 0  # number of counts
    more: int | None = None  # further counts that would decide, if known
    metrics: tuple[str, ...] = ()  # failed metrics


class Leg(msgspec.Struct, frozen=True):
    """A step of the rollout: its features and its criteria."""

    number: int
    backends: tuple[str, ...] = ()  # backends ranked by measured quality from this leg on
    enter: tuple[CriterionName, ...] = ()
    leave: tuple[CriterionName, ...] = ()
    kill: tuple[CriterionName, ...] = ()

    @property
    def name(self) -> str:
        """Stored name, made from the features of the leg."""
        return "+".join(self.backends) or "measure"


class Baseline(msgspec.Struct, frozen=True):
    """The days before a leg began: the leg is compared with them."""

    first: str
    last: str
    rates: dict[QualityMetric, Rate] = {}
    of_backend: dict[QualityMetric, Rate] = {}  # of the backend that the leg ranks; empty in earlier versions


class EventKind(StrEnum):
    """Reason for a change of the leg."""

    ADVANCED = "advanced"  # requested by a person, or by itself: every criterion was met
    FORCED = "forced"  # requested by a person although criteria were open
    REVERTED = "reverted"  # requested by a person
    KILLED = "killed"  # a kill criterion tripped


class RolloutEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """A change of the leg."""

    time: str
    kind: EventKind
    before: int
    after: int
    by: str = ""
    tripped: tuple[CriterionName, ...] = ()  # of a forced leg: the open criteria


class RolloutState(msgspec.Struct, frozen=True, omit_defaults=True):
    """State of the rollout, kept in the quality log for all machines that share it."""

    leg: int = 0
    since: str = ""  # start of the leg; "": leg 0 since the first measurement
    plan: tuple[str, ...] = ()  # names of the legs after leg 0 at the time of writing
    baselines: dict[int, Baseline] = {}  # leg → the days before it
    exploration: bool = False
    history: tuple[RolloutEvent, ...] = ()

    @property
    def last_kill(self) -> RolloutEvent | None:
        """The newest change, if a kill criterion made it."""
        return self.history[-1] if self.history and self.history[-1].kind is EventKind.KILLED else None


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
        if any(is_worse(metric, change.difference) for metric, change in self.metrics.items()):
            return ReplayVerdict.WORSE
        return ReplayVerdict.NO_WORSE


class LegFacts(msgspec.Struct, frozen=True):
    """Facts about the days of a leg."""

    days: int = 0  # with turns
    turns: int = 0
    unscored: Rate = Rate()
    measured: dict[Metric, MeasuredMetric] = {}  # of the judge; empty: never compared with labels
    labelled: int = 0  # labelled turns of that comparison
    drifted: tuple[Metric, ...] | None = None  # None: no weekly sample
    rank_ms: Durations = Durations()  # of searching and ranking in the last seven days
    slow_days: Rate = Rate()  # of these, days on which its p95 was over the limit
    stop_ms: Durations = Durations()
    now: dict[QualityMetric, Rate] = {}  # last seven days of the leg
    before: dict[QualityMetric, Rate] = {}  # the baseline
    leg_now: dict[QualityMetric, Rate] = {}  # the same of the backend that the leg ranks
    leg_before: dict[QualityMetric, Rate] = {}
    demotions: Rate = Rate()  # in the leg: share of reversed ones
    replay: ReplayResult | None = None  # newest replay for the next leg


class LegStatus(msgspec.Struct, frozen=True):
    """A leg with the present state of its criteria."""

    leg: Leg
    is_current: bool = False
    is_done: bool = False
    enter: tuple[RolloutCriterion, ...] = ()
    leave: tuple[RolloutCriterion, ...] = ()
    kill: tuple[RolloutCriterion, ...] = ()

    @property
    def missing(self) -> tuple[RolloutCriterion, ...]:
        """Criteria that keep the leg from being left."""
        return tuple(criterion for criterion in self.leave if criterion.state is not CriterionState.MET)

    @property
    def tripped(self) -> tuple[RolloutCriterion, ...]:
        """Kill criteria that tripped."""
        return tuple(criterion for criterion in self.kill if criterion.state is CriterionState.TRIPPED)


class FailureMode(StrEnum):
    """Failure mode of measured ranking (section 7)."""

    SLOW_STOP_HOOK = "slow_stop_hook"
    JUDGE_DRIFT = "judge_drift"
    FALSE_DEMOTIONS = "false_demotions"
    LONG_CHAINS = "long_chains"
    SELF_REINFORCING = "self_reinforcing"
    LOG_SIZE = "log_size"
    SWITCHED_OFF = "switched_off"  # anything else: the off switch


class Monitor(msgspec.Struct, frozen=True):
    """One failure mode with its value and limit; None: unknown, and not tripped."""

    mode: FailureMode
    value: float | None
    limit: float
    tripped: bool = False
    n: int = 0
    metrics: tuple[str, ...] = ()  # metrics on which the judge drifted


class RolloutStatus(msgspec.Struct, frozen=True):
    """The result of `quality rollout`."""

    legs: tuple[LegStatus, ...]
    state: RolloutState
    monitors: tuple[Monitor, ...] = ()
    changed: RolloutEvent | None = None  # change by this call
    refused: bool = False  # a requested change was not made

    @property
    def current(self) -> LegStatus:
        """The present leg."""
        return next(leg for leg in self.legs if leg.is_current)

    @property
    def next(self) -> LegStatus | None:
        """The leg after the present one; None in the last leg."""
        number = self.current.leg.number + 1
        return self.legs[number] if number < len(self.legs) else None


class TurnPair(msgspec.Struct, frozen=True):
    """The verdicts of one metric on the judged items among the first k of both rankings, in one turn."""

    session: str
    before: tuple[bool, ...]
    after: tuple[bool, ...]


def metric_change(pairs: Sequence[TurnPair]) -> MetricChange:
    """Compare one metric over turns in which both rankings have a judged item."""
    clusters: dict[str, list[float]] = {}
    for pair in pairs:
        clusters.setdefault(pair.session, []).append(_share(pair.after) - _share(pair.before))
    difference = mean_of(clusters.values())
    if len(clusters) > 1 and difference.low is None:  # every turn has the same difference: the interval is a point
        difference = msgspec.structs.replace(difference, low=difference.value, high=difference.value)
    before, after = _rate(pair.before for pair in pairs), _rate(pair.after for pair in pairs)
    return MetricChange(before=before, after=after, difference=difference)


def is_worse(metric: Metric, difference: Mean) -> bool:
    """Report whether the whole interval is on the bad side: contradictions are to be few, the rest is to be much."""
    if difference.low is None or difference.high is None:  # unknown
        return False
    return difference.low > 0 if metric is Metric.CONTRADICTED else difference.high < 0


def _share(verdicts: tuple[bool, ...]) -> float:
    return sum(verdicts) / len(verdicts)


def _rate(turns: Iterable[tuple[bool, ...]]) -> Rate:
    verdicts = [verdict for turn in turns for verdict in turn]
    return Rate(sum(verdicts), len(verdicts))


# Effective confidence


def effective_confidence(stored: float, scores: QualityScores, weights: Weights = CONTRACT) -> float:
    """Return the confidence that ranks an item. It is never below 0: a badly contradicted item ranks last."""
    return stored * scores.factor(weights)


def scores_of(days: Iterable[DayRollup]) -> dict[str, QualityScores]:
    """Return the newest averages of every injected item."""
    found: dict[str, QualityScores] = {}
    for day in sorted(days, key=lambda day: day.date):
        found |= day.scores
    return found


def scores_by_turns(
    before: dict[str, QualityScores],
    turns: Iterable[QualityTurn],
    gamma: float,
    dismissed: Mapping[str, Sequence[tuple[str, str]]] | None = None,
) -> dict[str, QualityScores]:
    """Return the averages of the items of these turns, which are in order. Without a verdict nothing changes.

    `dismissed` has spans of time, by item: a contradiction in one of them was answered as none, and counts as none.
    """
    found: dict[str, QualityScores] = {}
    for turn in turns:
        for item in turn.injected_items:
            if item.verdict:
                scores = found.get(item.id) or before.get(item.id, QualityScores())
                verdict, time = item.verdict, turn.timestamp
                spans = (dismissed or {}).get(item.id, ())
                contradicted = verdict.contradicted and not any(first <= time < last for first, last in spans)
                found[item.id] = scores.after(verdict.used, contradicted, gamma, last=time, sha=item.content_sha)
    return found


def scores_by_day(before: dict[str, QualityScores], day: DayRollup, gamma: float) -> dict[str, QualityScores]:
    """Return the averages after a day whose turns are gone: the shares of the day count as one injection."""
    found = {}
    for item, counts in day.by_item.items():
        if counts.judged:  # without a verdict nothing changes
            used, contradicted = counts.used / counts.judged, counts.contradicted / counts.judged
            found[item] = before.get(item, QualityScores()).after(used, contradicted, gamma, last=day.date)
    return found


REVERSED_DAYS = 7  # "demoted, then promoted again within 7 days"
MOST_REVERSED = 0.10  # "above 10%: raise α, lower β"
MOST_RATIO = 3.0  # "usage of items above against below the median confidence; ratio > 3"
FEWEST_VERDICTS = 20  # in each half, before their ratio says anything


class Demotion(msgspec.Struct, frozen=True):
    """An item whose factor fell below 1, and the first day on which the factor was 1 or more again."""

    item: str
    date: str
    back: str = ""

    @property
    def is_reversed(self) -> bool:
        """Report whether the item was back within seven days."""
        return bool(self.back) and self.back <= _last_reversal_day(self.date)


def demotions(days: Iterable[DayRollup], weights: Weights = CONTRACT) -> list[Demotion]:
    """Return every fall of an item's factor below 1, oldest first, by the averages at the end of each day.

    An item that was reworded was not promoted: its demotion belongs to the wording before.
    """
    scores: dict[str, QualityScores] = {}
    found: list[Demotion] = []
    open_: dict[str, int] = {}  # item → index of its demotion
    for day in sorted(days, key=lambda day: day.date):
        for item, after in day.scores.items():
            before = scores.get(item, QualityScores())
            scores[item] = after
            if before.sha and after.sha and before.sha != after.sha:  # reworded
                open_.pop(item, None)
                before = QualityScores()
            if before.factor(weights) >= 1 > after.factor(weights):
                open_[item] = len(found)
                found.append(Demotion(item, day.date))
            elif after.factor(weights) >= 1 and item in open_:
                at = open_.pop(item)
                found[at] = msgspec.structs.replace(found[at], back=day.date)
    return found


def false_demotions(found: Iterable[Demotion], first: str, last: str) -> Rate:
    """Return the share of the demotions since `first` that were reversed within seven days.

    Only demotions whose seven days are over by the last day count: a younger one may still be reversed.
    """
    settled = [demotion for demotion in found if demotion.date >= first and _last_reversal_day(demotion.date) <= last]
    return Rate(sum(demotion.is_reversed for demotion in settled), len(settled))


class Reinforcement(msgspec.Struct, frozen=True):
    """Usage of the items above the median effective confidence, and of the other items."""

    above: Rate = Rate()
    below: Rate = Rate()

    @property
    def ratio(self) -> float | None:
        """Ratio of the usage above to the usage below; None with too few verdicts or without usage below."""
        if not self.is_known or not self.below.k:
            return None
        return (self.above.k / self.above.n) / (self.below.k / self.below.n)

    @property
    def is_known(self) -> bool:
        """Report whether both sides have enough verdicts."""
        return min(self.above.n, self.below.n) >= FEWEST_VERDICTS

    @property
    def is_tripped(self) -> bool:
        """Report whether the ranking reinforces itself: only items that rank high are used."""
        if not self.is_known:
            return False
        # `ratio` above its limit, multiplied out: without any use below, the ratio does not exist.
        return self.above.k * self.below.n > MOST_RATIO * self.below.k * self.above.n


def reinforcement(
    window: DayRollup, scores: Mapping[str, QualityScores], stored: Mapping[str, float], weights: Weights = CONTRACT
) -> Reinforcement:
    """Return the usage in a window by the effective confidence before it, so that use does not explain itself."""
    judged = {item: counts for item, counts in window.by_item.items() if counts.judged}
    ranked = {
        item: effective_confidence(stored.get(item, 1.0), scores.get(item, QualityScores()), weights) for item in judged
    }
    if len(set(ranked.values())) < 2:  # nothing is above and below
        return Reinforcement()
    middle = median(ranked.values())
    halves = [Rate(), Rate()]  # not above the middle, above it
    for item, counts in judged.items():
        halves[ranked[item] > middle] += Rate(counts.used, counts.judged)
    return Reinforcement(above=halves[True], below=halves[False])


def _last_reversal_day(day: str) -> str:
    """Return the last day on which a demotion of this day can be reversed."""
    return (date.fromisoformat(day) + timedelta(days=REVERSED_DAYS)).isoformat()
