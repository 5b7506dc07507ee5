"""A judge of turns compared with people's labels, and the gate (specification 2, "The judge")."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from knowbound.config import Settings
from knowbound.core.quality import Metric
from knowbound.errors import ConfigError, InputError
from knowbound.judge.labels import is_aside
from knowbound.judge.registry import check_judge
from knowbound.judge.turns.labels import NAME, LabelledTurn, TurnLabels, read_turn_labels
from knowbound.judge.turns.opening import fallback_of, turn_judge
from knowbound.judge.turns.verdict import TurnJudge
from knowbound.judge.turns.weekly import weekly_sample
from knowbound.report.turn_calibration import MeasuredJudge, TurnCalibrationReport, TurnMark
from knowbound.stats.calibration import calibrate
from knowbound.stats.judge_drift import WeeklySample
from knowbound.stats.judge_gate import GateState, MeasuredMetric, MetricGate, gate, with_fallback
from knowbound.store.evaluations import Evaluations
from knowbound.store.turn_calibrations import CalibratedJudge, calibrated_judge, keep_calibrated_judges
from knowbound.text.clock import utc_now
from knowbound.text.redact import redact


def calibrate_turns(
    settings: Settings, path: Path, name: str = "", aside: float | None = None
) -> TurnCalibrationReport:
    """Compare the named judge, or the configured one, with labelled turns; where it is below the limit, its fallback.

    What is found is kept for the version of each judge that was asked.
    """
    name = name or settings.quality_judge
    check_judge(name)
    every = read_turn_labels(path)
    labels = every if aside is None else _kept_aside(every, aside)
    judge = turn_judge(settings, name, Evaluations(settings.home))
    first = measured(name, judge, labels.turns)
    weekly = _weekly(settings, labels, judge)
    second, problem = _fallback(settings, name, first, labels)
    gates = {
        metric: with_fallback(one.gate, second.metrics[metric].gate if second else None)
        for metric, one in first.metrics.items()
    }
    _keep(settings.home, labels, first, gates, second)
    return TurnCalibrationReport(
        labels=TurnMark(
            labels.path,
            len(labels.turns),
            labels.labels,
            labels.sha256_8,
            len({turn.session for turn in labels.turns if turn.session}),
            labels.repeated,
            labels.disagreements,
            None if aside is None else len(every.turns),
        ),
        judge=first,
        fallback=second,
        gates=gates,
        weekly=weekly,
        notes=(problem,) if problem else (),
    )


def _kept_aside(labels: TurnLabels, fraction: float) -> TurnLabels:
    """The turns of a share of the sessions, always the same: whatever is tuned, is tuned on the others."""
    turns = tuple(turn for turn in labels.turns if is_aside(turn.session or turn.id, fraction))
    if not turns:
        raise InputError("no-labels", f"None of the {len(labels.turns)} turns in {labels.path} is kept aside.")
    return msgspec.structs.replace(labels, turns=turns)


def measured(name: str, judge: TurnJudge, turns: Sequence[LabelledTurn]) -> MeasuredJudge:
    """The judge's verdicts on labelled turns, as figures per metric, each with its own state."""
    answers = judge.judge([turn.judged for turn in turns])
    metrics = {}
    for metric in Metric:
        pairs = [turn.pairs(given.verdicts, metric) for turn, given in zip(turns, answers, strict=True)]
        found = calibrate(pair for of_turn in pairs for pair in of_turn)
        judged = sum(any(pair.verdict is not None for pair in of_turn) for of_turn in pairs)
        metrics[metric] = MeasuredMetric(found, gate(found, judged))
    problems = tuple(given.problem for given in answers if given.problem)
    return MeasuredJudge(redact(name), judge.version, metrics, problems)


def _fallback(
    settings: Settings, name: str, first: MeasuredJudge, labels: TurnLabels
) -> tuple[MeasuredJudge | None, str]:
    """The larger model on the same turns, where one is configured and a metric needs it; or why it was not asked."""
    if not any(one.gate.state is GateState.FALLBACK for one in first.metrics.values()):
        return None, ""
    fallback = fallback_of(settings, name)
    if not fallback:
        return None, ""
    try:
        check_judge(fallback)
    except ConfigError as error:
        return None, f"The larger model was not asked. {error.args[0]}"
    return measured(fallback, turn_judge(settings, fallback, Evaluations(settings.home)), labels.turns), ""


def weekly_in_force(settings: Settings) -> WeeklySample | None:
    """The weekly sample of the configured judge, from the labels of the data folder; None: it was never calibrated.

    A model is asked about turns of the sample that it has not judged before: ten at most, and each once.
    """
    path = settings.home / NAME
    labels = read_turn_labels(path).turns if path.exists() else ()
    judge = turn_judge(settings, answers=Evaluations(settings.home))
    known = calibrated_judge(settings.home, judge.version)
    return None if known is None else weekly_sample(known, labels, judge, utc_now())


def _weekly(settings: Settings, labels: TurnLabels, judge: TurnJudge) -> WeeklySample | None:
    """The newest labels against the calibration before this one."""
    before = calibrated_judge(settings.home, judge.version)
    return None if before is None else weekly_sample(before, labels.turns, judge, utc_now())


def _keep(
    home: Path, labels: TurnLabels, first: MeasuredJudge, gates: dict[Metric, MetricGate], second: MeasuredJudge | None
) -> None:
    made = utc_now()

    def kept(one: MeasuredJudge, metrics: dict[Metric, MeasuredMetric], fallback: str = "") -> CalibratedJudge:
        return CalibratedJudge(one.judge, made, labels.sha256_8, len(labels.turns), metrics, fallback)

    with_gates = {metric: msgspec.structs.replace(one, gate=gates[metric]) for metric, one in first.metrics.items()}
    found = {first.version: kept(first, with_gates, second.version if second else "")}
    if second:
        alone = {
            metric: msgspec.structs.replace(one, gate=with_fallback(one.gate, None))
            for metric, one in second.metrics.items()
        }
        found[second.version] = kept(second, alone)
    keep_calibrated_judges(home, found)
