"""The legs of the rollout, and every criterion of specification 2, section 6."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.quality import Durations, Metric
from knowbound.quality.rollout.legs import (
    LEG_DAYS,
    MOST_UNSCORED,
    ON_TOPIC_RISE,
    ORDER,
    USAGE_RISE,
    decided,
    entering,
    legs_for,
    plan_of,
    present_leg,
    ranked_backends,
)
from knowbound.stats.calibration import Pair, calibrate
from knowbound.stats.judge_gate import GateState, MeasuredMetric, gate
from knowbound.stats.quality import FEWEST_RUNS, RANKING_LIMIT_MS, STOP_LIMIT_MS, QualityMetric
from knowbound.stats.rate import Rate
from knowbound.stats.rollout import CriterionName, CriterionState, LegFacts, RolloutCriterion

MET, NOT_YET = CriterionState.MET, CriterionState.NOT_YET
TRIPPED, UNKNOWN = CriterionState.TRIPPED, CriterionState.UNKNOWN


def state(name: CriterionName, facts: LegFacts) -> CriterionState:
    [one] = decided([name], facts)
    return one.state


NONE = Rate()


def rates(
    on_topic: Rate = NONE, used: Rate = NONE, contradicted: Rate = NONE, found: Rate = NONE
) -> dict[QualityMetric, Rate]:
    return dict(zip(QualityMetric, (on_topic, used, contradicted, found), strict=True))


def took(ms: float, runs: int = 100) -> Durations:
    total = Durations()
    for _ in range(runs):
        total += Durations.of(ms)
    return total


def judged(right: int, wrong: int) -> MeasuredMetric:
    """A judge that is right about so many of labelled turns, half of them yes."""
    cells = [(n % 2 == 0, n % 2 == 0) for n in range(right)] + [(n % 2 == 0, n % 2 == 1) for n in range(wrong)]
    found = calibrate(Pair(label, said, session=f"{n}") for n, (label, said) in enumerate(cells))
    return MeasuredMetric(found, gate(found, found.n))


def test_the_numbers_of_the_contract() -> None:
    assert (LEG_DAYS, MOST_UNSCORED, ON_TOPIC_RISE, USAGE_RISE) == (7, 0.05, 0.10, 0.05)
    assert (STOP_LIMIT_MS, RANKING_LIMIT_MS) == (500, 150)
    assert ORDER == ("mem0", "neo4j", "mongo", "files", "sqlite")


@pytest.mark.parametrize(
    ("backends", "plan"),
    [
        (["sqlite"], ("sqlite",)),
        (["mongo"], ("mongo",)),
        (["mongo", "neo4j", "mem0"], ("mem0", "neo4j", "mongo")),
        (["sqlite", "mongo"], ("mongo", "sqlite")),
        (["sqlite", "mongo", "mem0", "neo4j"], ("mem0", "neo4j", "mongo", "sqlite")),
        (["acme", "sqlite", "acme"], ("sqlite", "acme")),  # of another package
        ([], ("sqlite",)),
    ],
)
def test_one_leg_per_backend_and_the_targets_last(backends: list[str], plan: tuple[str, ...]) -> None:
    legs = legs_for(backends)
    assert plan_of(legs) == plan
    assert [leg.number for leg in legs] == list(range(len(plan) + 1))
    wants = [CriterionName.DISCOVERY_TARGET in leg.leave for leg in legs]
    assert wants == [False] * len(plan) + [True]
    assert legs[0].backends == ()


@given(st.sets(st.sampled_from(ORDER)), st.integers(0, 5))
def test_a_leg_keeps_what_the_legs_before_it_switched_on(backends: set[str], number: int) -> None:
    legs = legs_for(backends)
    number = min(number, len(legs) - 1)
    ranked = ranked_backends(legs, number)
    assert set(ranked_backends(legs, max(0, number - 1))) <= set(ranked)
    assert set(ranked) <= (backends or {"sqlite"})
    assert ranked_backends(legs, 0) == ()
    assert set(ranked_backends(legs, len(legs) - 1)) == (backends or {"sqlite"})


@given(st.sets(st.sampled_from(ORDER)), st.sets(st.sampled_from(ORDER)), st.integers(0, 5))
def test_other_backends_never_switch_on_what_no_leg_allowed(was: set[str], now: set[str], number: int) -> None:
    before, after = legs_for(was), legs_for(now)
    number = min(number, len(before) - 1)
    leg = present_leg(number, plan_of(before), after)
    assert set(ranked_backends(after, leg)) <= set(ranked_backends(before, number))
    if was == now:
        assert leg == number


def test_a_state_that_was_never_written_is_leg_0() -> None:
    assert present_leg(0, (), legs_for(["sqlite"])) == 0
    assert present_leg(3, (), legs_for(["sqlite"])) == 0


@pytest.mark.parametrize(
    ("backends", "plan", "leg", "expected"),
    [
        (["mem0", "neo4j", "mongo"], ("mem0", "neo4j", "mongo+loop"), 3, 3),
        (["mem0", "neo4j", "mongo"], ("mem0", "neo4j", "mongo+loop"), 2, 2),
        (["sqlite"], ("sqlite", "loop"), 2, 1),  # corrections are no leg any more
        (["sqlite"], ("sqlite", "loop"), 1, 1),
    ],
)
def test_a_state_of_the_version_before_keeps_its_leg(
    backends: list[str], plan: tuple[str, ...], leg: int, expected: int
) -> None:
    assert present_leg(leg, plan, legs_for(backends)) == expected


# Leg 0


@pytest.mark.parametrize(("days", "expected"), [(0, NOT_YET), (6, NOT_YET), (7, MET), (30, MET)])
def test_a_leg_lasts_seven_days_with_turns(days: int, expected: CriterionState) -> None:
    assert state(CriterionName.DAYS, LegFacts(days=days)) is expected


@pytest.mark.parametrize(
    ("unscored", "expected"), [(Rate(), UNKNOWN), (Rate(4, 100), MET), (Rate(5, 100), NOT_YET), (Rate(0, 3), MET)]
)
def test_data_are_clean_where_under_5_percent_of_the_turns_have_no_verdict(
    unscored: Rate, expected: CriterionState
) -> None:
    assert state(CriterionName.CLEAN, LegFacts(unscored=unscored)) is expected


def test_the_judge_has_to_pass_for_what_the_ranking_rests_on() -> None:
    good, bad = judged(290, 10), judged(60, 40)
    assert (good.gate.state, bad.gate.state) == (GateState.PASSED, GateState.KILLED)
    assert state(CriterionName.JUDGE, LegFacts()) is UNKNOWN
    passed = {Metric.ON_TOPIC: bad, Metric.USED: good, Metric.CONTRADICTED: good}
    assert state(CriterionName.JUDGE, LegFacts(measured=passed)) is MET
    failed = passed | {Metric.CONTRADICTED: bad}
    [one] = decided([CriterionName.JUDGE], LegFacts(measured=failed))
    assert (one.state, one.metrics) == (NOT_YET, ("contradicted",))


def test_an_underpowered_judge_says_how_many_labels_are_missing() -> None:
    few = judged(19, 1)
    [one] = decided([CriterionName.JUDGE], LegFacts(measured={Metric.USED: few, Metric.CONTRADICTED: few}))
    assert (one.state, one.more) == (NOT_YET, 30)


def test_leg_0_is_killed_by_a_judge_that_agrees_in_under_70_percent_for_certain() -> None:
    assert state(CriterionName.AGREEMENT, LegFacts()) is UNKNOWN
    assert state(CriterionName.AGREEMENT, LegFacts(measured={Metric.USED: judged(60, 40)})) is TRIPPED
    assert state(CriterionName.AGREEMENT, LegFacts(measured={Metric.USED: judged(75, 25)})) is MET


@pytest.mark.parametrize(
    ("ms", "runs", "expected"),
    [(490, 100, MET), (600, 100, TRIPPED), (600, FEWEST_RUNS - 1, UNKNOWN), (600, FEWEST_RUNS, TRIPPED)],
)
def test_the_stop_hook_may_take_500_ms(ms: float, runs: int, expected: CriterionState) -> None:
    assert state(CriterionName.STOP_HOOK, LegFacts(stop_ms=took(ms, runs))) is expected


@pytest.mark.parametrize(
    ("slow", "days", "expected"), [(0, 0, UNKNOWN), (0, 7, MET), (1, 7, MET), (3, 7, MET), (4, 7, TRIPPED)]
)
def test_ranking_is_too_slow_where_most_days_of_the_week_were(slow: int, days: int, expected: CriterionState) -> None:
    assert state(CriterionName.RANKING_COST, LegFacts(slow_days=Rate(slow, days))) is expected


# Legs that rank


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (Rate(), Rate(50, 100), UNKNOWN),
        (Rate(220, 1000), Rate(330, 1000), MET),
        (Rate(220, 1000), Rate(310, 1000), NOT_YET),  # nine points
        (Rate(2, 10), Rate(4, 10), MET),  # the value decides; the interval is shown beside it
        (Rate(900, 1000), Rate(900, 1000), MET),  # the target is met
        (Rate(79, 100), Rate(79, 100), NOT_YET),
    ],
)
def test_on_topic_has_to_rise_by_ten_points_or_to_meet_its_target(
    before: Rate, now: Rate, expected: CriterionState
) -> None:
    assert state(CriterionName.ON_TOPIC_RISE, LegFacts(leg_now=rates(now), leg_before=rates(before))) is expected


@pytest.mark.parametrize(
    ("before", "now", "expected"),
    [
        (300, Rate(350, 1000), MET),
        (300, Rate(340, 1000), NOT_YET),
        (700, Rate(700, 1000), MET),  # the target is met
        (490, Rate(490, 1000), NOT_YET),
    ],
)
def test_used_has_to_rise_by_five_points_or_to_meet_its_target(
    before: int, now: Rate, expected: CriterionState
) -> None:
    facts = LegFacts(leg_now=rates(used=now), leg_before=rates(used=Rate(before, 1000)))
    assert state(CriterionName.USAGE_RISE, facts) is expected


@pytest.mark.parametrize(
    ("now", "expected"), [(Rate(50, 1000), MET), (Rate(60, 1000), MET), (Rate(100, 1000), NOT_YET), (Rate(), UNKNOWN)]
)
def test_contradicted_must_not_rise_for_certain(now: Rate, expected: CriterionState) -> None:
    facts = LegFacts(leg_now=rates(contradicted=now), leg_before=rates(contradicted=Rate(50, 1000)))
    assert state(CriterionName.CONTRADICTION, facts) is expected


@pytest.mark.parametrize(
    ("now", "expected"),
    [(Rate(500, 1000), MET), (Rate(470, 1000), MET), (Rate(400, 1000), TRIPPED), (Rate(2, 10), MET), (Rate(), UNKNOWN)],
)
def test_a_drop_of_on_topic_kills_where_the_whole_interval_is_below_0(now: Rate, expected: CriterionState) -> None:
    facts = LegFacts(leg_now=rates(now), leg_before=rates(Rate(500, 1000)))
    assert state(CriterionName.ON_TOPIC_DROP, facts) is expected


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        (Rate(), UNKNOWN),
        (Rate(1, 1), MET),  # few demotions show nothing for certain
        (Rate(2, 2), MET),
        (Rate(1, 3), MET),
        (Rate(3, 3), TRIPPED),
        (Rate(5, 10), TRIPPED),
        (Rate(10, 100), MET),
    ],
)
def test_reversed_demotions_kill_where_they_are_over_10_percent_for_certain(
    rate: Rate, expected: CriterionState
) -> None:
    assert state(CriterionName.FALSE_DEMOTIONS, LegFacts(demotions=rate)) is expected


@given(st.integers(0, 200), st.integers(0, 200))
def test_nothing_that_can_be_left_is_killed_for_the_same_metric(before: int, now: int) -> None:
    facts = LegFacts(leg_now=rates(Rate(now, 200)), leg_before=rates(Rate(before, 200)))
    rose, dropped = (state(name, facts) for name in (CriterionName.ON_TOPIC_RISE, CriterionName.ON_TOPIC_DROP))
    if rose is MET and now < 160:
        assert dropped is MET


# The last leg


@pytest.mark.parametrize(
    ("now", "expected"), [(Rate(90, 100), MET), (Rate(80, 100), MET), (Rate(79, 100), NOT_YET), (Rate(), UNKNOWN)]
)
def test_the_last_leg_wants_80_percent_on_topic(now: Rate, expected: CriterionState) -> None:
    assert state(CriterionName.ON_TOPIC_TARGET, LegFacts(now=rates(now))) is expected


@pytest.mark.parametrize(("found", "expected"), [(Rate(7, 10), MET), (Rate(6, 10), NOT_YET), (Rate(), UNKNOWN)])
def test_the_last_leg_wants_70_percent_of_corrections(found: Rate, expected: CriterionState) -> None:
    assert state(CriterionName.DISCOVERY_TARGET, LegFacts(now=rates(found=found))) is expected


def test_a_regression_of_any_metric_kills_the_last_leg_and_is_named() -> None:
    before = rates(Rate(500, 1000), Rate(500, 1000), Rate(50, 1000))
    now = rates(Rate(500, 1000), Rate(400, 1000), Rate(150, 1000))
    [one] = decided([CriterionName.REGRESSION], LegFacts(now=now, before=before))
    assert (one.state, one.metrics) == (TRIPPED, ("used", "contradicted"))
    assert state(CriterionName.REGRESSION, LegFacts(now=before, before=before)) is MET
    assert state(CriterionName.REGRESSION, LegFacts(now=now)) is UNKNOWN


@pytest.mark.parametrize(("drifted", "expected"), [(None, UNKNOWN), ((), MET), ((Metric.USED,), TRIPPED)])
def test_a_judge_that_drifted_kills_the_last_leg(drifted: tuple[Metric, ...] | None, expected: CriterionState) -> None:
    assert state(CriterionName.DRIFT, LegFacts(drifted=drifted)) is expected


# Entering


def test_a_leg_is_entered_with_a_replay_after_the_leg_before_it() -> None:
    (leg,) = legs_for(["sqlite"])[1:]
    first = {one.name: one.state for one in entering(leg, LegFacts(), True)}
    assert first == {CriterionName.LEG_BEFORE: MET, CriterionName.REPLAY: UNKNOWN}
    assert entering(leg, LegFacts(days=9), False)[0] == RolloutCriterion(CriterionName.LEG_BEFORE, NOT_YET, n=9)


def test_every_criterion_of_every_leg_can_be_decided_from_nothing() -> None:
    for leg in legs_for(ORDER):
        found = decided((*leg.enter, *leg.leave, *leg.kill), LegFacts())
        assert not {one.state for one in found} & {MET, TRIPPED}
