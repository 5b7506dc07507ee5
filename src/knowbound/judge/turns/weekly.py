"""The weekly sample: ten newly labelled turns tell whether the judge has drifted (specification 2, "The judge")."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from knowbound.core.quality import Metric
from knowbound.judge.turns.labels import LabelledTurn
from knowbound.judge.turns.verdict import TurnJudge
from knowbound.stats.calibration import calibrate
from knowbound.stats.judge_drift import DRIFT_DAYS, DRIFT_TURNS, SampledMetric, WeeklySample, has_drifted
from knowbound.store.turn_calibrations import CalibratedJudge
from knowbound.text.clock import comparable_time


def weekly_sample(
    calibrated: CalibratedJudge, turns: Sequence[LabelledTurn], judge: TurnJudge, now: str
) -> WeeklySample:
    """The newest ten turns labelled since the calibration and within seven days, against the judge's verdicts.

    Where they are not there, when they are, or were, due: seven days after the last sample, or after the calibration.
    """
    times = {turn.id: comparable_time(turn.time) for turn in turns}
    since = sorted((turn for turn in turns if times[turn.id] > calibrated.made), key=lambda turn: times[turn.id])
    newest = since[-DRIFT_TURNS:]
    is_whole = len(newest) == DRIFT_TURNS and _later(times[newest[0].id]) >= times[newest[-1].id]
    due = _later(times[newest[-1].id] if is_whole else calibrated.made)
    if not is_whole or now > due:
        return WeeklySample(due=due, is_due=now > due, labelled=0 if is_whole else len(newest))
    answers = judge.judge([turn.judged for turn in newest])
    metrics = {}
    for metric in Metric:
        pairs = [
            pair for turn, given in zip(newest, answers, strict=True) for pair in turn.pairs(given.verdicts, metric)
        ]
        agreement, before = calibrate(pairs).agreement, calibrated.metrics[metric].found.agreement
        metrics[metric] = SampledMetric(agreement, before, has_drifted(agreement, before))
    return WeeklySample(due=due, labelled=DRIFT_TURNS, metrics=metrics)


def _later(time: str) -> str:
    """A week later."""
    moment = datetime.fromisoformat(time) + timedelta(days=DRIFT_DAYS)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
