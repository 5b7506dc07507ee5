from __future__ import annotations

from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.stats.figures import Band, GapFigures, SampleConfidence, confidence_of
from knowbound.stats.printing import duration, percent
from knowbound.stats.rate import (
    Mean,
    Rate,
    Weighted,
    _binomial,
    clustered,
    clustered_rate,
    design_effect,
    least_share,
    mean_of,
    middle_95,
    wilson,
)


@st.composite
def rates(draw: st.DrawFn) -> Rate:
    n = draw(st.integers(0, 5000))
    return Rate(draw(st.integers(0, n)), n)


@st.composite
def weighteds(draw: st.DrawFn) -> Weighted:
    n = draw(st.integers(0, 300))
    strong = draw(st.integers(0, n))
    return Weighted(strong, draw(st.integers(0, n - strong)), n)


@given(rates(), rates(), rates())
def test_rates_add_by_adding_counts(a: Rate, b: Rate, c: Rate) -> None:
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + Rate() == a


@given(rates())
def test_the_interval_holds_the_value_and_stays_within_0_and_1(rate: Rate) -> None:
    if rate.n == 0:
        assert rate.value is None
        assert rate.interval is None
        assert "unknown" in str(rate)
        return
    assert rate.value is not None
    assert rate.interval is not None
    low, high = rate.interval
    assert 0 <= low <= rate.value + 1e-9
    assert rate.value - 1e-9 <= high <= 1


@pytest.mark.parametrize(
    ("k", "n", "low", "high"),
    [(43, 50, 0.7381, 0.9305), (0, 10, 0.0, 0.2775), (10, 10, 0.7225, 1.0), (5, 12, 0.1933, 0.6805)],
)
def test_wilson_interval_has_the_published_values(k: int, n: int, low: float, high: float) -> None:
    assert Rate(k, n).interval == pytest.approx((low, high), abs=5e-4)


@pytest.mark.parametrize(
    ("k", "n", "low"), [(0, 10, 0.0), (1, 1, 0.025), (5, 10, 0.1871), (10, 10, 0.6915), (43, 50, 0.7326)]
)
def test_the_exact_lower_bound_has_the_published_values(k: int, n: int, low: float) -> None:
    assert least_share(k, n) == pytest.approx(low, abs=5e-4)
    assert least_share(k, n, looks=7) <= least_share(k, n) + 1e-12


@pytest.mark.parametrize(("k", "n"), [(1, 0), (-1, 5), (6, 5)])
def test_impossible_counts_are_refused(k: int, n: int) -> None:
    with pytest.raises(ValueError, match="k of n"):
        Rate(k, n)


@given(weighteds(), weighteds())
def test_weighted_rates_add_by_adding_counts(a: Weighted, b: Weighted) -> None:
    assert (a + b).sum == a.sum + b.sum
    assert (a + b).n == a.n + b.n


@given(weighteds())
def test_the_weighted_rate_is_never_above_the_gap_rate(weighted: Weighted) -> None:
    if weighted.n:
        assert weighted.value is not None
        assert weighted.value <= (weighted.strong + weighted.weak) / weighted.n
        assert weighted.interval is not None
        low, high = weighted.interval
        assert 0 <= low <= high <= 1
        assert weighted.interval == Weighted(weighted.strong, weighted.weak, weighted.n).interval


@given(st.lists(st.floats(0.001, 1.0) | st.sampled_from([0.0, 0.5, 1.0]), max_size=60))
def test_the_weighted_rate_is_the_mean_of_any_weights(weights: list[float]) -> None:
    weighted = Weighted.of(Counter(weights), len(weights))
    assert msgspec.json.decode(msgspec.json.encode(weighted), type=Weighted) == weighted
    if not weights:
        assert weighted.value is None
        return
    mean = sum(weights) / len(weights)
    assert weighted.value == pytest.approx(mean)
    assert weighted.interval is not None
    low, high = weighted.interval
    assert 0 <= low <= high <= max(1.0, *weights)
    assert (weighted + weighted).value == pytest.approx(mean)


@pytest.mark.parametrize(("strong", "weak", "k", "weight"), [(10, 0, 10, 1.0), (0, 10, 10, 0.5), (0, 0, 0, 1.0)])
def test_samples_that_all_weigh_the_same_have_the_interval_of_their_share(
    strong: int, weak: int, k: int, weight: float
) -> None:
    assert Weighted(strong, weak, 10).interval == pytest.approx([weight * end for end in wilson(k / 10, 10)])


@pytest.mark.parametrize("weight", [-0.5, 1.5])
def test_a_weight_outside_0_and_1_is_refused(weight: float) -> None:
    with pytest.raises(ValueError, match="a weight is"):
        Weighted.of({weight: 1}, 2)


@pytest.mark.parametrize(("strong", "weak", "n"), [(30, 20, 100), (3, 2, 900), (400, 100, 2000), (60, 5, 66)])
def test_the_bootstrap_interval_is_as_wide_as_theory_says(strong: int, weak: int, n: int) -> None:
    weighted = Weighted(strong, weak, n)
    assert weighted.interval is not None
    assert weighted.value is not None
    mean = weighted.value
    variance = (strong * (1 - mean) ** 2 + weak * (0.5 - mean) ** 2 + (n - strong - weak) * mean**2) / n
    half = 1.96 * (variance / n) ** 0.5
    low, high = weighted.interval
    assert (high - low) / 2 == pytest.approx(half, rel=0.2, abs=1.5 / n)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "unknown"), (0.0, "0%"), (0.0001, "<0.1%"), (0.9999, ">99.9%"), (1.0, "100%"), (5 / 12, "41.7%")],
)
def test_zero_and_hundred_are_shown_only_when_exact(value: float | None, shown: str) -> None:
    assert percent(value) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"), [(0.4, "0 s"), (119, "119 s"), (120, "2 min"), (1642, "27 min"), (12600, "3.5 h")]
)
def test_a_duration_has_its_unit(seconds: float, shown: str) -> None:
    assert duration(seconds) == shown


@pytest.mark.parametrize(
    ("strong", "n", "band"),
    [(0, 10, Band.GREEN), (1, 10, Band.YELLOW), (29, 100, Band.YELLOW), (3, 10, Band.RED), (0, 0, None)],
)
def test_bands_are_read_from_the_weighted_rate(strong: int, n: int, band: Band | None) -> None:
    figures = GapFigures(Rate(), Weighted(strong, 0, n), Rate(), Rate(), {}, {})
    assert figures.band is band


@pytest.mark.parametrize(
    ("samples", "tier"),
    [
        (0, SampleConfidence.UNDERPOWERED),
        (4, SampleConfidence.UNDERPOWERED),
        (5, SampleConfidence.LOW),
        (19, SampleConfidence.LOW),
        (20, SampleConfidence.HIGH),
    ],
)
def test_confidence_tiers(samples: int, tier: SampleConfidence) -> None:
    assert confidence_of(samples) is tier


@pytest.mark.parametrize(("weak", "hard"), [(1, True), (2, False)])
def test_soft_share_below_ten_percent_is_hard_evidence(weak: int, hard: bool) -> None:
    figures = GapFigures(Rate(3 + weak, 10), Weighted(3, weak, 10), Rate(0, 10), Rate(0, 10), {}, {})
    assert figures.soft_share == pytest.approx(weak * 0.05)
    assert figures.rests_on_hard_evidence is hard


@pytest.mark.parametrize(
    ("strong", "unseen", "band"),
    [
        (0, 0, Band.GREEN),
        (0, 1, Band.GREEN),
        (0, 2, None),
        (0, 20, None),
        (3, 2, Band.YELLOW),
        (3, 3, None),
        (8, 20, Band.RED),
    ],
)
def test_a_band_is_unknown_where_what_was_not_seen_could_change_it(strong: int, unseen: int, band: Band | None) -> None:
    rate, weighted = Rate(strong, 20), Weighted(strong, 0, 20)
    figures = GapFigures(rate, weighted, rate, rate, {}, {}, weighted, unseen=unseen)
    assert (figures.band, figures.open_band) == (band, band)


def test_counts_of_their_own_are_no_clusters() -> None:
    assert clustered([Rate(1, 1), Rate(0, 1), Rate(0, 1)]) == Rate(1, 3)
    assert clustered([]) == Rate()


def test_repeats_that_always_agree_tell_no_more_than_one_each() -> None:
    alike = clustered([Rate(5, 5), Rate(0, 5), Rate(5, 5), Rate(0, 5)])
    assert (alike.k, alike.n) == (10, 20)
    assert alike.interval == pytest.approx(Rate(2, 4).interval, abs=0.1)
    assert width_of(alike) > 1.5 * width_of(Rate(10, 20))


def test_repeats_that_differ_as_strangers_do_count_nearly_in_full() -> None:
    mixed = clustered([Rate(2, 4), Rate(2, 4), Rate(2, 4), Rate(1, 4)])
    assert mixed.design == 1.0


@pytest.mark.parametrize("k", [0, 3])
def test_where_all_counts_agree_a_cluster_is_one_count(k: int) -> None:
    same = clustered([Rate(k, 3)] * 10)
    assert same.interval == pytest.approx(Rate(10 if k else 0, 10).interval)


@given(st.lists(st.integers(0, 4).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), max_size=12))
def test_clustering_keeps_the_counts_and_never_narrows_the_interval(parts: list[tuple[int, int]]) -> None:
    together = clustered(Rate(k, n) for k, n in parts)
    plain = sum((Rate(k, n) for k, n in parts), Rate())
    assert (together.k, together.n) == (plain.k, plain.n)
    assert 1.0 <= together.design <= max(together.n, 1)
    if plain.interval and together.interval:
        assert width_of(together) >= width_of(plain) - 1e-12


def test_a_design_effect_widens_the_weighted_rate_too() -> None:
    alone, alike = Weighted(4, 4, 20).interval, Weighted(4, 4, 20, design=4.0).interval
    assert alone is not None
    assert alike is not None
    assert alike[0] < alone[0] < alone[1] < alike[1]


def test_a_mean_is_drawn_over_clusters() -> None:
    apart = mean_of([[1.0], [5.0]] * 10)
    alike = mean_of([[1.0] * 10, [5.0] * 10])
    assert apart.value == alike.value == 3.0
    assert apart.low is not None
    assert alike.low is not None
    assert alike.low < apart.low
    assert mean_of([]).value is None
    assert mean_of([[2.0]]).low is None  # one cluster shows no spread
    assert mean_of([[4.0]] * 9).low is None  # nor do scores that are all the same


def test_repeats_do_not_raise_the_confidence() -> None:
    rate = clustered([Rate(5, 5), Rate(0, 5), Rate(0, 5), Rate(5, 5)])
    figures = GapFigures(rate, Weighted(10, 0, 20), rate, rate, {}, {})
    assert figures.confidence is SampleConfidence.UNDERPOWERED


def width_of(rate: Rate) -> float:
    low, high = rate.interval or (0.0, 0.0)
    return high - low


# Exact figures: draws have a fixed seed, so that equal counts have equal intervals


@pytest.mark.parametrize(
    ("weighted", "interval"),
    [
        (Weighted(4, 4, 20), (0.125, 0.475)),
        (Weighted(4, 4, 20, design=4.0), (0.0, 0.65)),
        (Weighted(30, 20, 100), (0.32, 0.485)),
        (Weighted.of({0.25: 3, 1.0: 2, 0.5: 1}, 12), (1 / 12, 0.5)),
        (Weighted(1, 1, 2), (0.5, 1.0)),
        (Weighted(5, 5, 10), (0.6, 0.9)),
        (Weighted(60, 30, 90, design=9.0), (0.683333, 0.983333)),
        (Weighted(60, 30, 90, design=16.0), (0.633333, 1.0)),
        (Weighted(0, 10, 10, design=5.0), (0.5 * 0.342372, 0.5)),
        (Weighted(), None),
    ],
)
def test_a_weighted_rate_has_the_interval_of_resampled_samples(
    weighted: Weighted, interval: tuple[float, float] | None
) -> None:
    assert weighted.interval == (None if interval is None else pytest.approx(interval, abs=1e-5))


def test_weights_are_counted_apart_and_a_sample_without_one_weighs_nothing() -> None:
    weighted = Weighted.of({0.0: 3, 0.25: 2, 0.5: 4, 1.0: 5}, 20)
    assert (weighted.strong, weighted.weak, weighted.n, weighted.others) == (5, 4, 20, {0.25: 2})
    assert (weighted.counts, weighted.sum, weighted.value) == ({1.0: 5, 0.5: 4, 0.25: 2}, 7.5, 0.375)
    assert str(weighted).startswith("37.5% (weight 7.5 over 20, 95% ")
    assert set(weighted.to_json()) == {"sum", "n", "value", "low", "high"}
    assert Weighted().to_json() == {"sum": 0.0, "n": 0, "value": None, "low": None, "high": None}


@pytest.mark.parametrize(("strong", "weak", "n"), [(-1, 0, 5), (0, -1, 5), (3, 3, 5), (1, 0, 0)])
def test_impossible_weights_are_refused(strong: int, weak: int, n: int) -> None:
    with pytest.raises(ValueError, match="are not among"):
        Weighted(strong, weak, n)
    assert Weighted(3, 2, 5).n == 5


def test_the_design_effect_of_a_sum_is_the_mean_of_both_by_their_counts() -> None:
    assert Rate(1, 10, 3.0) + Rate(1, 30, 1.0) == Rate(2, 40, 1.5)
    assert Weighted(1, 0, 10, 3.0) + Weighted(0, 1, 30) == Weighted(1, 1, 40, 1.5)
    assert Rate() + Rate() == Rate()


@pytest.mark.parametrize("design", [0.99, 0.0, float("nan")])
def test_a_design_effect_below_1_is_refused(design: float) -> None:
    with pytest.raises(ValueError, match="design effect is 1 or more"):
        Rate(1, 2, design)


def test_a_rate_is_shown_and_written_with_its_interval() -> None:
    assert str(Rate(5, 12)) == "41.7% (5 of 12, 95% 19–68%)"
    assert str(Rate(1200, 4800)) == "25% (1,200 of 4,800, 95% 24–26%)"
    assert Rate(0, 0).to_json() == {"k": 0, "n": 0, "value": None, "low": None, "high": None}
    written = Rate(5, 10, 2.0).to_json()
    assert (written["k"], written["n"], written["value"]) == (5, 10, 0.5)
    assert (written["low"], written["high"]) == pytest.approx(wilson(0.5, 5.0))


@pytest.mark.parametrize(
    ("squares", "alone", "clusters", "n", "effect"),
    [
        (2.0, 1.0, 4, 8, 8 / 3),
        (2.0, 0.0, 4, 8, 2.0),  # all counts agree: a cluster is one count
        (2.0, 1.0, 1, 8, 8.0),
        (2.0, 1.0, 8, 8, 1.0),
        (0.1, 1.0, 4, 8, 1.0),
        (200.0, 1.0, 4, 8, 8.0),
        (1.0, 0.5, 2, 9, 4.0),
        (0.0, 0.0, 0, 0, 1.0),
    ],
)
def test_the_design_effect_is_the_variance_between_clusters_over_that_of_counts(
    squares: float, alone: float, clusters: int, n: int, effect: float
) -> None:
    assert design_effect(squares, alone, clusters, n) == pytest.approx(effect)


def test_a_clustered_rate_comes_from_sums_alone() -> None:
    parts = [Rate(2, 4), Rate(1, 2), Rate(0, 3), Rate(), Rate(3, 3)]
    assert clustered(parts) == clustered_rate(6, 12, 4, 4.5)
    assert clustered(parts).design == pytest.approx(2.0)


@pytest.mark.parametrize(
    ("k", "n", "looks", "low"),
    [(1, 10, 1, 0.002529), (3, 4, 1, 0.194120), (10, 10, 1, 0.691503), (5, 10, 7, 0.118935)],
)
def test_the_exact_lower_bound_is_right_to_six_digits(k: int, n: int, looks: int, low: float) -> None:
    assert least_share(k, n, looks) == pytest.approx(low, abs=1e-6)


def test_the_likely_numbers_of_draws_have_weights_in_their_proportion() -> None:
    assert _binomial(3, 0.5) == (0, [1.0, 4.0, 7.0, 8.0])
    assert (_binomial(3, 0.0), _binomial(3, 1.0)) == ((0, [1.0]), (3, [1.0]))
    least, sums = _binomial(2, 0.25)
    assert (least, [round(one, 4) for one in sums]) == (0, [1.0, 1.6667, 1.7778])
    for p, smallest, count in ((0.5, 365, 271), (0.01, 0, 45), (0.99, 956, 45), (0.25, 132, 237)):
        least, sums = _binomial(1000, p)
        assert (least, len(sums)) == (smallest, count)


def test_a_mean_has_the_middle_95_percent_of_drawn_means() -> None:
    found = mean_of([[1.0], [2.0], [], [4.0, 5.0], [3.0]])
    assert (found.n, found.value) == (5, 3.0)
    assert (found.low, found.high) == pytest.approx((1.5, 29 / 7))
    assert mean_of([[1.0, 2.0]]) == Mean(2, 1.5)
    assert mean_of([[2.0], [2.0, 2.0]]) == Mean(3, 2.0)
    assert mean_of([[1.0], [2.0]]) == Mean(2, 1.5, 1.0, 2.0)


def test_the_middle_95_percent_are_found_by_their_rank() -> None:
    assert middle_95(range(100, -1, -1)) == (2, 98)
    assert middle_95([3, 1, 2]) == (1, 3)
    assert middle_95([7]) == (7, 7)
