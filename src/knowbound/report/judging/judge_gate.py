"""The state of a judge's metrics and its weekly sample in words (specification 2, "The judge")."""

from __future__ import annotations

from collections.abc import Iterator

from knowbound.core.quality import Metric
from knowbound.report.sections import Line
from knowbound.stats.calibration import Calibration, Estimate, Share
from knowbound.stats.judge_gate import (
    AGREEMENT,
    DRIFT_TURNS,
    FEWEST_OF_AN_ANSWER,
    KILL_AGREEMENT,
    LABELLED_TURNS,
    GateReason,
    GateState,
    MetricGate,
    WeeklySample,
)
from knowbound.stats.printing import estimate, percent, percent_words

METRIC_NAMES: dict[Metric, str] = {
    Metric.ON_TOPIC: "on topic",
    Metric.USED: "used",
    Metric.CONTRADICTED: "contradicted",
}
_LABEL_TEN = f"knowbound judge label --question turns --count {DRIFT_TURNS}"


def share_words(one: Share | Estimate) -> str:
    """Return a share with its interval, and its counts if it has some."""
    if one.value is None or one.low is None or one.high is None:
        return "unknown"
    counts = f"{one.k} of {one.n}" if isinstance(one, Share) else ""
    return percent_words(one.value, counts, (one.low, one.high))


def gate_words(gate: MetricGate, found: Calibration) -> str:
    """Return the reason for the state of a metric, and what to do about it."""
    return "; ".join(filter(None, (_reason_words(gate, found), _fallback_words(gate))))


def _reason_words(gate: MetricGate, found: Calibration) -> str:
    agreement = f"agreement is {share_words(found.agreement)}"
    kappa = f"κ is {estimate(found.kappa.value, found.kappa.low, found.kappa.high)}"
    match gate.reason:
        case GateReason.AGREES:
            return f"{agreement}, at least {percent(AGREEMENT)} was wanted; {kappa}"
        case GateReason.NO_VERDICT:
            return "the judge gave no verdict on any label"
        case GateReason.FEW_TURNS:
            return f"{agreement}; {LABELLED_TURNS} labelled turns are needed: label {gate.more} more"
        case GateReason.ONE_SIDED:
            rarer = min(found.prevalence.k, found.prevalence.n - found.prevalence.k)
            answer = "yes" if found.prevalence.k == rarer else "no"
            return f"{rarer} of {found.prevalence.n} labels say {answer}: {FEWEST_OF_AN_ANSWER} are needed to tell"
        case GateReason.NOT_BEYOND_CHANCE:
            return f"{agreement}, but {kappa}: no better than chance"
        case GateReason.ONE_ANSWER:
            answer, missed = ("yes", found.specificity) if found.said.k else ("no", found.sensitivity)
            known = f"where people say otherwise it is right in {missed.k} of {missed.n}"
            return f"it says {answer} to everything: {known}, and κ is 0, although {agreement}"
        case GateReason.BELOW | GateReason.UNDECIDED:
            return f"{agreement}, below {percent(AGREEMENT)}"
        case GateReason.FAR_BELOW:
            return f"{agreement}, below {percent(KILL_AGREEMENT)}: do not use this judge"


def _fallback_words(gate: MetricGate) -> str:
    if gate.state is GateState.HALTED and gate.fallback is None:
        return "there is no larger model to ask (model.fallback)"
    if gate.state in (GateState.HALTED, GateState.KILLED) and gate.fallback:
        return "the larger model fails too: the prompt needs work, not a bigger model"
    if gate.state is GateState.UNDERPOWERED and gate.fallback:
        return "whether the larger model is better cannot be told yet: label more turns"
    return ""


def weekly_lines(weekly: WeeklySample | None) -> Iterator[Line]:
    """Say what the weekly sample shows, or what it lacks."""
    if weekly is None:
        return
    if not weekly.metrics:
        since = f"due since {weekly.due[:10]}" if weekly.is_due else f"due on {weekly.due[:10]}"
        yield f"{weekly.labelled} of {DRIFT_TURNS} turns labelled since the last calibration; {since}: {_LABEL_TEN}"
        return
    for metric, one in weekly.metrics.items():
        state = "drifted" if one.drifted else "no drift is seen"
        before = percent(one.calibrated.value)
        yield f"{METRIC_NAMES[metric].capitalize()}: {state}; {share_words(one.agreement)}, calibrated at {before}"
    if weekly.drifted:
        yield "A judge that drifted counts as a new one: correct its prompt, then calibrate it again on new labels."
