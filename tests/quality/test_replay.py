"""Replay: two rankings of logged candidates, judged by the verdicts of then."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.item import Item
from knowbound.core.quality import DayRollup, ItemVerdict, Metric, QualityScores
from knowbound.injection.log import InjectedItem, InjectionRecord
from knowbound.kms.index.ranking import RANKER, FoundItem
from knowbound.quality.rollout.replay import LoggedPool, compare_rankings, logged_pools
from knowbound.stats.rate import Mean, Rate
from knowbound.stats.rollout import Ranker, Ranking, ReplayVerdict, TurnPair, is_worse, metric_change
from tests.quality.measured_project import logged, turn

PRESENT = Ranking(Ranker.PRESENT, (), 0.3)
QUALITY = Ranking(Ranker.QUALITY, ("sqlite",), 0.3)


def row(id_: str, share: float, backend: str = "sqlite") -> tuple[object, ...]:
    """A candidate; the more of the prompt's words it has, the more relevant it is."""
    return tuple(FoundItem(id_, backend, id_, words=25 * share, meaning=0.52).pool_row())


def verdicts(**said: str) -> dict[str, ItemVerdict]:
    return {id_: ItemVerdict(id_, "t" in yes, "u" in yes, "c" in yes) for id_, yes in said.items()}


def pool(number: int, rows: Sequence[tuple[object, ...]], day: str = "2026-11-16", **said: str) -> LoggedPool:
    return LoggedPool(day, f"s{number}", tuple(rows), verdicts(**said))  # type: ignore[arg-type]


WRONG_BEFORE = [DayRollup("2026-11-10", scores={"bad": QualityScores(0.0, 0.3)})]


def test_an_item_that_was_contradicted_before_falls_behind_and_that_is_better() -> None:
    pools = [pool(n, [row("bad", 0.82), row("good", 0.8)], bad="c", good="tu") for n in range(30)]
    found = compare_rankings(pools, WRONG_BEFORE, PRESENT, QUALITY, 1)
    assert found.compared == 30
    assert (found.metrics[Metric.ON_TOPIC].before, found.metrics[Metric.ON_TOPIC].after) == (Rate(0, 30), Rate(30, 30))
    assert found.verdict is ReplayVerdict.NO_WORSE
    turned = compare_rankings(pools, WRONG_BEFORE, QUALITY, PRESENT, 1)
    assert turned.verdict is ReplayVerdict.WORSE


def test_no_turn_is_ranked_by_its_own_verdicts_or_by_later_ones() -> None:
    pools = [pool(n, [row("bad", 0.82), row("good", 0.8)], bad="c", good="tu") for n in range(30)]
    same_day = [DayRollup("2026-11-16", scores={"bad": QualityScores(0.0, 1.0)})]
    assert compare_rankings(pools, same_day, PRESENT, QUALITY, 1).metrics[Metric.ON_TOPIC].after == Rate(0, 30)


def test_only_the_backends_of_the_leg_are_ranked_by_quality() -> None:
    rows = [row("bad", 0.82, "mongo"), row("good", 0.8, "mongo")]
    pools = [pool(n, rows, bad="c", good="tu") for n in range(30)]
    found = compare_rankings(pools, WRONG_BEFORE, PRESENT, QUALITY, 1)
    assert found.verdict is ReplayVerdict.NO_WORSE
    assert found.metrics[Metric.ON_TOPIC].after == found.metrics[Metric.ON_TOPIC].before


def test_a_turn_whose_first_items_were_never_judged_is_not_compared() -> None:
    pools = [pool(n, [row("bad", 0.82), row("new", 0.8)], bad="c") for n in range(30)]
    found = compare_rankings(pools, WRONG_BEFORE, PRESENT, QUALITY, 1)
    assert found.compared == 0
    assert found.verdict is ReplayVerdict.TOO_FEW


def test_a_higher_floor_drops_what_is_less_relevant() -> None:
    pools = [pool(n, [row("good", 0.8), row("weak-one", 0.75)], good="tu", **{"weak-one": ""}) for n in range(30)]
    good, weak = (FoundItem(*row(*one)).relevance for one in (("good", 0.8), ("weak-one", 0.75)))  # type: ignore[arg-type]
    low, high = (Ranking(Ranker.PRESENT, (), floor) for floor in (0.3, (good + weak) / 2))
    found = compare_rankings(pools, [], low, high, 3)
    assert (found.metrics[Metric.ON_TOPIC].before, found.metrics[Metric.ON_TOPIC].after) == (Rate(30, 60), Rate(30, 30))
    assert found.verdict is ReplayVerdict.NO_WORSE


def test_few_turns_decide_nothing() -> None:
    pools = [pool(n, [row("bad", 0.82), row("good", 0.8)], bad="c", good="tu") for n in range(19)]
    assert compare_rankings(pools, WRONG_BEFORE, PRESENT, QUALITY, 1).verdict is ReplayVerdict.TOO_FEW


_said = st.lists(st.booleans(), min_size=1, max_size=3).map(tuple)


@given(st.lists(st.builds(TurnPair, st.sampled_from("abcd"), _said, _said), min_size=1, max_size=20))
def test_the_other_way_round_the_difference_is_the_opposite(pairs: list[TurnPair]) -> None:
    found = metric_change(pairs).difference
    turned = metric_change([TurnPair(one.session, one.after, one.before) for one in pairs]).difference
    assert found.value is not None
    assert turned.value is not None
    assert found.value == pytest.approx(-turned.value)
    for metric in Metric:
        assert not (is_worse(metric, found) and is_worse(metric, turned))


@given(st.lists(st.builds(TurnPair, st.sampled_from("abcd"), _said, _said), min_size=1, max_size=20))
def test_a_ranking_is_never_better_or_worse_than_itself(pairs: list[TurnPair]) -> None:
    found = metric_change([TurnPair(one.session, one.before, one.before) for one in pairs]).difference
    assert found.value == 0
    assert not any(is_worse(metric, found) for metric in Metric)


def test_more_contradictions_are_worse() -> None:
    up = Mean(50, 0.2, 0.1, 0.3)
    assert is_worse(Metric.CONTRADICTED, up)
    assert not is_worse(Metric.ON_TOPIC, up)


# Pools of the log


def record(number: int, items: Sequence[str] = (), **more: object) -> InjectionRecord:
    given_fields: dict[str, object] = {
        "time": f"2026-11-16T10:{number:02d}:00Z",
        "id": f"r{number}",
        "session": "s1",
        "prompt_id": f"t{number}",
        "ranker": RANKER,
        "pool": (row("a", 0.8), row("b", 0.7)),
        "items": tuple(InjectedItem(one, "sqlite", sha=one) for one in items),
        "delivered": True,
        "outcome": "injected",
    }
    return InjectionRecord(**(given_fields | more))  # type: ignore[arg-type]


def test_a_pool_is_joined_with_its_turn_and_lacks_what_the_context_had() -> None:
    one = turn("2026-11-16", 1, [logged(Item("a", "text"), "t")], session_id="s1", turn_id="t1")
    two = turn("2026-11-16", 2, [logged(Item("b", "text"), "t")], session_id="s1", turn_id="t2")
    three = turn("2026-11-16", 3, [logged(Item("a", "text"), "t")], session_id="s1", turn_id="t4")
    turns = {(each.session_id, each.turn_id): each for each in (one, two, three)}
    cleared = record(3, event="session-start", source="clear", pool=())
    found = list(logged_pools([record(1, ["a"]), record(2, ["b"]), cleared, record(4, ["a"]), record(5)], turns))
    assert [[each[0] for each in one.rows] for one in found] == [["a", "b"], ["b"], ["a", "b"]]


def test_a_pool_that_a_model_chose_from_is_left_out() -> None:
    one = turn("2026-11-16", 1, [logged(Item("a", "text"), "t")], session_id="s1", turn_id="t1")
    turns = {("s1", "t1"): one}
    assert list(logged_pools([record(1, ["a"], chooser_outcome="chosen")], turns)) == []
    assert len(list(logged_pools([record(1, ["a"], chooser_outcome="late")], turns))) == 1
