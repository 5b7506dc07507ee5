"""Whether a judge of turns may be relied on, metric by metric (specification 2, "The judge" and "Rollout", leg 0).

The contract: 50 hand-labelled turns, agreement of at least 85%; below it the larger model, and if that fails too the
prompt needs work; below 70% the judge is dropped. Two things are added, because agreement on a rare answer says little:

- An interval decides, not its middle. 43 of 50 is 86%, and anything from 74% to 93%: that is underpowered, not passed.
- A judge must be shown to agree beyond chance (κ above 0). One that always says "not contradicted" agrees in 95% of the
  items where 5% are contradicted, and has seen nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from knowbound.core.quality import Metric
from knowbound.stats.calibration import Calibration, Share, more_labels
from knowbound.stats.rate import wilson

LABELLED_TURNS = 50  # "The judge": hand-labelled turns that a judge is compared with
AGREEMENT = 0.85  # "The judge": below it the larger model is tried
KILL_AGREEMENT = 0.70  # "The judge" and "Rollout", leg 0: below it the judge is dropped
COIN = 0.5  # of the rare answers; a judge of one answer is shown to be blind where it finds fewer for certain
RANKING: tuple[Metric, ...] = (Metric.USED, Metric.CONTRADICTED)  # "Effective confidence" rests on these two
DRIFT_TURNS = 10  # hand-labelled turns of the weekly sample
DRIFT_DAYS = 7
_MOST_TIMES = 2_000  # times the labels there are: beyond this no number of labels decides in practice


class GateState(StrEnum):
    """Where a judge stands on one metric."""

    PASSED = "passed"
    FALLBACK = "fallback"  # it is below the limit: the larger model's turn; with it, that model passed in its place
    HALTED = "halted"  # nobody is left to ask: the prompt needs work, not a bigger model
    KILLED = "killed"
    UNDERPOWERED = "underpowered"
    UNMEASURED = "unmeasured"


class GateReason(StrEnum):
    """Why it stands there; `report/` has the words."""

    AGREES = "agrees"
    NO_VERDICT = "no_verdict"
    FEW_TURNS = "few_turns"
    UNDECIDED = "undecided"  # the interval of agreement holds the limit
    ONE_SIDED = "one_sided"  # every label gives the same answer
    NOT_BEYOND_CHANCE = "not_beyond_chance"  # the interval of κ holds 0
    ONE_ANSWER = "one_answer"  # it says the same of everything, and misses the rest for certain
    BELOW = "below"
    FAR_BELOW = "far_below"


class MetricGate(msgspec.Struct, frozen=True):
    """The state of one metric, why, and how many more labelled turns would decide (None: nobody can say)."""

    state: GateState
    reason: GateReason  # of the judge itself
    more: int | None = None
    fallback: GateState | None = None  # of the larger model by itself, where it was asked

    @property
    def is_reliable(self) -> bool:
        """Whether something may rest on the metric: the judge, or the one in its place, has passed."""
        return self.state in (GateState.PASSED, GateState.FALLBACK)


class MeasuredMetric(msgspec.Struct, frozen=True):
    """One metric of one judge: the figures, with the counts of labels against verdicts, and its state."""

    found: Calibration
    gate: MetricGate


def gate(found: Calibration, turns: int) -> MetricGate:
    """One judge by itself, on one metric, from its verdicts on the items of so many labelled turns."""
    agreement, kappa = found.agreement, found.kappa
    if not turns or agreement.low is None or agreement.high is None:
        return MetricGate(GateState.UNMEASURED, GateReason.NO_VERDICT, LABELLED_TURNS)
    if turns < LABELLED_TURNS:
        return _undecided(GateReason.FEW_TURNS, LABELLED_TURNS - turns)
    if agreement.high < KILL_AGREEMENT:
        return MetricGate(GateState.KILLED, GateReason.FAR_BELOW)
    if agreement.high < AGREEMENT:
        return MetricGate(GateState.FALLBACK, GateReason.BELOW)
    if _is_blind(found):
        return MetricGate(GateState.FALLBACK, GateReason.ONE_ANSWER)
    if found.prevalence.k in (0, found.prevalence.n):
        return _undecided(GateReason.ONE_SIDED, None)
    if agreement.low < AGREEMENT:
        return _undecided(GateReason.UNDECIDED, _more_turns(agreement, turns))
    if kappa.value is None or kappa.low is None or kappa.high is None or kappa.low <= 0:
        more = None
        if kappa.value is not None and kappa.low is not None and kappa.high is not None and kappa.value > 0:
            more = more_labels(kappa.value, kappa.low, kappa.high, 0.0, turns)
        return _undecided(GateReason.NOT_BEYOND_CHANCE, more)
    return MetricGate(GateState.PASSED, GateReason.AGREES)


def with_fallback(first: MetricGate, second: MetricGate | None) -> MetricGate:
    """The state after the larger model judged the same turns; None where there is no larger model to ask."""
    if first.state is not GateState.FALLBACK:
        return first
    if second is None:
        return msgspec.structs.replace(first, state=GateState.HALTED)
    if second.state is GateState.PASSED:
        state = GateState.FALLBACK
    elif second.state in (GateState.UNDERPOWERED, GateState.UNMEASURED, GateState.KILLED):
        state = second.state
    else:
        state = GateState.HALTED
    return msgspec.structs.replace(first, state=state, more=second.more, fallback=second.state)


def waits_for(gates: Mapping[Metric, MetricGate], metrics: Iterable[Metric]) -> tuple[Metric, ...]:
    """Those of the metrics that may not be relied on yet. What rests on a metric waits for that metric alone."""
    return tuple(metric for metric in metrics if metric not in gates or not gates[metric].is_reliable)


def may_rely_on(gates: Mapping[Metric, MetricGate], metrics: Iterable[Metric]) -> bool:
    """Whether all of these metrics may be relied on: `RANKING` for the ranking, every metric to leave leg 0."""
    return not waits_for(gates, metrics)


def _undecided(reason: GateReason, more: int | None) -> MetricGate:
    return MetricGate(GateState.UNDERPOWERED, reason, more)


def _is_blind(found: Calibration) -> bool:
    """Whether it gives one answer to everything, and labels show that it misses most of the other answer.

    Its κ is 0 however many labels there are, so that more of them would not help it.
    """
    said = found.said
    if said.k not in (0, said.n):
        return False
    missed = found.specificity if said.k else found.sensitivity
    return missed.high is not None and missed.high < COIN


def _more_turns(agreement: Share, turns: int) -> int | None:
    """Turns that are missing if agreement stays as it is, until its interval is on one side of the limit."""
    assert agreement.value is not None

    def decides(times: float) -> bool:
        low, high = wilson(agreement.value or 0.0, agreement.effective * times)
        return low >= AGREEMENT or high < AGREEMENT

    few, many = 1.0, 2.0
    while not decides(many):
        few, many = many, many * 2
        if many > _MOST_TIMES:
            return None
    for _ in range(20):
        middle = (few + many) / 2
        few, many = (few, middle) if decides(middle) else (middle, many)
    return max(1, math.ceil(turns * many) - turns)


class SampledMetric(msgspec.Struct, frozen=True):
    """Agreement on one metric in the sample, what it was when the judge was calibrated, and whether it fell."""

    agreement: Share
    calibrated: Share
    drifted: bool


class WeeklySample(msgspec.Struct, frozen=True):
    """The newest sample; or, where there is none of the last seven days, how far it is and when it is due."""

    labelled: int  # turns, of the ten
    due: str  # when the next one is, or was, due; UTC
    is_due: bool = False
    metrics: dict[Metric, SampledMetric] = {}  # empty: there is no sample yet

    @property
    def drifted(self) -> tuple[Metric, ...]:
        """The metrics on which the judge agrees less for certain: it counts as a new judge, to be calibrated."""
        return tuple(metric for metric, one in self.metrics.items() if one.drifted)


def has_drifted(sample: Share, calibrated: Share) -> bool:
    """Whether a newer sample agrees less for certain: than when the judge was calibrated, or than the limit.

    Both are estimates: their intervals must not touch. Against the middle of the calibration, one wrong verdict of 40
    would count as drift of a judge that had none wrong before.
    """
    if sample.high is None:
        return False
    return sample.high < AGREEMENT or (calibrated.low is not None and sample.high < calibrated.low)
