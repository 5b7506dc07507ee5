"""The loop on a made-up store, with the parameters of the contract's acceptance (specification 2, sections 4 and 5)."""

from __future__ import annotations

from functools import cache

import msgspec
import pytest
from bench.simulation import LOOPS, Loop, Simulation, discovery, share, simulate

from knowbound.core.quality import ItemVerdict, Metric
from knowbound.stats.calibration import Pair, calibrate
from knowbound.stats.judge_gate import GateState, gate

pytestmark = [pytest.mark.long, pytest.mark.xdist_group("simulation")]  # two long runs serve several tests
MEASURED_ONLY, RANKING, LOOP = LOOPS.values()


@cache
def looped() -> Simulation:
    return simulate(1, LOOP)


@cache
def unranked() -> Simulation:
    return simulate(1, MEASURED_ONLY)


def last_week(simulation: Simulation, metric: Metric) -> float:
    return share(simulation.days[-7:], metric)


def test_contradiction_falls_under_five_percent_and_discovery_passes_seventy() -> None:
    assert last_week(unranked(), Metric.CONTRADICTED) > 0.05
    assert last_week(looped(), Metric.CONTRADICTED) < 0.05
    assert (discovery(looped()) or 0.0) > 0.70


def test_wrong_items_leave_the_top_within_days() -> None:
    assert looped().median_days_injected <= 7
    assert looped().wrong_shares[-1] < looped().wrong_shares[0] / 10
    assert unranked().median_days_injected > 50


def test_use_and_on_topic_rise() -> None:
    assert last_week(looped(), Metric.USED) > last_week(unranked(), Metric.USED) + 0.05
    assert last_week(looped(), Metric.ON_TOPIC) > last_week(unranked(), Metric.ON_TOPIC)


def test_with_the_flag_off_the_order_never_changes_and_measuring_goes_on() -> None:
    off = simulate(3, Loop(is_corrected=False, is_switched_off=True), days=14, turns=100)
    plain = simulate(3, MEASURED_ONLY, days=14, turns=100)
    assert (off.injected, off.days) == (plain.injected, plain.days)
    assert simulate(3, RANKING, days=14, turns=100).injected != plain.injected


def blind(verdict: ItemVerdict) -> ItemVerdict:
    return msgspec.structs.replace(verdict, contradicted=False, correction="")


def test_a_judge_that_never_sees_a_contradiction_stops_the_loop_and_is_caught_by_calibration() -> None:
    seen = simulate(4, Loop(judge=blind), days=14, turns=100)
    assert (seen.records, last_week(seen, Metric.CONTRADICTED)) == ([], 0)
    pairs = [Pair(number % 20 == 0, False, session=str(number)) for number in range(400)]  # 5% are contradicted
    found = calibrate(pairs)
    assert found.agreement.value == 0.95
    assert gate(found, turns=100).state is GateState.FALLBACK
