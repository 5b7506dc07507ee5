from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.config import load
from knowbound.core.quality import CONTRACT, Counts, DayRollup, QualityScores, Weights
from knowbound.quality.rollout.replay import weights_of
from knowbound.stats.rollout import effective_confidence, scores_by_day, scores_by_turns, scores_of
from tests.quality.examples import item, turn

shares = st.floats(0, 1)


def test_the_constants_are_those_of_the_contract() -> None:
    assert Weights(0.5, 2.0, 0.3) == CONTRACT


def test_the_constants_are_settings(tmp_path: Path) -> None:
    assert weights_of(load(tmp_path, environ={})) == CONTRACT
    (tmp_path / "knowbound.toml").write_text("[quality]\nalpha = 0.75\nbeta = 1.5\ngamma = 0.2\n")
    found = weights_of(load(tmp_path, environ={"KNOWBOUND_QUALITY_BETA": "1.25"}))
    assert found == Weights(0.75, 1.25, 0.2)
    assert QualityScores(0.4, 0.2).factor(found) == pytest.approx(1 + 0.75 * 0.4 - 1.25 * 0.2)


@pytest.mark.parametrize(
    ("usage", "contradiction", "factor"),
    [(0.8, 0.0, 1.40), (0.1, 0.3, 0.45), (0.0, 0.0, 1.0), (0.0, 0.5, 0.0), (0.0, 1.0, 0.0), (1.0, 0.0, 1.5)],
)
def test_the_examples_of_the_contract(usage: float, contradiction: float, factor: float) -> None:
    assert QualityScores(usage, contradiction).factor() == pytest.approx(factor, abs=1e-9)


def test_one_contradiction_weighs_four_times_one_use() -> None:
    used, contradicted = QualityScores().after(1, 0).factor(), QualityScores().after(0, 1).factor()
    assert [used, contradicted] == pytest.approx([1.15, 0.40])
    assert (1 - contradicted) / (used - 1) == pytest.approx(4)


def test_an_item_never_injected_keeps_its_confidence_and_non_use_alone_is_not_punished() -> None:
    assert effective_confidence(0.7, QualityScores()) == 0.7
    idle = QualityScores()
    for _ in range(30):
        idle = idle.after(0, 0)
    assert effective_confidence(0.7, idle) == 0.7


def test_an_injection_without_a_verdict_changes_nothing() -> None:
    before = {"k1": QualityScores(0.4, 0.2)}
    assert scores_by_turns(before, [turn(1, item("k1", None))], 0.3) == {}
    assert scores_by_day(before, DayRollup("2026-11-01", by_item={"k1": Counts(unjudged=5)}), 0.3) == {}


def test_the_averages_are_over_injections_in_the_order_of_turns() -> None:
    five = [turn(n, item("k1", "c")) for n in range(5)]
    assert scores_by_turns({}, five[:1], 0.3)["k1"].factor() == pytest.approx(0.4)
    assert scores_by_turns({}, five[:2], 0.3)["k1"].factor() == 0.0
    assert scores_by_turns({}, five, 0.3)["k1"].contradiction == pytest.approx(1 - 0.7**5)
    first, last = ([turn(1, item("k1", said)), turn(2, item("k1", then))] for said, then in (("c", "u"), ("u", "c")))
    assert scores_by_turns({}, first, 0.3)["k1"].factor() > scores_by_turns({}, last, 0.3)["k1"].factor()


def test_a_day_whose_turns_are_gone_counts_as_one_injection() -> None:
    day = DayRollup("2026-11-01", by_item={"k": Counts(100, 100, 100), "other": Counts(2, 0, 0, 1)})
    found = scores_by_day({}, day, 0.3)
    assert (found["k"].usage, found["other"].contradiction) == pytest.approx((0.3, 0.15))


def test_the_newest_averages_of_an_item_count() -> None:
    days = [
        DayRollup("2026-11-02", scores={"k": QualityScores(0.5)}),
        DayRollup("2026-11-01", scores={"k": QualityScores(0.1), "other": QualityScores(0.2)}),
    ]
    assert scores_of(days) == {"k": QualityScores(0.5), "other": QualityScores(0.2)}


def test_another_wording_starts_from_zero() -> None:
    before = QualityScores(0.0, 0.9, sha="aaaa")
    assert before.after(1, 0, sha="bbbb") == QualityScores(0.3, 0.0, sha="bbbb")
    assert before.after(1, 0, sha="aaaa").contradiction == pytest.approx(0.63)
    assert before.after(1, 0).contradiction == pytest.approx(0.63)  # unknown: 0.1.0 did not note it


@given(st.lists(st.tuples(shares, shares), max_size=30), shares)
def test_it_stays_between_nothing_and_half_more(days: list[tuple[float, float]], stored: float) -> None:
    scores = QualityScores()
    for used, contradicted in days:
        scores = scores.after(used, contradicted)
    assert 0 <= scores.usage <= 1
    assert 0 <= scores.contradiction <= 1
    assert 0 <= effective_confidence(stored, scores) <= stored * 1.5 + 1e-9


@given(shares, shares, shares)
def test_more_contradiction_never_raises_and_more_use_never_lowers(usage: float, low: float, high: float) -> None:
    low, high = sorted((low, high))
    assert QualityScores(usage, low).factor() >= QualityScores(usage, high).factor()
    assert QualityScores(low, usage).factor() <= QualityScores(high, usage).factor()
