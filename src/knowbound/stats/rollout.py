"""The rollout of measured ranking as values: legs, criteria, state and monitors; and the replay of two rankings.

Specification 2, sections 6 and 7. `quality/rollout/` has the legs, decides criteria and watches the failure modes;
`report/quality/rollout.py` has the words. A replay compares two rankings of the same logged candidates: the judged
items among its first k represent a ranking, by the share of positive verdicts on them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

import msgspec

from knowbound.core.quality import Durations, Metric
from knowbound.stats.floor import FEWEST_PROMPTS
from knowbound.stats.judge_gate import MeasuredMetric
from knowbound.stats.quality import QualityMetric
from knowbound.stats.rate import Mean, Rate, mean_of

FEWEST_REPLAYED = FEWEST_PROMPTS  # turns with judged items in both rankings, before a replay decides anything


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
    if difference.low is None or difference.high is None:
        return False
    return difference.low > 0 if metric is Metric.CONTRADICTED else difference.high < 0


def _share(verdicts: tuple[bool, ...]) -> float:
    return sum(verdicts) / len(verdicts)


def _rate(turns: Iterable[tuple[bool, ...]]) -> Rate:
    verdicts = [verdict for turn in turns for verdict in turn]
    return Rate(sum(verdicts), len(verdicts))
