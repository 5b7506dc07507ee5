"""The rollout of measured ranking as values: legs, criteria, state and monitors.

Specification 2, sections 6 and 7. `quality/rollout/` has the legs, decides criteria and watches the failure modes;
`report/quality/rollout.py` has the words.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from knowbound.core.quality import Durations, Metric
from knowbound.stats.judge_gate import MeasuredMetric
from knowbound.stats.quality import QualityMetric
from knowbound.stats.rate import Rate
from knowbound.stats.sessions import ReplayResult


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
        return tuple(one for one in self.leave if one.state is not CriterionState.MET)

    @property
    def tripped(self) -> tuple[RolloutCriterion, ...]:
        """Kill criteria that tripped."""
        return tuple(one for one in self.kill if one.state is CriterionState.TRIPPED)


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
        return next(one for one in self.legs if one.is_current)

    @property
    def next(self) -> LegStatus | None:
        """The leg after the present one; None in the last leg."""
        number = self.current.leg.number + 1
        return self.legs[number] if number < len(self.legs) else None
