from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.quality import Counts, DayRollup
from knowbound.stats.effective import ALPHA, BETA, GAMMA, QualityScores, effective_confidence, scores_of

shares = st.floats(0, 1)


def test_the_constants_are_those_of_the_contract() -> None:
    assert (ALPHA, BETA, GAMMA) == (0.5, 2.0, 0.3)


@pytest.mark.parametrize(
    ("usage", "contradiction", "factor"),
    [(0.8, 0.0, 1.40), (0.1, 0.3, 0.45), (0.0, 0.0, 1.0), (0.0, 0.5, 0.0), (0.0, 1.0, 0.0), (1.0, 0.0, 1.5)],
)
def test_the_examples_of_the_contract(usage: float, contradiction: float, factor: float) -> None:
    assert QualityScores(usage, contradiction).factor == pytest.approx(factor, abs=1e-9)


def test_one_contradiction_weighs_four_times_one_use() -> None:
    used, contradicted = QualityScores().after(Counts(1, 1, 1)), QualityScores().after(Counts(1, 1, 0, 1))
    assert [used.factor, contradicted.factor] == pytest.approx([1.15, 0.40])
    assert (1 - contradicted.factor) / (used.factor - 1) == pytest.approx(4)


def test_an_item_never_injected_keeps_its_confidence_and_non_use_alone_is_not_punished() -> None:
    assert effective_confidence(0.7, QualityScores()) == 0.7
    idle = QualityScores()
    for _ in range(30):
        idle = idle.after(Counts(judged=9, on_topic=9))
    assert effective_confidence(0.7, idle) == 0.7


def test_a_day_without_a_judged_injection_changes_nothing() -> None:
    before = QualityScores(0.4, 0.2)
    assert before.after(Counts(unjudged=5)) == before


def test_the_averages_are_over_days_not_over_injections() -> None:
    days = [
        DayRollup("2026-11-02", by_item={"k": Counts(1, 1, 0)}),
        DayRollup("2026-11-01", by_item={"k": Counts(100, 100, 100), "other": Counts(1, 0, 0, 1)}),
    ]
    found = scores_of(days)
    assert found["k"].usage == pytest.approx(0.7 * 0.3)
    assert found["other"].contradiction == pytest.approx(0.3)


@given(st.lists(st.tuples(shares, shares), max_size=30), shares)
def test_it_stays_between_nothing_and_half_more(days: list[tuple[float, float]], stored: float) -> None:
    scores = QualityScores()
    for used, contradicted in days:
        scores = scores.after(Counts(1000, 1000, round(1000 * used), round(1000 * contradicted)))
    assert 0 <= scores.usage <= 1
    assert 0 <= scores.contradiction <= 1
    assert 0 <= effective_confidence(stored, scores) <= stored * 1.5 + 1e-9


@given(shares, shares, shares)
def test_more_contradiction_never_raises_and_more_use_never_lowers(usage: float, low: float, high: float) -> None:
    low, high = sorted((low, high))
    assert QualityScores(usage, low).factor >= QualityScores(usage, high).factor
    assert QualityScores(low, usage).factor <= QualityScores(high, usage).factor
