from __future__ import annotations

import pytest

from knowbound.core.quality import Metric
from knowbound.judge.calibration import measured, weekly_sample
from knowbound.judge.labels import ItemLabel, LabelledTurn
from knowbound.report.judging import weekly_lines
from knowbound.stats.judge_gate import WeeklySample
from knowbound.store.judges import TurnJudgeCalibration
from tests.turn_examples import PlantedJudge, Says, as_labelled, labelled, usual_labels

OLD = usual_labels(100)
CALIBRATED = TurnJudgeCalibration(
    "planted", "2026-11-01T12:00:00Z", "00000000", 100, measured("planted", PlantedJudge(OLD), OLD).metrics
)


def new(*days: int) -> list[LabelledTurn]:
    """Turns labelled on days of November."""
    return [
        labelled(1000 + at, *[(True, at % 2 == 0, False)] * 2, time=f"2026-11-{day:02d}T09:00:00Z")
        for at, day in enumerate(days)
    ]


def sample(turns: list[LabelledTurn], now: str, says: Says = as_labelled) -> WeeklySample:
    every = OLD + turns
    return weekly_sample(CALIBRATED, every, PlantedJudge(every, says), now)


def inverted(_turn: LabelledTurn, _item: str, label: ItemLabel) -> tuple[bool, bool, bool]:
    return label.on_topic, not label.used, label.contradicted


def test_ten_turns_of_the_last_seven_days_are_a_sample() -> None:
    found = sample(new(*[3] * 6, *[5] * 4), "2026-11-06T00:00:00Z")
    assert (found.labelled, found.is_due, found.drifted) == (10, False, ())
    assert found.metrics[Metric.USED].agreement.n == 20
    assert found.metrics[Metric.USED].agreement.value == 1.0
    assert found.due == "2026-11-12T09:00:00Z"


def test_only_the_newest_ten_count() -> None:
    found = sample(new(*[2] * 5, *[5] * 10), "2026-11-06T00:00:00Z")
    assert found.metrics[Metric.USED].agreement.n == 20


def test_a_judge_that_changed_its_mind_has_drifted_on_that_metric_alone() -> None:
    found = sample(new(*[5] * 10), "2026-11-06T00:00:00Z", inverted)
    assert found.drifted == (Metric.USED,)
    assert any("drifted" in str(line) for line in weekly_lines(found))


@pytest.mark.parametrize(
    ("days", "now", "labelled_", "is_due", "due"),
    [
        ((), "2026-11-05T00:00:00Z", 0, False, "2026-11-08T12:00:00Z"),
        ((), "2026-11-09T00:00:00Z", 0, True, "2026-11-08T12:00:00Z"),
        ((3, 3, 4), "2026-11-09T00:00:00Z", 3, True, "2026-11-08T12:00:00Z"),
        ((3,) * 10, "2026-11-20T00:00:00Z", 0, True, "2026-11-10T09:00:00Z"),  # the last sample is a week old
        ((2, 3, 4, 5, 6, 7, 8, 9, 10, 11), "2026-11-11T10:00:00Z", 10, True, "2026-11-08T12:00:00Z"),  # over ten days
    ],
)
def test_without_a_sample_it_is_said_since_when_one_is_due(
    days: tuple[int, ...], now: str, labelled_: int, is_due: bool, due: str
) -> None:
    found = sample(new(*days), now)
    assert (found.metrics, found.labelled, found.is_due, found.due) == ({}, labelled_, is_due, due)
    (line,) = weekly_lines(found)
    assert str(line).endswith("knowbound judge label --question turns --count 10")


def test_labels_of_before_the_calibration_and_without_a_time_are_no_sample() -> None:
    before = [labelled(2000 + at, (True, True, False), time="2026-10-31T00:00:00Z") for at in range(10)]
    undated = [labelled(3000 + at, (True, True, False)) for at in range(10)]
    wrong = [labelled(4000 + at, (True, True, False), time="soon") for at in range(10)]
    assert sample(before + undated + wrong, "2026-11-03T00:00:00Z").labelled == 0
