from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.quality import Counts, DayRollup, Durations, Metric, Spread
from knowbound.stats.calibration import Estimate
from knowbound.stats.quality import (
    TARGETS,
    WINDOW_DAYS,
    MetricStatus,
    QualityMetric,
    Target,
    TargetState,
    TrendDirection,
    item_rate,
    item_rates,
    p95_ms,
    rolling,
    state_of,
    sum_of_days,
    window,
)
from knowbound.stats.rate import Rate, clustered

FLOOR, CEILING = Target(0.8), Target(0.05, is_ceiling=True)
_ORDER = [TargetState.MISSED, TargetState.UNDECIDED, TargetState.MET]


@st.composite
def turns(draw: st.DrawFn) -> Counts:
    """The verdicts on the items of one turn."""
    judged = draw(st.integers(1, 6))
    return Counts(judged, *(draw(st.integers(0, judged)) for _ in Metric))


def day(date: str, *counts: Counts) -> DayRollup:
    spread = sum(map(Spread.of_turn, counts), Spread())
    return DayRollup(date, turns=len(counts), injected=sum(counts, Counts()), spread=spread)


def status(metric: QualityMetric, now: Rate, before: Rate | None = None) -> MetricStatus:
    return MetricStatus(metric, now, before or Rate())


@given(st.lists(st.lists(turns(), max_size=8), max_size=7), st.sampled_from(Metric))
def test_a_window_of_days_says_what_all_its_turns_say(days: list[list[Counts]], metric: Metric) -> None:
    rolled = [day(f"2026-11-{at:02d}", *counts) for at, counts in enumerate(days, 1)]
    total = sum_of_days(rolled, "2026-11-01", "2026-11-07")
    every = clustered(Rate(one.of(metric), one.judged) for counts in days for one in counts)
    found = item_rate(total.injected, total.spread, metric)
    assert (found.k, found.n) == (every.k, every.n)
    assert found.design == pytest.approx(every.design)


@given(st.lists(turns(), min_size=1, max_size=20), st.sampled_from(Metric))
def test_the_interval_holds_the_value_and_turns_never_narrow_it(counts: list[Counts], metric: Metric) -> None:
    total = day("2026-11-16", *counts)
    rate = item_rate(total.injected, total.spread, metric)
    assert rate.value is not None
    assert rate.interval is not None
    low, high = rate.interval
    assert low - 1e-9 <= rate.value <= high + 1e-9
    narrow = Rate(rate.k, rate.n).interval
    assert narrow is not None
    assert high - low >= narrow[1] - narrow[0] - 1e-9


def test_items_of_one_turn_that_share_a_verdict_count_as_one() -> None:
    alike = [Counts(3, 3, 0, 0), Counts(3, 0, 0, 0)] * 10
    apart = [Counts(1, 1, 0, 0), Counts(1, 0, 0, 0)] * 30
    assert item_rates(day("2026-11-16", *alike))[QualityMetric.ON_TOPIC].design == pytest.approx(3.0, rel=0.1)
    assert item_rates(day("2026-11-16", *apart))[QualityMetric.ON_TOPIC].design == 1.0


@given(st.integers(1, 400), st.sampled_from([FLOOR, CEILING]), st.floats(1, 5))
def test_a_better_rate_never_has_a_worse_state(n: int, target: Target, design: float) -> None:
    states = [_ORDER.index(state_of(Rate(k, n, min(design, n)), target)) for k in range(n + 1)]
    assert states == sorted(states, reverse=target.is_ceiling)


@given(st.integers(0, 300), st.integers(1, 300), st.sampled_from(QualityMetric))
def test_a_target_is_met_only_where_the_whole_interval_is_on_its_side(k: int, n: int, metric: QualityMetric) -> None:
    rate, target = Rate(min(k, n), n), TARGETS[metric]
    assert rate.interval is not None
    low, high = rate.interval
    found = status(metric, rate)
    is_met = high <= target.share + 1e-12 if target.is_ceiling else low >= target.share
    is_missed = low > target.share + 1e-12 if target.is_ceiling else high < target.share
    assert found.state == ("met" if is_met else "missed" if is_missed else "undecided")
    assert (found.more == 0) == (found.state is not TargetState.UNDECIDED)


@pytest.mark.parametrize(
    ("metric", "share", "is_ceiling"),
    [
        (QualityMetric.ON_TOPIC, 0.80, False),
        (QualityMetric.USED, 0.50, False),
        (QualityMetric.CONTRADICTED, 0.05, True),
        (QualityMetric.DISCOVERY, 0.70, False),
    ],
)
def test_targets_are_those_of_the_specification(metric: QualityMetric, share: float, is_ceiling: bool) -> None:
    assert TARGETS[metric] == Target(share, is_ceiling)


def test_nothing_counted_is_unknown_and_not_zero() -> None:
    found = status(QualityMetric.USED, Rate())
    assert found.state is TargetState.UNKNOWN
    assert found.now.value is None
    assert found.more is None
    assert found.trend is TrendDirection.UNKNOWN
    assert found.corrected == Estimate()


def test_no_contradiction_in_few_items_does_not_meet_the_ceiling_and_says_how_many_more_would() -> None:
    found = status(QualityMetric.CONTRADICTED, Rate(0, 40))
    assert found.state is TargetState.UNDECIDED
    assert found.more is not None
    assert state_of(Rate(0, 40 + found.more), CEILING) is TargetState.MET
    assert state_of(Rate(0, 40 + found.more - 1), CEILING) is TargetState.UNDECIDED


@pytest.mark.parametrize(
    ("metric", "before", "now", "trend"),
    [
        (QualityMetric.ON_TOPIC, Rate(40, 100), Rate(80, 100), TrendDirection.BETTER),
        (QualityMetric.ON_TOPIC, Rate(80, 100), Rate(40, 100), TrendDirection.WORSE),
        (QualityMetric.ON_TOPIC, Rate(78, 100), Rate(80, 100), TrendDirection.SAME),
        (QualityMetric.CONTRADICTED, Rate(20, 100), Rate(2, 100), TrendDirection.BETTER),
        (QualityMetric.CONTRADICTED, Rate(2, 100), Rate(20, 100), TrendDirection.WORSE),
    ],
)
def test_a_change_is_one_only_where_the_interval_of_the_difference_says_so(
    metric: QualityMetric, before: Rate, now: Rate, trend: TrendDirection
) -> None:
    assert status(metric, now, before).trend is trend


def test_corrections_that_can_still_be_made_keep_discovery_from_being_missed() -> None:
    waiting = MetricStatus(QualityMetric.DISCOVERY, Rate(0, 20), Rate(), pending=20)
    assert waiting.state is TargetState.UNDECIDED
    assert MetricStatus(QualityMetric.DISCOVERY, Rate(0, 20), Rate(), pending=2).state is TargetState.MISSED
    assert MetricStatus(QualityMetric.DISCOVERY, Rate(20, 20), Rate(), pending=0).state is TargetState.MET


def test_a_window_has_seven_days() -> None:
    assert WINDOW_DAYS == 7
    assert window("2026-11-16") == ("2026-11-10", "2026-11-16")
    days = [day(f"2026-11-{number:02d}", Counts(1, 1, 0, 0)) for number in range(1, 17)]
    assert sum_of_days(days, *window("2026-11-16")).injected.judged == 7


def test_every_day_of_the_calendar_has_a_window_and_one_without_items_is_unknown() -> None:
    days = [day("2026-11-01", Counts(2, 1, 0, 0)), day("2026-11-12", Counts(2, 2, 0, 0))]
    found = rolling(days, "2026-11-13", lambda first, last: Rate(0, 1 if first <= "2026-11-12" <= last else 0))
    assert [one.date for one in found] == [f"2026-11-{number:02d}" for number in range(1, 14)]
    on_topic = [one.rates[QualityMetric.ON_TOPIC] for one in found]
    assert [(rate.k, rate.n) for rate in on_topic] == [(1, 2)] * 7 + [(0, 0)] * 4 + [(2, 2)] * 2
    assert [one.rates[QualityMetric.DISCOVERY].n for one in found] == [0] * 11 + [1] * 2


def test_without_days_there_is_no_series() -> None:
    assert rolling([], "2026-11-13", lambda first, last: Rate()) == ()


def test_names_add_over_days() -> None:
    first = {"sqlite": Counts(2, 1)}
    one = DayRollup("2026-11-15", by_backend=first, judges={"rules-1": 3}, prompt_ms=Durations.of(20))
    other = DayRollup("2026-11-16", by_backend={"sqlite": Counts(1, 1), "mongo": Counts(1)}, judges={"rules-2": 1})
    total = sum_of_days([one, other], "2026-11-10", "2026-11-16")
    assert total.by_backend == {"sqlite": Counts(3, 2), "mongo": Counts(1)}
    assert total.judges == {"rules-1": 3, "rules-2": 1}
    assert total.prompt_ms.runs == 1


def test_the_slow_end_of_a_hook_is_what_most_of_its_runs_kept() -> None:
    quick = sum((Durations.of(10) for _ in range(96)), Durations())
    assert p95_ms(quick + Durations.of(900)) == p95_ms(Durations.of(10))
    assert p95_ms(Durations()) is None
