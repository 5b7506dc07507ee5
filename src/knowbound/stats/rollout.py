"""The rollout of measured ranking as values: legs, criteria, where it is, and what it watches.

Specification 2, sections 6 and 7. `quality/legs.py` has the legs and decides criteria, `quality/monitors.py` the
failure modes; `report/quality/rollout.py` has the words.
"""

from __future__ import annotations

from enum import StrEnum

import msgspec

from knowbound.core.quality import Metric
from knowbound.core.quality_log import Durations
from knowbound.stats.judge_gate import MeasuredMetric
from knowbound.stats.quality import QualityMetric
from knowbound.stats.rate import Rate
from knowbound.stats.replay import ReplayResult


class CriterionName(StrEnum):
    """What decides whether a leg is entered, left or reverted."""

    LEG_BEFORE = "leg_before"  # the leg before it can be left
    REPLAY = "replay"  # on logged pools its ranking is no worse
    DAYS = "days"
    CLEAN = "clean"  # few turns are without a verdict
    JUDGE = "judge"  # it passed its gate
    ON_TOPIC_RISE = "on_topic_rise"
    USAGE_RISE = "usage_rise"
    CONTRADICTION = "contradiction"  # no worse
    ON_TOPIC_TARGET = "on_topic_target"
    DISCOVERY_TARGET = "discovery_target"
    STOP_HOOK = "stop_hook"
    AGREEMENT = "agreement"
    ON_TOPIC_DROP = "on_topic_drop"
    PROMPT_HOOK = "prompt_hook"
    FALSE_DEMOTIONS = "false_demotions"
    REGRESSION = "regression"  # any of the three metrics of items is worse
    DRIFT = "drift"


class CriterionState(StrEnum):
    """Where a criterion is. One that kills is met as long as its limit is kept."""

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
    n: int = 0  # counts behind it
    more: int | None = None  # that would decide, where that is known
    metrics: tuple[str, ...] = ()  # that it failed on


class Leg(msgspec.Struct, frozen=True):
    """A step of the rollout: what it switches on, and what decides about it."""

    number: int
    backends: tuple[str, ...] = ()  # whose items are ranked by measured quality from here on
    corrective_loop: bool = False  # from here on
    enter: tuple[CriterionName, ...] = ()
    leave: tuple[CriterionName, ...] = ()
    kill: tuple[CriterionName, ...] = ()

    @property
    def name(self) -> str:
        """What it switches on, as it is stored."""
        return "+".join((*self.backends, *(("loop",) if self.corrective_loop else ()))) or "measure"


class Baseline(msgspec.Struct, frozen=True):
    """The days before a leg began, which it is compared with."""

    first: str
    last: str
    rates: dict[QualityMetric, Rate] = {}


class EventKind(StrEnum):
    """Why the leg changed."""

    ADVANCED = "advanced"  # somebody asked for it
    REVERTED = "reverted"  # somebody asked for it
    KILLED = "killed"  # a kill criterion tripped


class RolloutEvent(msgspec.Struct, frozen=True, omit_defaults=True):
    """A change of the leg."""

    time: str
    kind: EventKind
    before: int
    after: int
    by: str = ""
    tripped: tuple[CriterionName, ...] = ()


class RolloutState(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where the rollout is. Kept in the quality log, for all machines that share it."""

    leg: int = 0
    since: str = ""  # when the leg began; "": measuring always did
    plan: tuple[str, ...] = ()  # the names of the legs after leg 0, as they were when it was written
    baselines: dict[int, Baseline] = {}  # leg → the days before it
    exploration: bool = False
    history: tuple[RolloutEvent, ...] = ()

    @property
    def last_kill(self) -> RolloutEvent | None:
        """The newest change, where a kill criterion made it."""
        return self.history[-1] if self.history and self.history[-1].kind is EventKind.KILLED else None


class LegFacts(msgspec.Struct, frozen=True):
    """What is known about the days of a leg."""

    days: int = 0  # with turns
    turns: int = 0
    unscored: Rate = Rate()
    measured: dict[Metric, MeasuredMetric] = {}  # about the judge; empty: never compared with labels
    labelled: int = 0  # turns that it was compared on
    drifted: tuple[Metric, ...] | None = None  # None: there is no weekly sample
    prompt_ms: Durations = Durations()
    stop_ms: Durations = Durations()
    now: dict[QualityMetric, Rate] = {}  # over the last seven days of the leg
    before: dict[QualityMetric, Rate] = {}  # the baseline
    demotions: Rate = Rate()  # in the leg: those that were reversed
    replay: ReplayResult | None = None  # the newest one that is about the next leg


class LegStatus(msgspec.Struct, frozen=True):
    """A leg with its criteria, as far as they are decided now."""

    leg: Leg
    is_current: bool = False
    is_done: bool = False
    enter: tuple[RolloutCriterion, ...] = ()
    leave: tuple[RolloutCriterion, ...] = ()
    kill: tuple[RolloutCriterion, ...] = ()

    @property
    def missing(self) -> tuple[RolloutCriterion, ...]:
        """What keeps it from being left."""
        return tuple(one for one in self.leave if one.state is not CriterionState.MET)

    @property
    def tripped(self) -> tuple[RolloutCriterion, ...]:
        """Kill criteria that hold."""
        return tuple(one for one in self.kill if one.state is CriterionState.TRIPPED)


class FailureMode(StrEnum):
    """What can go wrong with measuring and ranking by it (section 7)."""

    SLOW_STOP_HOOK = "slow_stop_hook"
    JUDGE_DRIFT = "judge_drift"
    FALSE_DEMOTIONS = "false_demotions"
    LONG_CHAINS = "long_chains"
    SELF_REINFORCING = "self_reinforcing"
    LOG_SIZE = "log_size"
    SWITCHED_OFF = "switched_off"  # anything else: the off switch


class Monitor(msgspec.Struct, frozen=True):
    """One failure mode: its number against its limit; None and not tripped where nothing can be said."""

    mode: FailureMode
    value: float | None
    limit: float
    tripped: bool = False
    n: int = 0
    metrics: tuple[str, ...] = ()  # on which the judge drifted


class RolloutStatus(msgspec.Struct, frozen=True):
    """Everything that `quality rollout` shows."""

    legs: tuple[LegStatus, ...]
    state: RolloutState
    monitors: tuple[Monitor, ...] = ()
    changed: RolloutEvent | None = None  # by this call
    refused: bool = False  # it was asked for, and not done

    @property
    def current(self) -> LegStatus:
        """The leg that it is in."""
        return next(one for one in self.legs if one.is_current)

    @property
    def next(self) -> LegStatus | None:
        """The leg after it; None in the last."""
        number = self.current.leg.number + 1
        return self.legs[number] if number < len(self.legs) else None
