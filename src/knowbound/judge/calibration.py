"""Judges compared with people's labels: of hedging sentences, rubrics and turns (specification 2, "The judge").

Rates of a window are corrected for the judge that judged most of it. The gate looks at the judge that judges from now
on. A contradiction reaches sessions only where its judge is trusted: rules where labels show that they find
contradictions, a model until labels speak against it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from knowbound.config import ModelTask, Settings
from knowbound.core.quality import Metric
from knowbound.errors import ConfigError, InputError, KnowboundError
from knowbound.judge.choice import fallback_for, judge_for
from knowbound.judge.hedging.verdict import HedgingCandidate, HedgingJudge, judge_candidates
from knowbound.judge.labels import (
    HEDGING,
    RUBRIC,
    TURN_LABELS,
    Label,
    LabelledTurn,
    LabelSet,
    kept_aside,
    read_labels,
    read_turn_labels,
)
from knowbound.judge.registry import (
    check_judge,
    hedging_judge,
    hedging_judge_version,
    is_rules,
    rubric_judge,
    turn_judge,
)
from knowbound.judge.rubric import RubricKind, RubricQuestion
from knowbound.judge.turns import TurnJudge
from knowbound.report.judging import CalibrationReport, LabelMark, MeasuredJudge, TurnCalibrationReport
from knowbound.report.quality.model import JudgeWorth
from knowbound.stats.calibration import Calibration, Estimate, Pair, calibrate, calibrate_scores, corrected
from knowbound.stats.judge_gate import (
    DRIFT_DAYS,
    DRIFT_TURNS,
    GateReason,
    GateState,
    MeasuredMetric,
    MetricGate,
    SampledMetric,
    WeeklySample,
    gate,
    has_drifted,
    with_fallback,
)
from knowbound.stats.printing import percent
from knowbound.stats.rate import Rate
from knowbound.store.judges import (
    ENOUGH,
    FALSE_LIMIT,
    HedgingCalibration,
    TurnJudgeCalibration,
    keep_hedging_calibration,
    keep_turn_judge_calibrations,
    turn_judge_calibration,
)
from knowbound.text.clock import comparable_time, utc_now
from knowbound.text.redact import redact

RunRate = Callable[[HedgingJudge], Rate | None]
_Label = TypeVar("_Label", Label, LabelledTurn)
_OTHER_JUDGE = "The newest stored run was not judged by this judge, so its rate is not corrected."


# Hedging sentences


def calibrate_hedging(
    settings: Settings,
    path: Path,
    name: str,
    wanted: float,
    aside: float | None = None,
    *,
    rate_of: RunRate | None = None,
) -> CalibrationReport:
    """Compare the named judge, or the configured one, with the labels of hedging sentences.

    `rate_of` returns the rate of the newest stored run, which is then corrected for the judge's error.
    """
    name = name or judge_for(settings, ModelTask.HEDGES)
    judge = hedging_judge(settings, name)
    labels, mark = _labels_to_use(read_labels(path, HEDGING), aside, "labels")
    pairs, problems = _judged_sentences(labels, judge)
    calibration = calibrate(pairs, wanted)
    rate = rate_of(judge) if rate_of else None
    false_positives = _false_positives(calibration, mark.sha256_8)
    keep_hedging_calibration(settings.home, hedging_judge_version(name), false_positives)
    return CalibrationReport(
        judge=name,
        version=judge.version,
        question=HEDGING,
        labels=mark,
        found=calibration,
        run=rate,
        corrected=corrected(rate, calibration) if rate else Estimate(),
        problems=tuple(problems),
        notes=(*((_OTHER_JUDGE,) if rate_of and rate is None else ()), *_switch_notes(false_positives)),
        hedges_off=false_positives.switches_off,
    )


def _judged_sentences(labels: Sequence[Label], judge: HedgingJudge) -> tuple[list[Pair], list[str]]:
    """Return each label with the judge's verdict, and the problems of a judge that failed."""
    candidates = [HedgingCandidate(label.text, label.context, session=label.session) for label in labels]
    judged = judge_candidates(judge, candidates, max_candidates=len(candidates))  # without a cap
    pairs, problems = [], []
    for label, verdict in zip(labels, judged.verdicts, strict=True):
        is_doubt: bool | None = None
        if verdict is not None and verdict.has_failed:
            problems.append(verdict.reason)
        elif verdict is not None:
            is_doubt = verdict.is_uncertainty
        pairs.append(Pair(bool(label.label), is_doubt, label.weight, label.session))
    return pairs, problems


def _false_positives(calibration: Calibration, sha256_8: str) -> HedgingCalibration:
    """Return the share of the judge's "doubt" that people did not call doubt (specification 1, section 10)."""
    precision = calibration.precision
    return HedgingCalibration(
        false=calibration.false_yes,
        of=precision.n,
        share=None if precision.value is None else 1 - precision.value,
        effective=precision.effective,
        labels=sha256_8,
        made=utc_now(),
    )


def _switch_notes(calibration: HedgingCalibration) -> Iterator[str]:
    """Say what the calibration means for `observe` and `eval`; nothing if the judge is below the limit."""
    if not calibration.is_above_limit:
        return
    shown = f"{percent(calibration.share)} of what it calls doubt is none, more than {percent(FALSE_LIMIT)}"
    if calibration.switches_off:
        yield f"{shown}: observe and eval leave hedges out while this judge is configured."
    else:
        worth = f"these are worth {calibration.effective:.0f}"
        yield f"{shown}; hedges are left out once {ENOUGH} independent labels of it say so, and {worth}."


# Rubrics


def calibrate_rubric(
    settings: Settings, path: Path, name: str, wanted: float, aside: float | None = None
) -> CalibrationReport:
    """Compare the named judge, or the configured one, with people's scores."""
    name = name or judge_for(settings, ModelTask.RUBRICS)
    judge = rubric_judge(settings, name)
    labels, mark = _labels_to_use(read_labels(path, RUBRIC), aside, "labels")
    scores = judge.score(
        [RubricQuestion(RubricKind.RUBRIC, label.context, label.text, label.rubric) for label in labels]
    )
    pairs = [(int(label.label), score.score) for label, score in zip(labels, scores, strict=True)]
    return CalibrationReport(
        judge=name,
        version=judge.version,
        question=RUBRIC,
        labels=mark,
        found=calibrate_scores(pairs, wanted, [len(label.text) for label in labels]),
        problems=tuple(score.problem for score in scores if score.score is None),
    )


# Turns


def calibrate_turns(
    settings: Settings, path: Path, name: str = "", aside: float | None = None
) -> TurnCalibrationReport:
    """Compare the named judge, or the configured one, with labelled turns, and its fallback if it is below the limit.

    The result is kept for the version of each judge that was asked.
    """
    name = name or judge_for(settings, ModelTask.TURNS)
    check_judge(name)
    turns, mark = _labels_to_use(read_turn_labels(path), aside, "turns")
    mark = replace(mark, turns=len(turns), labels=sum(len(turn.labels) for turn in turns))
    judge = turn_judge(settings, name)
    main = measured(name, judge, turns)
    before = turn_judge_calibration(settings.home, judge.version)
    weekly = None if before is None else weekly_sample(before, turns, judge, utc_now())
    fallback, problem = _measured_fallback(settings, name, main, turns)
    gates = {
        metric: with_fallback(found.gate, fallback.metrics[metric].gate if fallback else None)
        for metric, found in main.metrics.items()
    }
    _keep_turn_calibrations(settings.home, mark, main, gates, fallback)
    return TurnCalibrationReport(
        labels=mark, judge=main, fallback=fallback, gates=gates, weekly=weekly, notes=(problem,) if problem else ()
    )


def measured(name: str, judge: TurnJudge, turns: Sequence[LabelledTurn]) -> MeasuredJudge:
    """Compare the judge's verdicts with labelled turns, metric by metric, each with its own state."""
    answers = judge.judge([turn.judged for turn in turns])
    metrics = {}
    for metric in Metric:
        pairs = [turn.pairs(answer.verdicts, metric) for turn, answer in zip(turns, answers, strict=True)]
        calibration = calibrate(pair for of_turn in pairs for pair in of_turn)
        judged_turns = sum(any(pair.verdict is not None for pair in of_turn) for of_turn in pairs)
        metrics[metric] = MeasuredMetric(calibration, gate(calibration, judged_turns))
    problems = tuple(answer.problem for answer in answers if answer.problem)
    return MeasuredJudge(redact(name), judge.version, metrics, problems)


def _measured_fallback(
    settings: Settings, name: str, main: MeasuredJudge, turns: Sequence[LabelledTurn]
) -> tuple[MeasuredJudge | None, str]:
    """Compare the fallback with the same turns if a metric needs it; or return why it was not asked."""
    if not any(metric.gate.state is GateState.FALLBACK for metric in main.metrics.values()):
        return None, ""
    fallback = fallback_for(settings, name)
    if not fallback:
        return None, ""
    try:
        check_judge(fallback)
    except ConfigError as error:
        return None, f"The larger model was not asked. {error.args[0]}"
    return measured(fallback, turn_judge(settings, fallback), turns), ""


def _keep_turn_calibrations(
    home: Path, mark: LabelMark, main: MeasuredJudge, gates: dict[Metric, MetricGate], fallback: MeasuredJudge | None
) -> None:
    """Store the calibrations by the version of each judge; the fallback has none of its own to fall back to."""
    kept = {main.version: (main, gates, fallback.version if fallback else "")}  # judge, gates, fallback
    if fallback:
        own_gates = {metric: with_fallback(found.gate, None) for metric, found in fallback.metrics.items()}
        kept[fallback.version] = (fallback, own_gates, "")
    made, calibrations = utc_now(), {}
    for version, (judge, gates_of_judge, takes_over) in kept.items():
        metrics = {metric: replace(found, gate=gates_of_judge[metric]) for metric, found in judge.metrics.items()}
        calibrations[version] = TurnJudgeCalibration(
            judge.judge, made, mark.sha256_8, mark.turns or 0, metrics, takes_over
        )
    keep_turn_judge_calibrations(home, calibrations)


def weekly_sample(
    calibrated: TurnJudgeCalibration, turns: Sequence[LabelledTurn], judge: TurnJudge, now: str
) -> WeeklySample:
    """Compare the judge with the newest ten turns labelled since the calibration and within seven days.

    Fewer turns make no sample. The next sample is due seven days after the last one, or after the calibration.
    """
    times = {turn.id: comparable_time(turn.time) for turn in turns}
    since = sorted((turn for turn in turns if times[turn.id] > calibrated.made), key=lambda turn: times[turn.id])
    newest = since[-DRIFT_TURNS:]
    is_whole = len(newest) == DRIFT_TURNS and _week_after(times[newest[0].id]) >= times[newest[-1].id]
    due = _week_after(times[newest[-1].id] if is_whole else calibrated.made)
    if not is_whole or now > due:  # no sample is due, or its week is over
        return WeeklySample(due=due, is_due=now > due, labelled=0 if is_whole else len(newest))
    answers = judge.judge([turn.judged for turn in newest])
    metrics = {}
    for metric in Metric:
        pairs = [
            pair for turn, answer in zip(newest, answers, strict=True) for pair in turn.pairs(answer.verdicts, metric)
        ]
        agreement, before = calibrate(pairs).agreement, calibrated.metrics[metric].found.agreement
        metrics[metric] = SampledMetric(agreement, before, has_drifted(agreement, before))
    return WeeklySample(due=due, labelled=DRIFT_TURNS, metrics=metrics)


def _week_after(time: str) -> str:
    moment = datetime.fromisoformat(time) + timedelta(days=DRIFT_DAYS)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


# Labels of every task


def _labels_to_use(found: LabelSet[_Label], aside: float | None, noun: str) -> tuple[tuple[_Label, ...], LabelMark]:
    """Return the labels to compare a judge with, and their origin. `aside` takes a share of the sessions."""
    labels = found.labels if aside is None else kept_aside(found.labels, aside)
    if not labels:
        raise InputError(
            "no-labels", f"None of the {len(found.labels)} {noun} in {found.path} is kept aside by {aside:g}."
        )
    mark = LabelMark(
        path=found.path,
        labels=len(labels),
        sha256_8=found.sha256_8,
        sessions=len({label.session for label in labels if label.session}),
        of=None if aside is None else len(found.labels),
        repeated=found.repeated,
        disagreements=found.disagreements,
    )
    return labels, mark


_FEW_LABELS = (GateReason.NO_VERDICT, GateReason.FEW_TURNS)


def judge_worth(settings: Settings, versions: Mapping[str, int], now: str) -> JudgeWorth:
    """Return the worth of the judge that judged most turns. `versions` are the judges of the window."""
    by_turns = dict(versions)
    return _worth(settings, by_turns, JudgeWorth(by_turns).version, now)


def configured_worth(settings: Settings, versions: Mapping[str, int], now: str) -> JudgeWorth:
    """Return the worth of the configured judge, or if it is unavailable, of the judge that judged most turns."""
    main = JudgeWorth(dict(versions)).version  # the judge of most turns
    with suppress(KnowboundError):  # no such judge any more
        main = turn_judge(settings, background=True).version
    return _worth(settings, {main: versions.get(main, 0)}, main, now)


def is_trusted(settings: Settings, version: str) -> bool:
    """Report whether the contradictions that this judge found may be suggested to agents."""
    calibration = turn_judge_calibration(settings.home, version) if version else None
    gate = calibration.gates.get(Metric.CONTRADICTED) if calibration else None
    if is_rules(version) or not version:
        return gate is not None and gate.state is GateState.PASSED  # rules must have passed
    return gate is None or gate.state is GateState.PASSED or gate.reason in _FEW_LABELS  # a model must not have failed


def _worth(settings: Settings, versions: dict[str, int], main: str, now: str) -> JudgeWorth:
    """Return the worth of the judge of version `main`; without a calibration of it, only the turns per judge."""
    calibration = turn_judge_calibration(settings.home, main) if main else None
    if calibration is None:
        return JudgeWorth(versions)
    return JudgeWorth(
        versions=versions,
        labelled=calibration.turns,
        made=calibration.made,
        measured=calibration.metrics,
        weekly=_weekly_without_cost(settings, main, calibration, now),
    )


def _weekly_without_cost(
    settings: Settings, version: str, calibration: TurnJudgeCalibration, now: str
) -> WeeklySample | None:
    """Return the weekly sample of a judge that costs nothing and is the configured judge; else None."""
    with suppress(KnowboundError):  # no label file any more, or no such judge: there is nothing to compare
        judge = turn_judge(settings)
        if judge.version == version and not judge.costs:
            return weekly_sample(calibration, read_turn_labels(settings.home / TURN_LABELS).labels, judge, now)
    return None
