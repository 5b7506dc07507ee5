from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.quality import Counts, DayRollup, QualityScores
from knowbound.stats.rate import Rate
from knowbound.stats.rollout import Demotion, Reinforcement, demotions, false_demotions, reinforcement, scores_of

USED, WRONG, IDLE = Counts(1, 1, 1), Counts(1, 1, 0, 1), Counts(1, 1)


def days(*counts: Counts | None, item: str = "k1") -> list[DayRollup]:
    """One day after the other from 1 November on; None: not injected."""
    first, scores, found = date(2026, 11, 1), QualityScores(), []
    for n, one in enumerate(counts):
        if one:
            scores = scores.after(one.used, one.contradicted)
        day = (first + timedelta(days=n)).isoformat()
        found.append(DayRollup(day, by_item={item: one} if one else {}, scores={item: scores} if one else {}))
    return found


def test_a_contradiction_demotes_and_use_brings_an_item_back() -> None:
    assert demotions(days(WRONG, USED, USED, USED)) == [Demotion("k1", "2026-11-01", "2026-11-04")]
    assert demotions(days(WRONG)) == [Demotion("k1", "2026-11-01")]


def test_a_reworded_item_was_not_promoted() -> None:
    some = [
        DayRollup("2026-11-01", scores={"k1": QualityScores(0.0, 0.3, sha="old")}),
        DayRollup("2026-11-02", scores={"k1": QualityScores(0.3, 0.0, sha="new")}),
    ]
    assert demotions(some) == [Demotion("k1", "2026-11-01")]


def test_an_item_that_is_only_not_used_is_never_demoted() -> None:
    assert demotions(days(*[IDLE] * 30)) == []


def test_an_item_can_be_demoted_twice() -> None:
    found = demotions(days(WRONG, *[USED] * 5, WRONG, WRONG))
    assert [one.date for one in found] == ["2026-11-01", "2026-11-07"]


@pytest.mark.parametrize(("back", "expected"), [("", False), ("2026-11-08", True), ("2026-11-09", False)])
def test_a_demotion_is_reversed_within_seven_days(back: str, expected: bool) -> None:
    assert Demotion("k1", "2026-11-01", back).is_reversed is expected


def test_only_demotions_whose_seven_days_are_over_count() -> None:
    found = [
        Demotion("a", "2026-10-01", "2026-10-02"),
        Demotion("b", "2026-11-01", "2026-11-03"),
        Demotion("c", "2026-11-02"),
        Demotion("d", "2026-11-09", "2026-11-10"),
    ]
    assert false_demotions(found, "2026-11-01", "2026-11-10") == Rate(1, 2)


@given(st.lists(st.sampled_from([USED, WRONG, IDLE, None]), max_size=25))
def test_whoever_ends_below_1_has_an_open_demotion(given_days: list[Counts | None]) -> None:
    some = days(*given_days)
    factor = scores_of(some).get("k1", QualityScores()).factor()
    is_open = any(not one.back for one in demotions(some))
    assert is_open is (factor < 1)


def test_use_of_items_above_the_median_is_compared_with_the_others() -> None:
    window = DayRollup("2026-11-16", by_item={"high": Counts(40, 40, 32), "low": Counts(40, 40, 8)})
    found = reinforcement(window, {"high": QualityScores(usage=0.5)}, {})
    assert (found.above, found.below) == (Rate(32, 40), Rate(8, 40))
    assert found.ratio == pytest.approx(4)
    assert found.is_tripped


@pytest.mark.parametrize(
    ("above", "below", "expected"),
    [
        (Rate(30, 40), Rate(10, 40), False),  # exactly three times
        (Rate(31, 40), Rate(10, 40), True),
        (Rate(1, 40), Rate(0, 40), True),  # nothing is used below
        (Rate(0, 40), Rate(0, 40), False),
        (Rate(19, 19), Rate(1, 40), False),  # too few
    ],
)
def test_it_is_self_reinforcing_where_the_ratio_is_over_3(above: Rate, below: Rate, expected: bool) -> None:
    assert Reinforcement(above, below).is_tripped is expected


@pytest.mark.parametrize(
    ("above", "below", "ratio"),
    [
        (Rate(30, 40), Rate(10, 40), 3.0),
        (Rate(30, 40), Rate(0, 40), None),  # nothing is used below
        (Rate(19, 19), Rate(10, 40), None),  # too few
    ],
)
def test_the_ratio_is_unknown_without_enough_verdicts_and_use_below(
    above: Rate, below: Rate, ratio: float | None
) -> None:
    assert Reinforcement(above, below).ratio == ratio


def test_items_of_one_confidence_say_nothing() -> None:
    window = DayRollup("2026-11-16", by_item={"a": Counts(40, 40, 40), "b": Counts(40, 40, 0)})
    assert not reinforcement(window, {}, {}).is_known
