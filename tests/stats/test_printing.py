from __future__ import annotations

import pytest

from knowbound.stats.printing import probability, score_interval, signed


@pytest.mark.parametrize(("value", "shown"), [(0.25, "+0.25"), (-1.5, "−1.50"), (0.0, "0.00"), (-0.004, "0.00")])
def test_a_difference_of_scores_is_shown_with_its_sign(value: float, shown: str) -> None:
    assert signed(value) == shown


@pytest.mark.parametrize(("p", "shown"), [(0.0, "<0.001"), (0.00099, "<0.001"), (0.001, "0.001"), (0.0437, "0.044")])
def test_a_probability_is_never_shown_as_0(p: float, shown: str) -> None:
    assert probability(p) == shown


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [(2.5, 4.0, "95% 2.50–4.00"), (None, 4.0, ""), (2.5, None, ""), (None, None, ""), (3.0, 3.0, "")],
)
def test_the_interval_of_a_score_is_left_out_where_it_is_unknown_or_has_no_width(
    low: float | None, high: float | None, shown: str
) -> None:
    assert score_interval(low, high) == shown
