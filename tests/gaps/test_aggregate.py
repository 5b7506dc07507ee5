"""From findings to figures (specification 1, section 5)."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.signal import SOURCES, Findings, Sample, Signal, SignalType, Status
from knowbound.gaps.aggregate import Aggregate
from knowbound.stats.figures import Band
from knowbound.stats.rate import Rate, Weighted

TYPES = st.lists(st.sampled_from(list(SignalType)), max_size=4)
ANY_WEIGHTS = st.fixed_dictionaries({type_: st.floats(0.01, 1.0) for type_ in SignalType})


def findings(samples: list[list[SignalType]], status: Status = Status.OPEN) -> Findings:
    signals = [Signal(type_, status, "s", 1, f"s#{at}") for at, types in enumerate(samples, 1) for type_ in types]
    named = [Sample(f"s#{at}", "general", answered=1) for at in range(1, len(samples) + 1)]
    return Findings("s", "claude-code", samples=named, signals=signals)


@given(st.lists(TYPES, min_size=1, max_size=12), ANY_WEIGHTS)
def test_a_sample_weighs_as_much_as_its_heaviest_signal_whatever_the_weights(
    samples: list[list[SignalType]], weights: dict[SignalType, float]
) -> None:
    with patch.dict(SOURCES, {type_: SOURCES[type_]._replace(weight=weight) for type_, weight in weights.items()}):
        aggregate = Aggregate()
        aggregate.add(findings(samples))
        figures = aggregate.figures()
    heaviest = [max((weights[type_] for type_ in types), default=0.0) for types in samples]
    assert figures.weighted.sum == pytest.approx(sum(heaviest))
    assert figures.weighted.value == pytest.approx(sum(heaviest) / len(samples))
    assert figures.rate.k == sum(map(bool, samples))


def test_the_open_weight_of_a_sample_is_that_of_its_heaviest_open_signal() -> None:
    found = findings([[SignalType.FAILED_SEARCH], [SignalType.FAILED_SEARCH, SignalType.HEDGING], [SignalType.HEDGING]])
    for signal in found.signals[:2]:  # the failed searches of the first two samples
        signal.status = Status.RESOLVED
    aggregate = Aggregate()
    aggregate.add(found)
    figures = aggregate.figures()
    assert (figures.rate, figures.weighted) == (Rate(3, 3), Weighted(2, 1, 3))
    assert (figures.open, figures.open_weighted) == (Rate(2, 3), Weighted(0, 2, 3))
    assert (figures.band, figures.open_band) == (Band.RED, Band.RED)


def test_signals_that_are_all_resolved_leave_the_open_band_green() -> None:
    aggregate = Aggregate()
    aggregate.add(findings([[SignalType.FAILED_SEARCH]], Status.RESOLVED))
    assert (aggregate.figures().band, aggregate.figures().open_band) == (Band.RED, Band.GREEN)
    assert Aggregate().figures().open_band is None


@pytest.mark.parametrize(("skill", "calls"), [(None, 9), ("audit", 3)])
def test_the_calls_of_one_skill_are_those_of_its_samples(skill: str | None, calls: int) -> None:
    samples = [Sample("s#1", "general", calls=4), Sample("s#2", "audit", calls=3)]
    aggregate = Aggregate(skill)
    aggregate.add(Findings("s", "codex", samples=samples, tool_calls=9))
    assert aggregate.tool_calls == calls
