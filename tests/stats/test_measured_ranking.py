"""The rollout of measured ranking, its demotions and its replays, value by value."""

from __future__ import annotations

import pytest

from knowbound.core.quality import Counts, DayRollup, Metric, QualityScores
from knowbound.stats.rate import Mean, Rate
from knowbound.stats.rollout import (
    FEWEST_REPLAYED,
    FEWEST_VERDICTS,
    Demotion,
    Leg,
    LegStatus,
    MetricChange,
    Ranker,
    Ranking,
    Reinforcement,
    ReplayResult,
    ReplayVerdict,
    RolloutState,
    RolloutStatus,
    TurnPair,
    demotions,
    effective_confidence,
    false_demotions,
    is_worse,
    metric_change,
    reinforcement,
    scores_by_day,
    scores_by_turns,
)
from tests.quality.examples import item, turn


def test_the_limits_are_those_of_the_specification() -> None:
    assert (FEWEST_REPLAYED, FEWEST_VERDICTS) == (20, 20)


@pytest.mark.parametrize(
    ("stored", "scores", "effective"),
    [
        (0.8, QualityScores(), 0.8),
        (0.8, QualityScores(0.3), 0.92),
        (0.8, QualityScores(0.0, 0.3), 0.32),
        (0.8, QualityScores(0.0, 0.6), 0.0),
    ],
)
def test_use_raises_and_contradiction_lowers_a_confidence(
    stored: float, scores: QualityScores, effective: float
) -> None:
    assert effective_confidence(stored, scores) == pytest.approx(effective)


def test_averages_go_on_from_those_before_and_skip_what_was_not_judged() -> None:
    before = {"a": QualityScores(0.5, 0.5), "b": QualityScores(0.1)}
    turns = [turn(1, item("a", "u"), item("b", None), time="2026-11-01"), turn(2, item("a", "c"), time="2026-11-02")]
    found = scores_by_turns(before, turns, 0.5)
    assert set(found) == {"a"}
    assert (found["a"].usage, found["a"].contradiction, found["a"].last) == (0.375, 0.625, "2026-11-02")


@pytest.mark.parametrize(("time", "contradiction"), [("1", 0.5), ("2", 0.0), ("3", 0.0), ("4", 0.5)])
def test_a_contradiction_that_was_dismissed_counts_as_none_from_the_first_moment_to_the_last(
    time: str, contradiction: float
) -> None:
    dismissed = {"a": [("2", "4")], "b": [("0", "9")]}
    found = scores_by_turns({}, [turn(1, item("a", "c"), time=time)], 0.5, dismissed)
    assert found["a"].contradiction == contradiction


def test_a_day_without_turns_counts_its_shares_as_one_injection() -> None:
    day = DayRollup("2026-11-03", by_item={"a": Counts(4, 4, 3, 1), "b": Counts(unjudged=2)})
    found = scores_by_day({"a": QualityScores(0.5, 0.5), "b": QualityScores(1.0)}, day, 0.5)
    assert found == {"a": QualityScores(0.625, 0.375, "2026-11-03")}


@pytest.mark.parametrize(
    ("back", "is_reversed"), [("", False), ("2026-11-08", True), ("2026-11-09", False), ("2026-11-02", True)]
)
def test_a_demotion_is_reversed_within_seven_days(back: str, is_reversed: bool) -> None:
    assert Demotion("a", "2026-11-01", back).is_reversed is is_reversed


def test_demotions_count_once_their_seven_days_are_over() -> None:
    found = [Demotion("a", f"2026-11-0{day}", back) for day, back in ((1, "2026-11-02"), (2, ""), (3, "2026-11-20"))]
    assert false_demotions(found, "2026-11-01", "2026-11-10") == Rate(1, 3)
    assert false_demotions(found, "2026-11-01", "2026-11-09") == Rate(1, 2)
    assert false_demotions(found, "2026-11-02", "2026-11-10") == Rate(0, 2)
    assert false_demotions(found, "2026-11-01", "2026-11-07") == Rate(0, 0)


def day(date: str, **scores: QualityScores) -> DayRollup:
    return DayRollup(date, scores=scores)


def test_a_factor_of_exactly_1_is_no_demotion() -> None:
    assert demotions([day("2026-11-01", a=QualityScores(0.4, 0.1))]) == []  # 1 + 0.5 · 0.4 − 2 · 0.1
    fell = demotions([day("2026-11-02", a=QualityScores(0.4, 0.1)), day("2026-11-01", a=QualityScores(0.0, 0.1))])
    assert fell == [Demotion("a", "2026-11-01", "2026-11-02")]  # by date, whatever the order


def test_an_item_that_stays_below_1_is_demoted_once_and_one_that_was_reworded_below_1_anew() -> None:
    low = [day(f"2026-11-0{at}", a=QualityScores(0.0, 0.3, sha="x")) for at in (1, 2)]
    assert demotions(low) == [Demotion("a", "2026-11-01")]
    reworded = day("2026-11-03", a=QualityScores(0.0, 0.3, sha="y"))
    assert demotions([*low, reworded]) == [Demotion("a", "2026-11-01"), Demotion("a", "2026-11-03")]
    unnoted = day("2026-11-03", a=QualityScores(0.0, 0.3))
    assert demotions([*low, unnoted]) == [Demotion("a", "2026-11-01")]
    risen = day("2026-11-04", a=QualityScores(0.3, 0.0, sha="x"))
    assert demotions([*low, risen]) == [Demotion("a", "2026-11-01", "2026-11-04")]
    assert demotions([day("2026-11-01", b=QualityScores(0.3))]) == []


@pytest.mark.parametrize(
    ("above", "below", "ratio", "is_tripped"),
    [
        (Rate(15, 20), Rate(5, 20), 3.0, False),  # exactly three times is not more
        (Rate(16, 20), Rate(5, 20), 3.2, True),
        (Rate(16, 19), Rate(1, 20), None, False),
        (Rate(16, 20), Rate(1, 19), None, False),
        (Rate(1, 20), Rate(0, 20), None, True),
        (Rate(0, 20), Rate(0, 20), None, False),
        (Rate(8, 20), Rate(16, 80), 2.0, False),
    ],
)
def test_ranking_reinforces_itself_where_only_high_items_are_used(
    above: Rate, below: Rate, ratio: float | None, is_tripped: bool
) -> None:
    found = Reinforcement(above, below)
    assert (found.ratio, found.is_tripped) == (ratio if ratio is None else pytest.approx(ratio), is_tripped)
    assert found.is_known is (min(above.n, below.n) >= 20)


def test_items_are_split_at_the_median_of_the_confidence_before() -> None:
    used = {"a": Counts(10, 0, 6), "b": Counts(10, 0, 5), "c": Counts(10, 0, 1), "d": Counts(unjudged=4)}
    window, scores = DayRollup("2026-11-07", by_item=used), {"a": QualityScores(0.3), "c": QualityScores(0.0, 0.3)}
    assert reinforcement(window, scores, {}) == Reinforcement(Rate(6, 10), Rate(6, 20))
    assert reinforcement(window, {}, {"b": 0.5}) == Reinforcement(Rate(), Rate(12, 30))
    assert reinforcement(window, {}, {"b": 2.0}) == Reinforcement(Rate(5, 10), Rate(7, 20))
    assert reinforcement(window, {}, {}) == Reinforcement()  # all the same


def replay(compared: int, **changes: Mean) -> ReplayResult:
    metrics = {Metric(name): MetricChange(Rate(), Rate(), mean) for name, mean in changes.items()}
    return ReplayResult("", Ranking(Ranker.PRESENT), Ranking(Ranker.QUALITY), 5, compared, metrics)


@pytest.mark.parametrize(
    ("result", "verdict"),
    [
        (replay(19, used=Mean(19, -0.2, -0.3, -0.1)), ReplayVerdict.TOO_FEW),
        (replay(20, used=Mean(20, -0.2, -0.3, -0.1)), ReplayVerdict.WORSE),
        (replay(20, used=Mean(20, -0.2, -0.3, 0.0)), ReplayVerdict.NO_WORSE),
        (replay(20, used=Mean(20, 0.2, 0.1, 0.3), contradicted=Mean(20, 0.1, 0.05, 0.2)), ReplayVerdict.WORSE),
        (replay(20), ReplayVerdict.NO_WORSE),
    ],
)
def test_a_candidate_is_worse_if_one_metric_surely_is(result: ReplayResult, verdict: ReplayVerdict) -> None:
    assert result.verdict is verdict


@pytest.mark.parametrize(
    ("metric", "low", "high", "worse"),
    [
        (Metric.CONTRADICTED, 0.0, 0.1, False),
        (Metric.CONTRADICTED, 0.01, None, False),
        (Metric.USED, -0.1, 0.0, False),
        (Metric.USED, None, -0.1, False),
        (Metric.ON_TOPIC, -0.2, -0.1, True),
    ],
)
def test_an_interval_that_touches_0_is_not_worse(
    metric: Metric, low: float | None, high: float | None, worse: bool
) -> None:
    assert is_worse(metric, Mean(20, 0.0, low, high)) is worse


def test_turns_of_one_session_are_one_cluster_of_a_replay() -> None:
    pairs = [TurnPair("a", (True,), (False,)), TurnPair("a", (True,), (True, False)), TurnPair("b", (False,), (True,))]
    found = metric_change(pairs)
    assert (found.before, found.after) == (Rate(2, 3), Rate(2, 4))
    assert found.difference.n == 3
    assert found.difference.value == pytest.approx(-1 / 6)
    assert (found.difference.low, found.difference.high) == (-0.75, 1.0)
    assert metric_change([]) == MetricChange(Rate(), Rate(), Mean())


def test_the_present_leg_and_the_next_are_known_by_their_numbers() -> None:
    legs = tuple(LegStatus(Leg(number), is_current=number == 1) for number in range(3))
    status = RolloutStatus(legs, RolloutState())
    assert (status.current, status.next) == (legs[1], legs[2])
    last = tuple(LegStatus(Leg(number), is_current=number == 1) for number in range(2))
    assert RolloutStatus(last, RolloutState()).next is None
