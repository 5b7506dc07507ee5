from __future__ import annotations

import pytest

from knowbound.stats.comparison import answers
from knowbound.stats.evaluation import Grade, SampleRun
from tests.evaluation_examples import REVENUE, sample_run


@pytest.mark.parametrize(
    ("run", "answered"),
    [
        (sample_run(1), True),
        (sample_run(1, grade=Grade()), True),
        (sample_run(1, grade=Grade(), signals=[REVENUE]), False),
    ],
)
def test_a_run_without_a_grade_answers_its_sample_if_it_has_no_gap(run: SampleRun, answered: bool) -> None:
    assert answers(run) is answered
