"""The loop on a made-up store, with the parameters of the contract's acceptance (specification 2, sections 4 and 5)."""

from __future__ import annotations

import json
from functools import cache

import pytest

from knowbound.core.quality import Metric
from knowbound.core.quality_log import Counts
from knowbound.quality.discovery import discovery_rate
from knowbound.quality.simulated import simulated
from knowbound.quality.simulation import Plan, Simulation, World, blind, last_week, simulate
from knowbound.report.quality.simulation import render_simulation
from knowbound.stats.calibration import Pair, calibrate
from knowbound.stats.judge_gate import GateState, gate

pytestmark = pytest.mark.xdist_group("simulation")  # two long runs serve several tests
WORLD = World(
    items=200, useless=0.25, wrong=0.15, turns=300, days=60, most_items=3, right_used=0.6, useless_used=0.05,
    wrong_contradicted=0.5, answered=0.8, answer_days=7,
)  # fmt: skip
SHORT = World(days=14, turns=100)
NEVER = Plan(ranking=None, corrections=None)


@cache
def looped() -> Simulation:
    return simulate(WORLD, seed=1, plan=Plan(ranking=0, corrections=0))


@cache
def unranked() -> Simulation:
    return simulate(WORLD, seed=1, plan=NEVER)


def share(counts: Counts, metric: Metric) -> float:
    return counts.of(metric) / counts.judged


def test_the_world_is_the_one_that_the_acceptance_names() -> None:
    assert World() == WORLD


def test_contradiction_falls_under_five_percent_and_discovery_passes_seventy() -> None:
    assert share(last_week(unranked().days), Metric.CONTRADICTED) > 0.05
    assert share(last_week(looped().days), Metric.CONTRADICTED) < 0.05
    found = discovery_rate(looped().records, "2026-01-01", "2026-12-31")
    assert found.value is not None
    assert found.value > 0.70


def test_wrong_items_leave_the_top_within_days() -> None:
    stays = sorted(looped().stays.values())
    assert stays[len(stays) // 2] <= 7
    assert looped().wrong_share[-1] < looped().wrong_share[0] / 10
    unchanged = sorted(unranked().stays.values())
    assert unchanged[len(unchanged) // 2] > 50


def test_use_and_on_topic_rise() -> None:
    before, after = last_week(unranked().days), last_week(looped().days)
    assert share(after, Metric.USED) > share(before, Metric.USED) + 0.05
    assert share(after, Metric.ON_TOPIC) > share(before, Metric.ON_TOPIC)


def test_with_the_flag_off_the_order_never_changes_and_measuring_goes_on() -> None:
    off = simulate(SHORT, 3, Plan(ranking=0, corrections=None, is_switched_off=True))
    plain = simulate(SHORT, 3, NEVER)
    assert off.orders == plain.orders
    assert off.days == plain.days
    assert simulate(SHORT, 3, Plan(ranking=0, corrections=None)).orders != plain.orders


def test_the_same_seed_gives_the_same_days_and_another_does_not() -> None:
    assert simulate(SHORT, 5) == simulate(SHORT, 5)
    assert simulate(SHORT, 5).orders != simulate(SHORT, 6).orders


def test_a_judge_that_never_sees_a_contradiction_stops_the_loop_and_is_caught_by_calibration() -> None:
    seen = simulate(SHORT, 4, Plan(ranking=0, corrections=0), judge=blind)
    assert (seen.records, last_week(seen.days).contradicted) == ((), 0)
    pairs = [Pair(number % 20 == 0, False, session=str(number)) for number in range(400)]  # 5% are contradicted
    found = calibrate(pairs)
    assert found.agreement.value == 0.95
    assert gate(found, turns=100).state is GateState.FALLBACK


@pytest.mark.parametrize("plan", [Plan(0, 0), NEVER], ids=["ranked", "unranked"])
def test_what_was_counted_is_what_was_injected(plan: Plan) -> None:
    found = simulate(SHORT, 2, plan)
    assert sum(map(len, found.orders)) == sum(day.injected.judged for day in found.days)
    assert all(len(order) <= 3 for order in found.orders)
    assert all(sum(day.by_item.values(), Counts()) == day.injected for day in found.days)


def test_the_report_has_the_metrics_over_time_with_legs_and_a_kill_line() -> None:
    report = simulated(World(days=21, turns=40), seeds=2)
    assert [one.name for one in report.outcomes] == ["measured only", "ranking", "ranking and corrections"]
    assert [name for _, name in report.legs] == ["leg 0", "leg 1", "leg 2"]
    page = render_simulation(report, "html")
    assert page.count('class="metric"') == 4
    assert page.count("kill line") == 1
    assert page.count(">leg 1<") == 4
    assert json.loads(render_simulation(report, "json"))["format"] == "knowbound.quality_simulation/1"
