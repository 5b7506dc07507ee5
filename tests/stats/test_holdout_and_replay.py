from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.quality import Metric
from knowbound.stats.quality import FEWEST_TURNS, ArmTurn, OutcomeDifference, TurnOutcome, compare_arms
from knowbound.stats.rate import Mean, Rate
from knowbound.stats.rollout import MetricChange, TurnPair, is_worse, metric_change
from tests.conftest import some_examples


def arm(held: bool, steps: list[float], per_session: int = 1) -> list[ArmTurn]:
    return [
        ArmTurn(f"s{n // per_session}", held, {TurnOutcome.STEPS: one, TurnOutcome.TOKENS: 100 * one})
        for n, one in enumerate(steps)
    ]


def steps_of(turns: list[ArmTurn]) -> OutcomeDifference:
    return next(one for one in compare_arms(turns).outcomes if one.outcome is TurnOutcome.STEPS)


def test_a_clear_difference_is_decided() -> None:
    found = steps_of(arm(False, [3, 4, 5] * 20) + arm(True, [8, 9, 10] * 20))
    assert found.is_decided
    assert (found.value, found.more) == (-5, 0)
    assert found.low is not None
    assert found.high is not None
    assert found.low < -5 < found.high < 0


def test_no_difference_is_not_decided() -> None:
    found = steps_of(arm(False, [3, 9] * 30) + arm(True, [9, 3] * 30))
    assert not found.is_decided


def test_with_few_turns_it_cannot_be_told_and_says_how_many_are_missing() -> None:
    found = steps_of(arm(False, [3.0] * 50) + arm(True, [9.0] * 5))
    assert (found.low, found.more) == (None, FEWEST_TURNS - 5)


def test_turns_of_one_session_are_not_independent() -> None:
    steps = [float(n % 7) for n in range(60)]
    alone = steps_of(arm(False, steps) + arm(True, sorted(steps)))
    together = steps_of(arm(False, sorted(steps), 10) + arm(True, sorted(steps, reverse=True), 10))
    assert alone.low is not None
    assert alone.high is not None
    assert together.low is not None
    assert together.high is not None
    assert together.high - together.low > alone.high - alone.low


def test_one_session_has_no_interval() -> None:
    found = steps_of([ArmTurn("s", n % 2 == 0, {TurnOutcome.STEPS: n}) for n in range(60)])
    assert found.low is None
    assert not found.is_decided


def test_an_outcome_that_no_trace_knows_is_unknown() -> None:
    found = compare_arms(arm(False, [1.0] * 30) + arm(True, [1.0] * 30)).outcomes
    assert next(one for one in found if one.outcome is TurnOutcome.FAILED_SEARCHES).value is None


def test_two_rankings_are_compared_by_the_difference_of_each_turn() -> None:
    pairs = [TurnPair("s1", (True, False), (True, True)), TurnPair("s2", (False, False), (False, True))]
    assert metric_change(pairs) == MetricChange(Rate(1, 4), Rate(3, 4), Mean(2, 0.5, 0.5, 0.5))
    assert metric_change(pairs[:1]).difference == Mean(1, 0.5)  # one session has no interval


@pytest.mark.parametrize(
    ("metric", "low", "high", "worse"),
    [
        (Metric.USED, -0.3, -0.1, True),
        (Metric.USED, 0.1, 0.3, False),
        (Metric.CONTRADICTED, 0.1, 0.3, True),
        (Metric.CONTRADICTED, -0.3, -0.1, False),
        (Metric.USED, -0.1, 0.1, False),
        (Metric.CONTRADICTED, None, None, False),
    ],
)
def test_a_ranking_is_worse_with_fewer_uses_or_more_contradictions(
    metric: Metric, low: float | None, high: float | None, worse: bool
) -> None:
    assert is_worse(metric, Mean(40, 0.0, low, high)) is worse


@some_examples(0.4)  # each draws intervals
@given(st.lists(st.floats(0, 100), min_size=20, max_size=40), st.lists(st.floats(0, 100), min_size=20, max_size=40))
def test_the_other_way_round_the_difference_is_the_opposite(one: list[float], other: list[float]) -> None:
    found, turned = steps_of(arm(False, one) + arm(True, other)), steps_of(arm(True, one) + arm(False, other))
    assert found.value is not None
    assert turned.value is not None
    assert abs(found.value + turned.value) < 1e-9
