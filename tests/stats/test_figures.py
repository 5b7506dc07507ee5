"""The figures of a gap report: bands, confidence, sums, the watermark."""

from __future__ import annotations

import hashlib

import pytest

from knowbound.stats.figures import (
    WARNING,
    Band,
    GapFigures,
    Marking,
    RateKind,
    SampleConfidence,
    Watermark,
    band_of,
    observed_hash,
)
from knowbound.stats.rate import Rate, Weighted


def figures(rate: Rate, weighted: Weighted, **more: object) -> GapFigures:
    return GapFigures(rate, weighted, Rate(1, 9), Rate(2, 9), {}, {}, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("rate", "band"),
    [(0.0, "green"), (0.0999, "green"), (0.1, "yellow"), (0.2999, "yellow"), (0.3, "red"), (1.0, "red")],
)
def test_a_band_begins_at_its_limit(rate: float, band: str) -> None:
    assert band_of(rate) == band


def test_figures_add_count_by_count() -> None:
    one = GapFigures(
        Rate(1, 10), Weighted(1, 0, 10), Rate(2, 10), Rate(3, 20), {"hedging": 1}, {"open": 2},
        Weighted(2, 0, 10), Rate(4, 10), Weighted(3, 0, 10), unseen=1,
    )  # fmt: skip
    other = GapFigures(
        Rate(5, 10), Weighted(4, 1, 10), Rate(6, 10), Rate(7, 20), {"hedging": 2, "marker": 1}, {"open": 1},
        Weighted(5, 1, 10), Rate(8, 10), Weighted(6, 1, 10), unseen=2,
    )  # fmt: skip
    assert one + other == GapFigures(
        Rate(6, 20), Weighted(5, 1, 20), Rate(8, 20), Rate(10, 40), {"hedging": 3, "marker": 1}, {"open": 3},
        Weighted(7, 1, 20), Rate(12, 20), Weighted(9, 1, 20), unseen=3,
    )  # fmt: skip


def test_the_open_rate_has_undecided_misses_where_they_are_counted() -> None:
    old, new = figures(Rate(5, 9), Weighted(5, 0, 9)), figures(Rate(5, 9), Weighted(5, 0, 9), open_most=Rate(3, 9))
    assert figures(Rate(1, 1), Weighted(1, 0, 1), open_most=Rate(0, 1)).has_undecided
    assert (old.of(RateKind.RAW), old.of(RateKind.OPEN), old.has_undecided) == (Rate(5, 9), Rate(1, 9), False)
    assert (new.of(RateKind.RAW), new.of(RateKind.OPEN), new.has_undecided) == (Rate(5, 9), Rate(3, 9), True)


def test_the_open_band_is_that_of_the_upper_end_where_it_is_known() -> None:
    weighted = Weighted(9, 0, 10)
    old = figures(Rate(9, 10), weighted, open_weighted=Weighted(0, 1, 10))
    new = figures(Rate(9, 10), weighted, open_weighted=Weighted(0, 1, 10), open_weighted_most=Weighted(1, 0, 10))
    assert (old.band, old.open_band, new.open_band) == (Band.RED, Band.GREEN, Band.YELLOW)
    assert figures(Rate(), Weighted()).open_band is None


@pytest.mark.parametrize(
    ("rate", "confidence"),
    [
        (Rate(1, 40, 2.0), SampleConfidence.HIGH),
        (Rate(1, 39, 2.0), SampleConfidence.LOW),
        (Rate(1, 9, 2.0), SampleConfidence.UNDERPOWERED),
    ],
)
def test_the_confidence_counts_independent_samples(rate: Rate, confidence: SampleConfidence) -> None:
    assert figures(rate, Weighted(0, 0, rate.n)).confidence is confidence


@pytest.mark.parametrize(
    ("rate", "weighted", "share", "is_hard"),
    [
        (Rate(3, 10), Weighted(2, 1, 10), 0.05, True),
        (Rate(3, 10), Weighted(1, 2, 10), 0.1, False),  # exactly a tenth is a considerable part
        (Rate(), Weighted(2, 1, 10), None, None),
        (Rate(3, 10), Weighted(), None, None),
    ],
)
def test_the_soft_share_is_the_rate_without_the_weighted_rate(
    rate: Rate, weighted: Weighted, share: float | None, is_hard: bool | None
) -> None:
    found = figures(rate, weighted)
    assert found.soft_share == (None if share is None else pytest.approx(share))
    assert found.rests_on_hard_evidence is is_hard


def test_marked_guesses_add_by_session() -> None:
    both = Marking(Rate(1, 2), Rate(3, 4)) + Marking(Rate(1, 1), Rate(0, 1))
    assert both == Marking(Rate(2, 3), Rate(3, 5))


def test_a_watermark_carries_its_warning_word_for_word() -> None:
    assert str(Watermark("samples.yaml", 24, "5f0c2a9e")) == (
        f"Test set: samples.yaml · 24 samples · sha256 5f0c2a9e\n{WARNING}"
    )
    with pytest.raises(ValueError, match="word for word"):
        Watermark("samples.yaml", 24, "5f0c2a9e", "Less.")


def test_the_hash_of_a_corpus_does_not_depend_on_the_order_of_its_sessions() -> None:
    assert observed_hash(["b", "a"]) == observed_hash(["a", "b"]) == hashlib.sha256(b"a\nb\n").hexdigest()[:8]
    assert observed_hash(["ab"]) != observed_hash(["a", "b"])
    assert len(observed_hash(["\ud800"])) == 8
