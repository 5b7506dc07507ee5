"""Gate of a judge of turns, metric by metric (specification 2, "The judge" and "Rollout", leg 0).

The specification asks for 50 hand-labelled turns and an agreement of at least 85%. Below 85% the larger model is tried,
and if that fails too the prompt needs work; below 70% the judge is dropped. The agreement itself decides; its interval
is shown as a caution. Agreement on a rare answer says little, so two rules are added:

- A judge must agree beyond chance: it finds at least one of each answer, and κ is above 0. If 5% of the items are
  contradicted, a judge that always says "not contradicted" agrees in 95% and has seen nothing.
- With fewer than four labels of the rarer answer the metric is underpowered.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

import msgspec

from knowbound.core.quality import Metric
from knowbound.stats.calibration import Calibration, Share

LABELLED_TURNS = 50  # "The judge": hand-labelled turns that a judge is compared with
AGREEMENT = 0.85  # "The judge": below it the larger model is tried
KILL_AGREEMENT = 0.70  # "The judge" and "Rollout", leg 0: below it the judge is dropped
FEWEST_OF_AN_ANSWER = 4  # labels of the rarer answer, before agreement says anything about it
RANKING: tuple[Metric, ...] = (Metric.USED, Metric.CONTRADICTED)  # "Effective confidence" uses these two
DRIFT_TURNS = 10  # hand-labelled turns of the weekly sample
DRIFT_DAYS = 7


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
    UNDECIDED = "undecided"  # in calibrations of earlier versions: the interval of agreement included the limit
    ONE_SIDED = "one_sided"  # too few labels give the rarer answer
    NOT_BEYOND_CHANCE = "not_beyond_chance"  # κ is not above 0
    ONE_ANSWER = "one_answer"  # the judge always gives one answer
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
    agreement = found.agreement.value
    if not turns or agreement is None:
        return MetricGate(GateState.UNMEASURED, GateReason.NO_VERDICT, LABELLED_TURNS)
    if turns < LABELLED_TURNS:
        return MetricGate(GateState.UNDERPOWERED, GateReason.FEW_TURNS, LABELLED_TURNS - turns)
    if agreement < KILL_AGREEMENT:
        return MetricGate(GateState.KILLED, GateReason.FAR_BELOW)
    if agreement < AGREEMENT:
        return MetricGate(GateState.FALLBACK, GateReason.BELOW)
    if min(found.prevalence.k, found.prevalence.n - found.prevalence.k) < FEWEST_OF_AN_ANSWER:
        return MetricGate(GateState.UNDERPOWERED, GateReason.ONE_SIDED)
    if found.said.k in (0, found.said.n):  # always yes, or always no
        return MetricGate(GateState.FALLBACK, GateReason.ONE_ANSWER)
    if not found.true_yes or not found.true_no or (found.kappa.value or 0.0) <= 0:
        return MetricGate(GateState.FALLBACK, GateReason.NOT_BEYOND_CHANCE)
    return MetricGate(GateState.PASSED, GateReason.AGREES)


def with_fallback(first: MetricGate, second: MetricGate | None) -> MetricGate:
    """Return the gate after the larger model judged the same turns; `second` is None without a larger model."""
    if first.state is not GateState.FALLBACK:
        return first
    if second is None:  # no larger model: the prompt needs work
        return msgspec.structs.replace(first, state=GateState.HALTED)
    if second.state is GateState.PASSED:
        state = GateState.FALLBACK
    elif second.state in (GateState.UNDERPOWERED, GateState.UNMEASURED, GateState.KILLED):
        state = second.state
    else:  # it is below the limit as well
        state = GateState.HALTED
    return msgspec.structs.replace(first, state=state, more=second.more, fallback=second.state)


def waits_for(gates: Mapping[Metric, MetricGate], metrics: Iterable[Metric]) -> tuple[Metric, ...]:
    """Return the metrics that may not be used yet. A user of one metric waits for that metric alone."""
    return tuple(metric for metric in metrics if metric not in gates or not gates[metric].is_reliable)


def may_rely_on(gates: Mapping[Metric, MetricGate], metrics: Iterable[Metric]) -> bool:
    """Report whether all these metrics may be used: `RANKING` for the ranking and to leave leg 0."""
    return not waits_for(gates, metrics)


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
        return tuple(metric for metric, sampled in self.metrics.items() if sampled.drifted)


def has_drifted(sample: Share, calibrated: Share) -> bool:
    """Report whether the sample surely agrees less than the calibration, or less than the limit.

    Both are estimates: their intervals must not touch. Compared with the middle of the calibration, one wrong verdict
    of 40 would count as drift of a judge that was always right before.
    """
    if sample.high is None:
        return False
    return sample.high < AGREEMENT or (calibrated.low is not None and sample.high < calibrated.low)
