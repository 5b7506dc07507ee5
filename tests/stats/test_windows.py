"""Windows of the quality metrics, their targets, and the comparison with turns whose items were withheld."""

from __future__ import annotations

import pytest

from knowbound.core.quality import Counts, DayRollup, Durations, Metric, Spread
from knowbound.stats.quality import (
    FEWEST_RUNS,
    FEWEST_TURNS,
    ArmTurn,
    HoldoutComparison,
    MetricStatus,
    OutcomeDifference,
    QualityMetric,
    Target,
    TargetState,
    TrendDirection,
    TurnOutcome,
    compare_arms,
    day_before,
    is_slower_than,
    item_rate,
    item_rates,
    p95_ms,
    rolling,
    state_of,
    sum_of_days,
    window,
)
from knowbound.stats.quality import _more_turns as more_turns
from knowbound.stats.rate import Rate


def test_a_target_says_on_which_side_it_is() -> None:
    assert (Target(0.8).kind, str(Target(0.8))) == ("at_least", "≥ 80%")
    assert (Target(0.05, is_ceiling=True).kind, str(Target(0.05, is_ceiling=True))) == ("at_most", "≤ 5%")


@pytest.mark.parametrize(
    ("rate", "target", "state"),
    [
        (Rate(), Target(0.5), TargetState.UNKNOWN),
        (Rate(90, 100), Target(0.5), TargetState.MET),
        (Rate(50, 100), Target(0.5), TargetState.UNDECIDED),
        (Rate(10, 100), Target(0.5), TargetState.MISSED),
        (Rate(10, 100), Target(0.5, is_ceiling=True), TargetState.MET),
        (Rate(90, 100), Target(0.5, is_ceiling=True), TargetState.MISSED),
        (Rate(0, 3), Target(0.0), TargetState.MET),  # the interval begins exactly at the target
        (Rate(60, 100), Target(0.5), TargetState.MET),
        (Rate(60, 100, 4.0), Target(0.5), TargetState.UNDECIDED),
        (Rate(60, 100, 4.0), Target(0.3, is_ceiling=True), TargetState.MISSED),
    ],
)
def test_the_whole_interval_decides_about_a_target(rate: Rate, target: Target, state: TargetState) -> None:
    assert state_of(rate, target) is state


def status(metric: QualityMetric, now: Rate, before: Rate, pending: int = 0) -> MetricStatus:
    return MetricStatus(metric, now, before, pending=pending)


def test_open_corrections_can_decide_what_they_would_change() -> None:
    discovery = QualityMetric.DISCOVERY
    assert status(discovery, Rate(0, 20), Rate(), 1).state is TargetState.MISSED
    assert status(discovery, Rate(0, 20), Rate(), 20).state is TargetState.UNDECIDED
    assert status(discovery, Rate(2, 20, 3.0), Rate(), 0).state is TargetState.MISSED
    assert status(discovery, Rate(2, 20, 3.0), Rate(), 9).state is TargetState.UNDECIDED
    assert status(discovery, Rate(20, 20), Rate(), 3).state is TargetState.MET


@pytest.mark.parametrize(
    ("metric", "before", "now", "trend"),
    [
        (QualityMetric.USED, Rate(), Rate(5, 10), TrendDirection.UNKNOWN),
        (QualityMetric.USED, Rate(5, 10), Rate(5, 10), TrendDirection.SAME),
        (QualityMetric.USED, Rate(0, 50), Rate(50, 50), TrendDirection.BETTER),
        (QualityMetric.CONTRADICTED, Rate(0, 50), Rate(50, 50), TrendDirection.WORSE),
        (QualityMetric.USED, Rate(50, 50), Rate(0, 50), TrendDirection.WORSE),
    ],
)
def test_a_trend_is_a_difference_whose_interval_leaves_0(
    metric: QualityMetric, before: Rate, now: Rate, trend: TrendDirection
) -> None:
    assert status(metric, now, before).trend is trend
    assert status(metric, now, before).target is not None


def test_the_metrics_of_items_have_the_design_effect_of_their_turns() -> None:
    turns = [Counts(3, 3, 1, 0), Counts(3, 0, 2, 1), Counts(1, 1, 0, 0), Counts(2, 0, 2, 0)]
    spread = sum(map(Spread.of_turn, turns), Spread())
    injected = sum(turns, Counts())
    rate = item_rate(injected, spread, Metric.ON_TOPIC)
    assert (rate.k, rate.n, round(rate.design, 4)) == (4, 9, 3.3926)
    assert item_rate(Counts(), Spread(), Metric.USED) == Rate()
    day = DayRollup("2026-11-01", injected=injected, spread=spread, by_backend={"sqlite": Counts(4, 2, 1, 0)})
    assert item_rates(day)[QualityMetric.ON_TOPIC] == rate
    ours = item_rates(day, ["sqlite", "mongo"])
    assert ours[QualityMetric.ON_TOPIC] == Rate(2, 4, rate.design)
    assert set(ours) == {QualityMetric.ON_TOPIC, QualityMetric.USED, QualityMetric.CONTRADICTED}


def test_windows_and_days_follow_the_calendar() -> None:
    assert window("2026-03-03") == ("2026-02-25", "2026-03-03")
    assert window("2026-03-03", 1) == ("2026-03-03", "2026-03-03")
    assert (day_before("2026-03-01"), day_before("2026-03-01", 30)) == ("2026-02-28", "2026-01-30")


def test_the_sum_of_days_has_both_ends_and_the_date_of_the_last() -> None:
    days = [DayRollup(f"2026-11-0{at}", turns=10**at) for at in range(1, 6)]
    total = sum_of_days(days, "2026-11-02", "2026-11-04")
    assert (total.date, total.turns) == ("2026-11-04", 11_100)


def test_a_series_of_one_day_has_one_window() -> None:
    (only,) = rolling(
        [DayRollup("2026-11-03", injected=Counts(2, 1), spread=Spread(turns=1, nn=4))],
        "2026-11-03",
        lambda first, last: Rate(1, 2),
    )
    assert (only.date, only.rates[QualityMetric.DISCOVERY]) == ("2026-11-03", Rate(1, 2))


@pytest.mark.parametrize(
    ("runs", "is_slow"),
    [({200: FEWEST_RUNS}, True), ({200: FEWEST_RUNS - 1}, False), ({165: 20}, False), ({166: 20}, True), ({}, False)],
)
def test_a_hook_is_slow_with_enough_runs_a_tenth_above_the_limit(runs: dict[int, int], is_slow: bool) -> None:
    assert is_slower_than(Durations(runs), 150) is is_slow
    assert p95_ms(Durations({10: 95, 20: 5})) == 10
    assert p95_ms(Durations({10: 94, 20: 6})) == 20


def arm(held: bool, steps: list[float], per_session: int = 1) -> list[ArmTurn]:
    return [ArmTurn(f"s{at // per_session}", held, {TurnOutcome.STEPS: one}) for at, one in enumerate(steps)]


def steps_of(turns: list[ArmTurn]) -> OutcomeDifference:
    return compare_arms(turns).outcomes[0]


def test_two_arms_are_compared_with_an_interval_over_sessions() -> None:
    turns = arm(False, [3, 4, 5, 9, 1] * 5, 3) + arm(True, [4, 6, 3, 5, 2] * 5, 3)
    compared = compare_arms(turns)
    found = compared.outcomes[0]
    assert (compared.injected, compared.held_out, compared.sessions) == (25, 25, 9)
    assert (found.injected, found.held_out, found.n_injected, found.n_held_out) == (4.4, 4.0, 25, 25)
    assert (found.value, found.low, found.high) == pytest.approx((0.4, -0.304348, 1.0), abs=1e-6)
    assert (found.more, found.is_decided, compared.more_sessions) == (106, False, 20)
    decided = steps_of(arm(False, [3, 4, 5, 9] * 10) + arm(True, [4, 6, 9, 10] * 10))
    assert (decided.value, decided.low, decided.high, decided.more) == (-2.0, -2.375, -1.625, 0)


@pytest.mark.parametrize(("injected", "held_out", "more"), [(19, 25, 1), (25, 19, 1), (15, 10, 15), (20, 20, None)])
def test_each_side_needs_twenty_turns(injected: int, held_out: int, more: int | None) -> None:
    assert FEWEST_TURNS == 20
    found = steps_of(arm(False, [3.0] * injected) + arm(True, [3.0] * held_out))
    assert (found.more, found.value) == (more, 0.0)
    assert (found.low is None) is (more is not None)


def test_a_side_without_turns_has_no_difference() -> None:
    assert steps_of(arm(False, [3.0, 5.0])) == OutcomeDifference(TurnOutcome.STEPS, 4.0, None, n_injected=2)
    assert steps_of(arm(True, [3.0])) == OutcomeDifference(TurnOutcome.STEPS, None, 3.0, n_held_out=1)
    assert compare_arms([]).more_sessions is None


@pytest.mark.parametrize(
    ("value", "low", "high", "more"),
    [
        (2.0, -1.0, 5.0, 51),
        (-2.0, -5.0, 1.0, 51),
        (2.0, -1.0, 3.0, 51),
        (-2.0, -3.0, 1.0, 51),
        (2.0, 1.0, 3.0, 0),
        (2.0, 0.0, 3.0, 1),
        (0.0, -1.0, 1.0, None),
        (2.0, None, 3.0, None),
        (2.0, 1.0, None, None),
    ],
)
def test_an_interval_shrinks_with_the_root_of_the_turns(
    value: float, low: float | None, high: float | None, more: int | None
) -> None:
    assert more_turns(value, low, high, arm(False, [1.0] * 40)) == more


@pytest.mark.parametrize(
    ("low", "high", "is_decided"),
    [
        (0.1, 0.2, True),
        (-0.2, -0.1, True),
        (0.0, 0.2, False),
        (-0.2, 0.0, False),
        (None, 0.2, False),
        (0.1, None, False),
    ],
)
def test_an_outcome_is_decided_on_one_side_of_0(low: float | None, high: float | None, is_decided: bool) -> None:
    assert OutcomeDifference(TurnOutcome.STEPS, low=low, high=high).is_decided is is_decided


def test_the_outcome_that_needs_fewest_turns_says_how_many_sessions() -> None:
    outcomes = tuple(OutcomeDifference(TurnOutcome.STEPS, more=more) for more in (None, 0, 31, 90))
    assert HoldoutComparison(6, 4, outcomes, sessions=5).more_sessions == 16
    assert HoldoutComparison(0, 0, outcomes, sessions=5).more_sessions is None
    assert HoldoutComparison(6, 4, outcomes[:2], sessions=5).more_sessions is None
