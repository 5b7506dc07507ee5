"""The scorer of the yardstick, and that no question shows its label."""

from __future__ import annotations

import pytest
from bench.yardstick.__main__ import TASKS, score

from knowbound.core.quality import Metric


def test_what_is_not_answered_counts_as_no() -> None:
    labels = {"a": True, "b": False, "c": True, "d": False}
    assert score(labels, {"a": True, "b": True}) == "2 of 4 | 50% | 0.00 | 0.50 | 0.50 | 0.50"


def test_statuses_have_no_precision() -> None:
    assert score({"a": "open", "b": "resolved"}, {"a": "open", "b": "resolved"}) == "2 of 2 | 100% | 1.00 |  |  | "


@pytest.mark.parametrize("name", TASKS)
def test_every_question_has_a_label_and_shows_none(name: str) -> None:
    questions = TASKS[name].questions()
    assert {one["id"] for one in questions} == set(TASKS[name].labels())
    shown = set().union(*(one.keys() for one in questions))
    assert not shown & {"uncertain", "labels", "first", "second", "status", "aside", *map(str, Metric)}
