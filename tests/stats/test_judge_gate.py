from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.quality import Metric
from knowbound.stats.calibration import Calibration, Pair, Share, calibrate, corrected
from knowbound.stats.judge_gate import (
    AGREEMENT,
    KILL_AGREEMENT,
    LABELLED_TURNS,
    RANKING,
    GateReason,
    GateState,
    MetricGate,
    SampledMetric,
    WeeklySample,
    gate,
    has_drifted,
    may_rely_on,
    waits_for,
    with_fallback,
)
from knowbound.stats.rate import Rate, wilson

WORST_FIRST = (GateState.KILLED, GateState.FALLBACK, GateState.UNDERPOWERED, GateState.PASSED)


def labelled(true_yes: int, false_yes: int, false_no: int, true_no: int) -> Calibration:
    """One item per turn, so that turns and labels are as many."""
    cells = [(True, True)] * true_yes + [(False, True)] * false_yes
    cells += [(True, False)] * false_no + [(False, False)] * true_no
    return calibrate(Pair(label, verdict, session=f"turn {at}") for at, (label, verdict) in enumerate(cells))


def state(true_yes: int, false_yes: int, false_no: int, true_no: int) -> MetricGate:
    found = labelled(true_yes, false_yes, false_no, true_no)
    return gate(found, found.n)


def alone(state: GateState, more: int | None = None) -> MetricGate:
    return MetricGate(state, GateReason.BELOW, more)


def test_the_numbers_of_the_contract_are_defined_once() -> None:
    assert (LABELLED_TURNS, AGREEMENT, KILL_AGREEMENT) == (50, 0.85, 0.70)


def test_a_good_judge_passes_with_enough_labels() -> None:
    assert state(45, 3, 2, 50) == MetricGate(GateState.PASSED, GateReason.AGREES)


def test_a_good_judge_with_few_labels_is_underpowered_and_the_missing_turns_are_named() -> None:
    assert state(15, 0, 0, 15) == MetricGate(GateState.UNDERPOWERED, GateReason.FEW_TURNS, 20)


@pytest.mark.parametrize(
    ("cells", "expected", "reason"),
    [
        ((20, 3, 4, 23), GateState.PASSED, GateReason.AGREES),  # 43 of 50: 86%
        ((20, 4, 4, 22), GateState.FALLBACK, GateReason.BELOW),  # 42 of 50: 84%
        ((17, 7, 8, 18), GateState.FALLBACK, GateReason.BELOW),  # exactly 70%
        ((17, 8, 8, 17), GateState.KILLED, GateReason.FAR_BELOW),  # 34 of 50: 68%
        ((40, 2, 2, 56), GateState.PASSED, GateReason.AGREES),
        ((850, 75, 75, 1000), GateState.PASSED, GateReason.AGREES),
    ],
)
def test_agreement_itself_decides_at_50_labels(
    cells: tuple[int, int, int, int], expected: GateState, reason: GateReason
) -> None:
    assert state(*cells) == MetricGate(expected, reason)


def test_a_judge_that_always_says_not_contradicted_agrees_in_95_percent_and_does_not_pass() -> None:
    found = labelled(0, 0, 20, 380)
    assert found.agreement.value == 0.95
    assert (found.agreement.low or 0) > AGREEMENT
    assert gate(found, 400) == MetricGate(GateState.FALLBACK, GateReason.ONE_ANSWER)
    assert corrected(Rate(0, 100), found).value is None  # what it says tells nothing about the rate


@pytest.mark.parametrize(("rare", "expected"), [(0, False), (3, False), (4, True)])
def test_with_fewer_than_four_contradicted_labels_it_is_underpowered(rare: int, expected: bool) -> None:
    assert (state(rare, 0, 0, 100).state is GateState.PASSED) is expected
    planted = state(0, 0, rare, 100)  # it always says "not contradicted"
    assert planted.state is (GateState.FALLBACK if expected else GateState.UNDERPOWERED)
    assert planted.more is None


def test_a_judge_that_hits_the_rare_answer_by_chance_does_not_pass() -> None:
    given = state(1, 19, 19, 361)  # as many hits as two coins that fall on 5% would share
    assert given == MetricGate(GateState.FALLBACK, GateReason.NOT_BEYOND_CHANCE)


def test_a_judge_without_verdicts_is_unmeasured() -> None:
    found = calibrate([Pair(True, None), Pair(False, None)])
    assert gate(found, 0).state is GateState.UNMEASURED


def test_items_of_one_turn_do_not_count_as_independent_labels() -> None:
    cells = [(at % 2 == 0, (at % 2 == 0) != (at < 5)) for at in range(50)]  # five turns are wrong throughout
    apart = calibrate(Pair(label, said, session=str(at)) for at, (label, said) in enumerate(cells * 4))
    alike = calibrate(Pair(label, said, session=str(at)) for at, (label, said) in enumerate(cells) for _ in range(4))
    assert apart.agreement.value == alike.agreement.value
    assert (alike.agreement.low or 0) < (apart.agreement.low or 0)


@given(
    n=st.integers(LABELLED_TURNS, 2000),
    data=st.data(),
    kappa_low=st.floats(-0.5, 0.9),
)
def test_more_agreement_never_makes_the_state_worse(n: int, data: st.DataObject, kappa_low: float) -> None:
    k = data.draw(st.integers(0, n - 1))
    template = labelled(30, 5, 5, 30)

    def of(k: int) -> GateState:
        agreement = Share(k, n, k / n, *wilson(k / n, n), n)
        kappa = msgspec.structs.replace(template.kappa, value=max(kappa_low, 0.1), low=kappa_low, high=0.95)
        return gate(msgspec.structs.replace(template, agreement=agreement, kappa=kappa), n).state

    assert WORST_FIRST.index(of(k)) <= WORST_FIRST.index(of(k + 1))


@given(st.tuples(*[st.integers(0, 60)] * 4))
def test_nothing_passes_without_agreement_above_the_limit_and_beyond_chance(cells: tuple[int, int, int, int]) -> None:
    found = labelled(*cells)
    given_ = gate(found, found.n)
    if given_.state is GateState.PASSED:
        assert found.n >= LABELLED_TURNS
        assert (found.agreement.value or 0) >= AGREEMENT
        assert (found.kappa.value or 0) > 0
        assert 0 < found.said.k < found.said.n


# The larger model


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        (GateState.PASSED, None, GateState.PASSED),
        (GateState.FALLBACK, GateState.PASSED, GateState.FALLBACK),
        (GateState.FALLBACK, GateState.FALLBACK, GateState.HALTED),
        (GateState.FALLBACK, GateState.KILLED, GateState.KILLED),
        (GateState.FALLBACK, GateState.UNDERPOWERED, GateState.UNDERPOWERED),
        (GateState.FALLBACK, GateState.UNMEASURED, GateState.UNMEASURED),
        (GateState.FALLBACK, None, GateState.HALTED),
        (GateState.KILLED, GateState.PASSED, GateState.KILLED),  # below 70%: the contract ends there
        (GateState.UNDERPOWERED, GateState.PASSED, GateState.UNDERPOWERED),
    ],
)
def test_below_the_limit_the_larger_model_decides(
    first: GateState, second: GateState | None, expected: GateState
) -> None:
    given = with_fallback(alone(first), alone(second, 7) if second else None)
    assert given.state is expected
    assert given.reason is GateReason.BELOW  # of the judge itself
    if expected is GateState.UNDERPOWERED and second is GateState.UNDERPOWERED:
        assert given.more == 7


# What rests on a metric


def test_ranking_waits_for_what_was_used_and_contradicted_but_not_for_on_topic() -> None:
    gates = {
        Metric.ON_TOPIC: alone(GateState.HALTED),
        Metric.USED: alone(GateState.PASSED),
        Metric.CONTRADICTED: alone(GateState.FALLBACK),
    }
    assert may_rely_on(gates, RANKING)
    assert waits_for(gates, Metric) == (Metric.ON_TOPIC,)
    assert waits_for({}, RANKING) == RANKING


@pytest.mark.parametrize("state", [GateState.HALTED, GateState.KILLED, GateState.UNDERPOWERED, GateState.UNMEASURED])
def test_nothing_rests_on_a_metric_that_has_not_passed(state: GateState) -> None:
    assert not may_rely_on({Metric.USED: alone(state)}, (Metric.USED,))


# Drift


def share(k: int, n: int) -> Share:
    return Share(k, n, k / n, *wilson(k / n, n), n)


@pytest.mark.parametrize(
    ("sample", "calibrated", "drifted"),
    [
        ((10, 10), (95, 100), False),
        ((9, 10), (95, 100), False),  # anything from 60% to 98%
        ((5, 10), (95, 100), True),
        ((34, 40), (990, 1000), True),  # above the limit perhaps, but below the calibration for certain
        ((34, 40), (95, 100), False),
        ((39, 40), (100, 100), False),  # one wrong verdict is no drift
        ((40, 40), (100, 100), False),
        ((25, 40), (70, 100), True),  # below the limit for certain, though not below the calibration
    ],
)
def test_a_sample_has_drifted_where_its_whole_interval_is_below(
    sample: tuple[int, int], calibrated: tuple[int, int], drifted: bool
) -> None:
    assert has_drifted(share(*sample), share(*calibrated)) is drifted


def test_a_sample_without_verdicts_shows_no_drift() -> None:
    assert not has_drifted(Share(), share(95, 100))


def measured(
    agreement: float, prevalence: int, said: int, true_yes: int, true_no: int, kappa: float | None
) -> Calibration:
    """A calibration of 100 labels with these figures, whether or not they agree with each other."""
    found = labelled(30, 5, 5, 60)
    return msgspec.structs.replace(
        found,
        agreement=msgspec.structs.replace(found.agreement, value=agreement),
        prevalence=msgspec.structs.replace(found.prevalence, k=prevalence),
        said=msgspec.structs.replace(found.said, k=said),
        true_yes=true_yes,
        true_no=true_no,
        kappa=msgspec.structs.replace(found.kappa, value=kappa),
    )


@pytest.mark.parametrize(
    ("found", "expected", "reason"),
    [
        (measured(0.7, 50, 50, 40, 40, 0.5), GateState.FALLBACK, GateReason.BELOW),
        (measured(0.69, 50, 50, 40, 40, 0.5), GateState.KILLED, GateReason.FAR_BELOW),
        (measured(0.85, 50, 50, 40, 40, 0.5), GateState.PASSED, GateReason.AGREES),
        (measured(0.84, 50, 50, 40, 40, 0.5), GateState.FALLBACK, GateReason.BELOW),
        (measured(0.9, 4, 50, 4, 40, 0.5), GateState.PASSED, GateReason.AGREES),
        (measured(0.9, 3, 50, 3, 40, 0.5), GateState.UNDERPOWERED, GateReason.ONE_SIDED),
        (measured(0.9, 96, 50, 40, 4, 0.5), GateState.PASSED, GateReason.AGREES),
        (measured(0.9, 97, 50, 40, 3, 0.5), GateState.UNDERPOWERED, GateReason.ONE_SIDED),
        (measured(0.9, 50, 0, 40, 40, 0.5), GateState.FALLBACK, GateReason.ONE_ANSWER),
        (measured(0.9, 50, 100, 40, 40, 0.5), GateState.FALLBACK, GateReason.ONE_ANSWER),
        (measured(0.9, 50, 1, 1, 40, 0.01), GateState.PASSED, GateReason.AGREES),
        (measured(0.9, 50, 50, 0, 40, 0.5), GateState.FALLBACK, GateReason.NOT_BEYOND_CHANCE),
        (measured(0.9, 50, 50, 40, 0, 0.5), GateState.FALLBACK, GateReason.NOT_BEYOND_CHANCE),
        (measured(0.9, 50, 50, 40, 40, 0.0), GateState.FALLBACK, GateReason.NOT_BEYOND_CHANCE),
        (measured(0.9, 50, 50, 40, 40, None), GateState.FALLBACK, GateReason.NOT_BEYOND_CHANCE),
    ],
)
def test_the_gate_of_a_judge_at_each_limit(found: Calibration, expected: GateState, reason: GateReason) -> None:
    assert gate(found, 50) == MetricGate(expected, reason)


@pytest.mark.parametrize(
    ("turns", "expected"),
    [
        (0, MetricGate(GateState.UNMEASURED, GateReason.NO_VERDICT, 50)),
        (1, MetricGate(GateState.UNDERPOWERED, GateReason.FEW_TURNS, 49)),
        (49, MetricGate(GateState.UNDERPOWERED, GateReason.FEW_TURNS, 1)),
        (50, MetricGate(GateState.PASSED, GateReason.AGREES)),
    ],
)
def test_fifty_labelled_turns_are_enough(turns: int, expected: MetricGate) -> None:
    assert gate(measured(0.9, 50, 50, 40, 40, 0.5), turns) == expected
    unscored = calibrate([Pair(True, None)])
    assert gate(unscored, turns).state is GateState.UNMEASURED


def test_the_larger_model_is_named_beside_the_judge_itself() -> None:
    first, second = alone(GateState.FALLBACK), MetricGate(GateState.PASSED, GateReason.AGREES, 4)
    found = with_fallback(first, second)
    assert found == MetricGate(GateState.FALLBACK, GateReason.BELOW, 4, GateState.PASSED)
    assert with_fallback(first, None) == MetricGate(GateState.HALTED, GateReason.BELOW)
    assert [alone(one).is_reliable for one in GateState] == [True, True, False, False, False, False]


@pytest.mark.parametrize(
    ("sample", "calibrated", "drifted"),
    [
        (Share(1, 1, 1.0, 0.9, 0.85), Share(), False),  # at the limit
        (Share(1, 1, 1.0, 0.9, 0.84), Share(), True),
        (Share(1, 1, 1.0, 0.9, 0.95), Share(1, 1, 1.0, 0.95, 1.0), False),
        (Share(1, 1, 1.0, 0.9, 0.94), Share(1, 1, 1.0, 0.95, 1.0), True),
    ],
)
def test_intervals_that_touch_are_no_drift(sample: Share, calibrated: Share, drifted: bool) -> None:
    assert has_drifted(sample, calibrated) is drifted


def test_the_metrics_that_drifted_are_named() -> None:
    drifted, steady = (SampledMetric(Share(), Share(), one) for one in (True, False))
    weekly = WeeklySample(10, "", metrics={Metric.USED: drifted, Metric.ON_TOPIC: steady, Metric.CONTRADICTED: drifted})
    assert weekly.drifted == (Metric.USED, Metric.CONTRADICTED)
