"""The statistics of a comparison, against published numbers and against counting everything."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.stats.paired import (
    Difference,
    Pairs,
    count_pairs,
    more_needed,
    newcombe,
    pairs_needed,
    sign_flip,
    unpaired_difference,
)
from knowbound.stats.printing import points
from knowbound.stats.rate import Rate

cells = st.integers(0, 40)
shifts = st.lists(st.integers(-3, 3).filter(bool), max_size=9)
clusters = st.lists(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=4), min_size=1, max_size=12)


# The interval of the difference of paired proportions


@pytest.mark.parametrize(
    ("both", "broken", "fixed", "neither", "low", "high"),
    [
        (36, 12, 2, 0, 0.0569, 0.3404),
        (20, 12, 2, 16, 0.0562, 0.3292),
        (18, 12, 2, 18, 0.0562, 0.3290),
        (36, 14, 0, 0, 0.1528, 0.4167),
        (18, 14, 0, 18, 0.1441, 0.3963),
        (2, 97, 1, 0, 0.8721, 0.9854),
        (0, 29, 1, 0, 0.6666, 0.9882),
        (0, 30, 0, 0, 0.8395, 1.0),
        (54, 0, 0, 0, -0.0664, 0.0664),
        (53, 0, 0, 1, -0.0729, 0.0729),
        (30, 0, 0, 24, -0.0358, 0.0358),
        (27, 0, 0, 27, -0.0351, 0.0351),
    ],
)
def test_the_interval_is_that_of_newcombe_1998_table_iii_method_10(
    both: int, broken: int, fixed: int, neither: int, low: float, high: float
) -> None:
    assert newcombe(both, fixed, broken, neither) == pytest.approx((low, high), abs=6e-5)


def test_the_interval_is_that_of_fagerland_lydersen_laake_for_59_6_16_80() -> None:
    assert newcombe(59, 16, 6, 80) == pytest.approx((-0.1186, -0.0046), abs=6e-5)


@given(cells, cells, cells, cells)
def test_the_interval_holds_the_difference_and_mirrors_when_the_sides_are_exchanged(
    both: int, fixed: int, broken: int, neither: int
) -> None:
    n = both + fixed + broken + neither
    if not n:
        return
    low, high = newcombe(both, fixed, broken, neither)
    assert -1 <= low <= (broken - fixed) / n + 1e-12
    assert (broken - fixed) / n <= high + 1e-12 <= 1 + 1e-9
    assert newcombe(both, broken, fixed, neither) == pytest.approx((-high, -low))


@given(st.integers(0, 30), st.integers(0, 30), st.integers(1, 30))
def test_rates_without_their_samples_have_an_interval_that_mirrors_too(one: int, other: int, more: int) -> None:
    n = max(one, other) + more
    there, back = unpaired_difference(Rate(one, n), Rate(other, n)), unpaired_difference(Rate(other, n), Rate(one, n))
    assert there is not None
    assert back is not None
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low))


def test_rates_without_their_samples_have_the_hybrid_score_interval_of_independent_rates() -> None:
    # Newcombe 1998 (independent rates), table II, example (a) of the paper: 56/70 and 48/80, method 10.
    difference = unpaired_difference(Rate(48, 80), Rate(56, 70))
    assert difference is not None
    assert (difference.value, difference.low, difference.high) == pytest.approx((0.2, 0.0524, 0.3339), abs=6e-5)


def test_several_comparisons_widen_the_interval() -> None:
    one, five = (
        unpaired_difference(Rate(10, 24), Rate(3, 24)),
        unpaired_difference(Rate(10, 24), Rate(3, 24), comparisons=5),
    )
    assert one is not None
    assert five is not None
    assert five.low < one.low
    assert one.high < five.high


def test_nothing_counted_has_no_difference() -> None:
    assert unpaired_difference(Rate(), Rate(1, 2)) is None
    assert Pairs().difference is None
    assert Pairs().p is None
    assert Pairs().settled is None
    assert Pairs().more is None


# The exact test


@pytest.mark.parametrize(
    ("fixed", "broken", "p"),
    [(0, 0, 1.0), (1, 0, 1.0), (5, 0, 0.0625), (6, 0, 0.03125), (7, 1, 0.0703125), (1, 7, 0.0703125), (3, 3, 1.0)],
)
def test_the_test_is_mcnemars_exact_one_where_samples_stand_alone(fixed: int, broken: int, p: float) -> None:
    pairs = count_pairs([[(True, False)]] * fixed + [[(False, True)]] * broken + [[(False, False)]] * 5)
    assert pairs.p == pytest.approx(p)


def test_the_test_is_mcnemars_exact_one_of_bentur_2009() -> None:
    # Fagerland, Lydersen and Laake 2014: 7 against 1 discordant pairs of 21.
    assert sign_flip([1] * 7 + [-1]) == pytest.approx(0.0703125)


@given(shifts)
def test_the_test_agrees_with_flipping_every_sign(found: list[int]) -> None:
    flips = list(product((1, -1), repeat=len(found)))
    seen = abs(sum(found))
    sums = [sum(sign * shift for sign, shift in zip(signs, found, strict=True)) for signs in flips]
    assert sign_flip(found) == pytest.approx(sum(abs(total) >= seen for total in sums) / len(flips))


@given(shifts)
def test_the_test_does_not_care_which_side_is_called_before(found: list[int]) -> None:
    assert sign_flip(found) == sign_flip([-shift for shift in found])
    assert 0 < sign_flip(found) <= 1


def test_many_clusters_are_tested_as_quickly_and_say_the_same() -> None:
    few, many = sign_flip([1] * 260 + [-1] * 220), sign_flip([1] * 282 + [-1] * 240)
    assert few == pytest.approx(0.0750, abs=5e-4)  # exact
    assert many == pytest.approx(0.0660, abs=1e-3)  # by the normal distribution: 42 of √522


# Clusters


def test_repeats_of_one_sample_count_for_less_than_as_many_samples() -> None:
    alone = count_pairs([[(False, True)]] * 6 + [[(False, False)]] * 18)
    repeated = count_pairs([[(False, True)] * 3] * 2 + [[(False, False)] * 3] * 6)
    assert (alone.n, repeated.n, repeated.clusters) == (24, 24, 8)
    assert alone.p == pytest.approx(0.03125)
    assert repeated.p == 0.5
    assert repeated.design > 2
    one, other = alone.difference, repeated.difference
    assert one is not None
    assert other is not None
    assert one.value == other.value
    assert other.low < one.low
    assert one.high < other.high


@given(clusters)
def test_clusters_never_make_a_difference_look_surer(found: list[list[tuple[bool, bool]]]) -> None:
    together = count_pairs(found)
    apart = count_pairs([pair] for part in found for pair in part)
    assert together.n == apart.n
    assert together.design >= apart.design == 1.0
    one, other = together.difference, apart.difference
    assert one is not None
    assert other is not None
    assert one.high - one.low >= other.high - other.low - 1e-9


@given(clusters)
def test_exchanging_the_sides_mirrors_everything(found: list[list[tuple[bool, bool]]]) -> None:
    pairs = count_pairs(found)
    back = count_pairs([[(after, before) for before, after in part] for part in found])
    assert (pairs.fixed, pairs.broken, pairs.p) == (back.broken, back.fixed, back.p)
    assert pairs.settled == back.settled
    assert pairs.design == pytest.approx(back.design)


def test_samples_that_all_agree_in_one_cluster_are_a_single_sample() -> None:
    assert count_pairs([[(True, True)] * 8]).design == 8


# How many more


def test_so_many_more_settle_it_and_fewer_do_not() -> None:
    pairs = count_pairs([[(True, False)]] * 3 + [[(False, True)]] + [[(False, False)]] * 20)
    more = pairs.more
    assert more is not None
    assert not pairs.settled
    assert pairs.n + more == math.ceil(pairs_needed(4 / 24, 2 / 24))
    both = [
        count_pairs([[(True, False)]] * (3 * n) + [[(False, True)]] * n + [[(False, False)]] * (20 * n)) for n in (1, 4)
    ]
    assert [pairs.settled for pairs in both] == [False, False]
    assert both[1].more is not None
    assert both[1].n + both[1].more == pairs.n + more


@pytest.mark.parametrize(("n", "least"), [(10, 0.6), (31, 0.2), (100, 0.06)])
def test_more_pairs_find_smaller_differences(n: int, least: float) -> None:
    found = count_pairs([[(False, False)]] * n).detectable
    assert found is not None
    assert pairs_needed(found, found) <= n
    assert found >= least


def test_pairs_that_change_both_ways_find_no_more_than_pairs_that_change_one_way() -> None:
    balanced, rising = Pairs(fixed=25, broken=25, neither=50), Pairs(broken=50, neither=50)
    assert balanced.detectable == rising.detectable == 0.21
    assert Pairs(neither=100).detectable == 0.1


def test_three_pairs_find_no_difference() -> None:
    assert count_pairs([[(False, False)]] * 3).detectable is None


def test_no_number_settles_what_is_balanced() -> None:
    assert count_pairs([[(True, False)], [(False, True)], [(True, True)]]).more is None


def test_nothing_more_is_needed_where_it_is_settled() -> None:
    assert count_pairs([[(True, False)]] * 12 + [[(False, False)]] * 12).more == 0


@given(st.integers(1, 50), st.integers(1, 5000))
def test_the_number_that_is_needed_is_the_smallest(n: int, enough: int) -> None:
    assert more_needed(n, lambda count: count >= enough) == max(0, enough - n)


def test_what_never_settles_needs_no_number() -> None:
    assert more_needed(10, lambda count: False) is None
    assert more_needed(0, lambda count: True) is None


@pytest.mark.parametrize(
    ("share", "shown"), [(0.125, "+12.5"), (-0.083, "−8.3"), (0.0, "0"), (-0.0001, "0"), (1.0, "+100.0")]
)
def test_a_difference_is_shown_in_points_with_its_sign(share: float, shown: str) -> None:
    assert points(share) == shown


def test_a_difference_says_its_interval() -> None:
    assert str(Difference(0.125, -0.04, 0.31)) == "+12.5 points (95% −4 to +31)"


# Exact figures


@pytest.mark.parametrize(
    ("pairs", "rise", "p", "low", "high", "settled", "more", "detectable"),
    [
        (
            Pairs(both=3, fixed=5, broken=1, neither=15, clusters=24, shifts=(-1,) * 5 + (1,)),
            Fraction(-1, 6), 0.21875, -0.3636, 0.0433, False, 57, 0.38,
        ),
        (
            Pairs(fixed=6, neither=4, clusters=10, shifts=(-1,) * 6),
            Fraction(-3, 5), 0.03125, -0.8318, -0.2005, True, 0, 0.77,
        ),
        (
            Pairs(both=10, fixed=2, broken=10, neither=40, clusters=62, shifts=(1,) * 10 + (-1,) * 2, design=1.5),
            Fraction(4, 31), 0.0386, -0.0094, 0.2650, False, 95, 0.23,
        ),
    ],
)  # fmt: skip
def test_pairs_have_their_difference_with_test_and_interval(
    pairs: Pairs, rise: Fraction, p: float, low: float, high: float, settled: bool, more: int, detectable: float
) -> None:
    difference = pairs.difference
    assert difference is not None
    assert (pairs.rise, difference.value, difference.paired) == (rise, float(rise), True)
    assert (pairs.p, difference.low, difference.high) == pytest.approx((p, low, high), abs=6e-5)
    assert (pairs.settled, pairs.more, pairs.detectable) == (settled, more, detectable)


def test_no_pairs_rise_by_nothing_and_detect_nothing() -> None:
    assert (Pairs(neither=100_000).detectable, Pairs(neither=6).detectable) == (0.01, 1.0)
    assert (Pairs().n, Pairs().rise, Pairs().detectable) == (0, Fraction(0), None)


def test_beyond_a_hundred_times_as_many_pairs_no_number_would() -> None:
    assert Pairs(fixed=14, broken=12, neither=74).more == 5_100
    assert Pairs(fixed=14, broken=12, neither=74, design=1.9425).more == 10_000
    assert Pairs(fixed=14, broken=12, neither=74, design=1.9426).more is None
    assert Pairs(fixed=8, broken=1, neither=10).more == 12


def test_the_cells_of_all_clusters_are_counted() -> None:
    clusters_ = [[(True, False), (False, True)], [(True, True)], [], [(False, True), (False, True)], [(False, False)]]
    assert count_pairs(clusters_) == Pairs(1, 1, 3, 1, clusters=4, shifts=(2,))
    assert count_pairs([]) == Pairs()
    spread = count_pairs([[(True, False)] * 3, [(False, True)], [(False, False)] * 2, [(True, True)]])
    assert (spread.shifts, spread.clusters) == ((-3, 1), 4)
    assert spread.design == pytest.approx(2.5873, abs=6e-5)


@pytest.mark.parametrize(
    ("changed", "difference", "pairs"), [(0.3, 0.2, 66.4497), (0.1, 0.1, 96.0875), (0.05, 0.1, 56.7946)]
)
def test_the_number_of_pairs_is_that_of_connor_1987_with_a_term_for_the_exact_test(
    changed: float, difference: float, pairs: float
) -> None:
    assert pairs_needed(changed, difference) == pytest.approx(pairs, abs=6e-5)


@pytest.mark.parametrize(
    ("before", "after", "comparisons", "value", "low", "high"),
    [
        (Rate(10, 24), Rate(3, 24), 1, -0.2917, -0.5030, -0.0390),
        (Rate(10, 24, 2.0), Rate(3, 24, 1.5), 3, -0.2917, -0.6153, 0.0984),
        (Rate(0, 3), Rate(3, 3), 1, 1.0, 0.2059, 1.0),
        (Rate(3, 3), Rate(0, 3), 1, -1.0, -1.0, -0.2059),
    ],
)
def test_two_rates_have_newcombes_interval_of_their_independent_counts(
    before: Rate, after: Rate, comparisons: int, value: float, low: float, high: float
) -> None:
    found = unpaired_difference(before, after, comparisons)
    assert found is not None
    assert (found.value, found.low, found.high) == pytest.approx((value, low, high), abs=6e-5)
    assert not found.paired
    assert unpaired_difference(before, Rate()) is None


def test_five_hundred_clusters_are_still_counted_exactly() -> None:
    # For as many differing clusters the exact probability and the normal one are not the same number.
    exact, normal = sign_flip([1] * 270 + [-1] * 230), sign_flip([1] * 270 + [-1] * 231)
    assert exact == pytest.approx(0.0810323, abs=6e-7)
    assert normal == pytest.approx(math.erfc(39 / math.sqrt(2 * 501)))
    assert sign_flip([]) == 1.0
    assert sign_flip([2] * 300 + [-3] * 210) == pytest.approx(math.erfc(30 / math.sqrt(2 * (1200 + 1890))))


@pytest.mark.parametrize(("n", "enough", "most", "more"), [(10, 100, 80, None), (10, 100, 81, 90), (10, 160, 160, 150)])
def test_the_search_for_a_number_doubles_it_and_stops_at_the_most(
    n: int, enough: int, most: int, more: int | None
) -> None:
    assert more_needed(n, lambda count: count >= enough, most) == more
