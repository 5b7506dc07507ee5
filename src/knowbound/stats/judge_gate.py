"""Gate of a judge of turns, metric by metric (specification 2, "The judge" and "Rollout", leg 0).

The specification asks for 50 hand-labelled turns and an agreement of at least 85%. Below 85% the larger model is tried,
and if that fails too the prompt needs work; below 70% the judge is dropped. Agreement on a rare answer says little, so
two rules are added:

- An interval decides, not its middle. 43 of 50 is 86%, and anything from 74% to 93%: that is underpowered, not passed.
- A judge must be shown to agree beyond chance (κ above 0). If 5% of the items are contradicted, a judge that always
  says "not contradicted" agrees in 95% and has seen nothing.
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
COIN = 0.5  # share of the rare answer; a judge with one answer is blind if it surely finds less
RANKING: tuple[Metric, ...] = (Metric.USED, Metric.CONTRADICTED)  # "Effective confidence" uses these two
DRIFT_TURNS = 10  # hand-labelled turns of the weekly sample
DRIFT_DAYS = 7
_MOST_TIMES = 2_000  # multiple of the present labels beyond which no number decides in practice


class GateState(StrEnum):
    """State of a judge on one metric."""

    PASSED = "passed"
    FALLBACK = "fallback"  # below the limit; the larger model is asked, or passed instead
    HALTED = "halted"  # no larger model is left: the prompt needs work
    KILLED = "killed"
    UNDERPOWERED = "underpowered"
    UNMEASURED = "unmeasured"


class GateReason(StrEnum):
    """Reason for the state; `report/` has the words."""

    AGREES = "agrees"
    NO_VERDICT = "no_verdict"
    FEW_TURNS = "few_turns"
    UNDECIDED = "undecided"  # the interval of agreement includes the limit
    ONE_SIDED = "one_sided"  # every label gives the same answer
    NOT_BEYOND_CHANCE = "not_beyond_chance"  # the interval of κ includes 0
    ONE_ANSWER = "one_answer"  # the judge always gives one answer, and surely misses the other
    BELOW = "below"
    FAR_BELOW = "far_below"


class MetricGate(msgspec.Struct, frozen=True):
    """State of one metric, its reason, and the further labelled turns that would decide (None: unknown)."""

    state: GateState
    reason: GateReason  # of the judge itself
    more: int | None = None
    fallback: GateState | None = None  # state of the larger model, if asked

    @property
    def is_reliable(self) -> bool:
        """Report whether the metric may be used: the judge, or its fallback, has passed."""
        return self.state in (GateState.PASSED, GateState.FALLBACK)


class MeasuredMetric(msgspec.Struct, frozen=True):
    """One metric of one judge: the figures with their counts, and the gate."""

    found: Calibration
    gate: MetricGate


def gate(found: Calibration, turns: int) -> MetricGate:
    """Return the gate of one judge on one metric, from its verdicts on the items of labelled turns."""
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
    """Return the gate after the larger model judged the same turns; `second` is None without a larger model."""
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
    """Return the metrics that may not be used yet. A user of one metric waits for that metric alone."""
    return tuple(metric for metric in metrics if metric not in gates or not gates[metric].is_reliable)


def may_rely_on(gates: Mapping[Metric, MetricGate], metrics: Iterable[Metric]) -> bool:
    """Report whether all these metrics may be used: `RANKING` for the ranking, every metric to leave leg 0."""
    return not waits_for(gates, metrics)


def _undecided(reason: GateReason, more: int | None) -> MetricGate:
    return MetricGate(GateState.UNDERPOWERED, reason, more)


def _is_blind(found: Calibration) -> bool:
    """Report whether a judge always gives one answer and surely misses most of the other.

    Its κ is 0 at any number of labels, so that further labels would not help.
    """
    said = found.said
    if said.k not in (0, said.n):
        return False
    missed = found.specificity if said.k else found.sensitivity
    return missed.high is not None and missed.high < COIN


def _more_turns(agreement: Share, turns: int) -> int | None:
    """Return the number of missing turns until the interval of a constant agreement is on one side of the limit."""
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
    """Agreement on one metric in the weekly sample, compared with the calibration."""

    agreement: Share
    calibrated: Share
    drifted: bool


class WeeklySample(msgspec.Struct, frozen=True):
    """The newest weekly sample of 10 turns (specification 2, "The judge"), or its progress and due date."""

    labelled: int  # turns, of 10
    due: str  # UTC: due date of the next sample
    is_due: bool = False
    metrics: dict[Metric, SampledMetric] = {}  # empty: no sample yet

    @property
    def drifted(self) -> tuple[Metric, ...]:
        """Metrics with surely lower agreement. A drifted judge counts as a new judge, to be calibrated."""
        return tuple(metric for metric, one in self.metrics.items() if one.drifted)


def has_drifted(sample: Share, calibrated: Share) -> bool:
    """Report whether the sample surely agrees less than the calibration, or less than the limit.

    Both are estimates: their intervals must not touch. Compared with the middle of the calibration, one wrong verdict
    of 40 would count as drift of a judge that was always right before.
    """
    if sample.high is None:
        return False
    return sample.high < AGREEMENT or (calibrated.low is not None and sample.high < calibrated.low)
