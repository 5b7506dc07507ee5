from __future__ import annotations

import pytest

from knowbound.stats.printing import (
    duration,
    estimate,
    money,
    percent,
    percent_between,
    percent_interval,
    percent_range,
    percent_words,
    points,
    probability,
    score,
    score_interval,
    seconds_taken,
    signed,
)


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


@pytest.mark.parametrize(
    ("value", "digits", "shown"),
    [
        (None, 1, "unknown"),
        (0.0, 1, "0%"),
        (0.0005, 1, "0.1%"),
        (0.0004, 1, "<0.1%"),
        (0.004, 0, "<1%"),
        (0.004, 2, "0.4%"),
        (0.00004, 2, "<0.01%"),
        (0.9996, 1, ">99.9%"),
        (0.9994, 1, "99.9%"),
        (0.996, 0, ">99%"),
        (1.0, 1, "100%"),
        (-0.001, 0, "-0%"),
        (1.001, 0, "100%"),
        (0.125, 1, "12.5%"),
    ],
)
def test_a_share_is_rounded_but_never_to_0_or_100_percent(value: float | None, digits: int, shown: str) -> None:
    assert percent(value, digits) == shown


def test_the_interval_of_a_share_is_in_whole_percent() -> None:
    assert (percent_interval((0.2249, 0.776)), percent_interval(None)) == ("95% 22–78%", "")
    assert (percent_range((0.0, 1.0)), percent_range(None)) == ("0–100%", "")


@pytest.mark.parametrize(
    ("low", "high", "shown"),
    [
        (0.28, 0.31, "28–31%"),
        (0.28, 0.2801, "28%"),
        (None, 0.3, "unknown"),
        (0.3, None, "30%"),
        (None, None, "unknown"),
    ],
)
def test_what_a_share_can_be_is_shown_from_end_to_end(low: float | None, high: float | None, shown: str) -> None:
    assert percent_between(low, high) == shown


@pytest.mark.parametrize(
    ("counts", "interval", "shown"),
    [
        ("4 of 8", (0.22, 0.78), "50% (4 of 8, 95% 22–78%)"),
        ("4 of 8", None, "50% (4 of 8)"),
        ("", (0.22, 0.78), "50% (95% 22–78%)"),
        ("", None, "50%"),
    ],
)
def test_a_share_is_shown_with_what_is_known_behind_it(
    counts: str, interval: tuple[float, float] | None, shown: str
) -> None:
    assert percent_words(0.5, counts, interval) == shown


@pytest.mark.parametrize(
    ("share", "digits", "shown"),
    [
        (0.125, 1, "+12.5"),
        (-0.125, 0, "−12"),
        (0.0004, 1, "0"),
        (0.0006, 1, "+0.1"),
        (-0.004, 0, "0"),
        (0.1235, 2, "+12.35"),
    ],
)
def test_points_have_a_sign_unless_they_are_rounded_to_0(share: float, digits: int, shown: str) -> None:
    assert points(share, digits) == shown


def test_points_have_one_digit_and_a_score_two() -> None:
    assert points(0.12345) == "+12.3"
    assert (score(None), score(3.14159)) == ("unknown", "3.14")
    assert (signed(None), signed(0.0049), signed(0.0051), signed(-0.0051)) == ("0.00", "0.00", "+0.01", "−0.01")


@pytest.mark.parametrize(
    ("value", "low", "high", "shown"),
    [
        (0.618, 0.41, 0.8, "0.62 (95% 0.41 to 0.80)"),
        (0.0, 0.0, 0.0, "0.00 (95% 0.00 to 0.00)"),
        (None, 0.4, 0.8, "unknown"),
        (0.6, None, 0.8, "unknown"),
        (0.6, 0.4, None, "unknown"),
    ],
)
def test_an_estimate_without_an_interval_is_unknown(
    value: float | None, low: float | None, high: float | None, shown: str
) -> None:
    assert estimate(value, low, high) == shown


@pytest.mark.parametrize(
    ("usd", "shown"), [(None, "unknown"), (0.0, "$0.00"), (0.01, "$0.01"), (0.0099, "$0.0099"), (1.006, "$1.01")]
)
def test_small_sums_of_money_keep_their_digits(usd: float | None, shown: str) -> None:
    assert money(usd) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(119.4, "119 s"), (120, "2 min"), (7199, "120 min"), (7200, "2.0 h"), (3_600_000, "1,000.0 h"), (0, "0 s")],
)
def test_a_duration_changes_its_unit_at_two_minutes_and_two_hours(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


@pytest.mark.parametrize(("seconds", "shown"), [(0.123, "0.12"), (9.999, "10.00"), (10, "10.0"), (1234.56, "1,234.6")])
def test_short_times_keep_their_digits(seconds: float, shown: str) -> None:
    assert seconds_taken(seconds) == shown
