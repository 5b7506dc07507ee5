"""The seven failure modes of specification 2, section 7."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.quality import Counts, DayRollup, Durations, Metric, QualityScores
from knowbound.quality.rollout.monitors import MonitorInput, longest_chain, monitors
from knowbound.report.quality.rollout import tripped_lines
from knowbound.stats.rollout import FailureMode, Monitor

TODAY = "2026-11-16"


def found(mode: FailureMode, days: list[DayRollup] | None = None, **more: object) -> Monitor:
    watched = MonitorInput(days or [], TODAY, **more)  # type: ignore[arg-type]
    return next(one for one in monitors(watched) if one.mode is mode)


def back(days: int) -> str:
    return (date.fromisoformat(TODAY) - timedelta(days=days)).isoformat()


def chain(links: int) -> dict[str, str]:
    return {f"k{n}": f"k{n + 1}" for n in range(links)}


def test_there_are_seven_and_none_trips_without_data() -> None:
    all_ = monitors(MonitorInput([], TODAY))
    assert [one.mode for one in all_] == list(FailureMode)
    assert not any(one.tripped for one in all_)
    assert list(tripped_lines(all_)) == []


@pytest.mark.parametrize(("ms", "expected"), [(40, False), (499, False), (700, True)])
def test_a_slow_stop_hook_trips(ms: float, expected: bool) -> None:
    runs = Durations({next(iter(Durations.of(ms).buckets)): 50})
    assert found(FailureMode.SLOW_STOP_HOOK, [DayRollup(TODAY, stop_ms=runs)]).tripped is expected
    assert not found(FailureMode.SLOW_STOP_HOOK, [DayRollup(back(8), stop_ms=runs)]).tripped


@pytest.mark.parametrize(("drifted", "expected"), [(None, False), ((), False), ((Metric.USED,), True)])
def test_a_judge_that_drifted_trips(drifted: tuple[Metric, ...] | None, expected: bool) -> None:
    assert found(FailureMode.JUDGE_DRIFT, drifted=drifted).tripped is expected


def test_demotions_that_are_reversed_trip_over_10_percent() -> None:
    wrong = QualityScores().after(0, 1)
    used = [wrong, wrong.after(1, 0), wrong.after(1, 0).after(1, 0), wrong.after(1, 0).after(1, 0).after(1, 0)]
    days = [DayRollup(back(20), scores={"k1": wrong, "k2": wrong})]
    days += [DayRollup(back(20 - n), scores={"k1": used[n]}) for n in (1, 2, 3)]
    one = found(FailureMode.FALSE_DEMOTIONS, days)
    assert (one.value, one.n, one.tripped) == (0.5, 2, True)
    assert not found(FailureMode.FALSE_DEMOTIONS, days[:1]).tripped


@pytest.mark.parametrize(("links", "expected"), [(0, False), (5, False), (6, True)])
def test_a_supersede_chain_over_5_trips(links: int, expected: bool) -> None:
    one = found(FailureMode.LONG_CHAINS, successors=chain(links))
    assert (one.value, one.tripped) == (links, expected)


@given(st.dictionaries(st.sampled_from("abcdefgh"), st.sampled_from("abcdefgh")))
def test_a_chain_is_never_longer_than_its_items_also_in_a_circle(successors: Mapping[str, str]) -> None:
    assert 0 <= longest_chain(successors) <= len(successors)


def test_a_store_that_feeds_itself_trips() -> None:
    before = DayRollup(back(10), scores={"high": QualityScores(0.3)})
    week = DayRollup(back(1), by_item={"high": Counts(40, 40, 36), "low": Counts(40, 40, 4)})
    one = found(FailureMode.SELF_REINFORCING, [before, week])
    assert one.value == pytest.approx(9)
    assert one.tripped
    assert not found(FailureMode.SELF_REINFORCING, [week]).tripped  # nothing was ranked by it before


@pytest.mark.parametrize(("age", "expected"), [(0, False), (90, False), (91, False), (92, True)])
def test_turns_that_outlive_90_days_trip(age: int, expected: bool) -> None:
    assert found(FailureMode.LOG_SIZE, oldest_turn=back(age)).tripped is expected


def test_the_off_switch_is_shown() -> None:
    one = found(FailureMode.SWITCHED_OFF, is_on=False)
    assert one.tripped
    [line] = tripped_lines((one,))
    assert "KMS_QUALITY_RANKING_ENABLED" in str(line)
