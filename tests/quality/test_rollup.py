"""The daily rollup: idempotent, late turns welcome, days for ever (specification 2, section 3)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.quality import Counts, DayRollup, Durations, QualityScores, Spread
from knowbound.kms.quality_log import SqliteQualityLog
from knowbound.quality.rollup import day_of, roll_up
from tests.quality.examples import JUDGE, item, turn

TODAY = "2026-11-17"


@pytest.fixture
def log(tmp_path: Path) -> Iterator[SqliteQualityLog]:
    opened = SqliteQualityLog(tmp_path / ".knowbound")
    yield opened
    opened.close()


def test_a_day_counts_injected_items_and_nothing_else() -> None:
    one = turn(1, item("k1", "ou"), item("k2", "c", backend="mongo", source="personal"), item("k3", None))
    day = day_of("2026-11-16", [one, turn(2)])
    assert day.injected == Counts(judged=2, on_topic=1, used=1, contradicted=1, unjudged=1)
    assert day.by_backend == {"sqlite": Counts(1, 1, 1, 0, 1), "mongo": Counts(1, 0, 0, 1)}
    assert day.by_source == {"unknown": Counts(1, 1, 1, 0, 1), "personal": Counts(1, 0, 0, 1)}
    assert day.by_item["k2"] == Counts(1, 0, 0, 1)
    assert (day.turns, day.prompts_with_items, day.prompts_left_alone) == (2, 1, 1)
    assert (day.stop_ms.runs, day.judges) == (2, {JUDGE: 1})


def test_running_it_again_changes_nothing(log: SqliteQualityLog) -> None:
    log.put(turn(1, item("k1", "ou")))
    assert roll_up(log, [], today=TODAY).days == ("2026-11-16",)
    known = log.rollups()
    assert roll_up(log, [], today=TODAY).days == ()
    assert log.rollups() == known


def test_a_late_turn_changes_its_day_alone(log: SqliteQualityLog) -> None:
    log.put(turn(1, item("k1", "ou"), time="2026-11-15T23:59:59Z"))
    log.put(turn(2, item("k1", "o")))
    roll_up(log, [], today=TODAY)
    log.put(turn(3, item("k1", ""), time="2026-11-15T12:00:00Z", scored="2026-11-17T00:00:00Z"))
    assert roll_up(log, [], today=TODAY).days == ("2026-11-15",)
    assert [day.injected.judged for day in log.rollups()] == [2, 1]


def test_a_turn_that_is_scored_again_is_counted_once(log: SqliteQualityLog) -> None:
    log.put(turn(1, item("k1", None), problem="the model did not answer"))
    roll_up(log, [], today=TODAY)
    assert log.rollups()[0].injected == Counts(unjudged=1)
    log.put(turn(1, item("k1", "ou"), scored="2026-11-16T11:00:00Z"))
    roll_up(log, [], today=TODAY)
    (day,) = log.rollups()
    assert (day.turns, day.unscored, day.injected) == (1, 0, Counts(1, 1, 1))


def test_turns_leave_after_ninety_days_and_days_stay(log: SqliteQualityLog) -> None:
    log.put(turn(1, item("k1", "ou")))
    roll_up(log, [], today=TODAY)
    assert roll_up(log, [], today="2027-02-14").pruned == 0
    assert roll_up(log, [], today="2027-02-15").pruned == 1
    assert (list(log.since("")), [day.injected.used for day in log.rollups()]) == ([], [1])


def test_a_late_turn_is_folded_in_where_it_belongs(log: SqliteQualityLog) -> None:
    log.put(turn(1, item("k1", "u"), time="2026-11-15T10:00:00Z"))
    log.put(turn(2, item("k1", "u"), time="2026-11-16T10:00:00Z"))
    log.put(turn(3, item("k2", "u"), time="2026-11-16T11:00:00Z"))
    roll_up(log, [], today=TODAY)
    assert log.rollups()[1].scores["k1"].usage == pytest.approx(0.51)
    late = turn(4, item("k1", "c"), time="2026-11-15T09:00:00Z", scored="2026-11-17T00:00:00Z")
    log.put(late)
    roll_up(log, [], today=TODAY)
    first, second = log.rollups()
    assert first.scores["k1"] == QualityScores().after(0, 1).after(1, 0, last="2026-11-15T10:00:00Z")
    assert second.scores["k1"] == first.scores["k1"].after(1, 0, last="2026-11-16T10:00:00Z")
    assert second.scores["k2"] == QualityScores().after(1, 0, last="2026-11-16T11:00:00Z")


def test_another_gamma_is_folded_from_the_turns_that_are_kept(log: SqliteQualityLog) -> None:
    log.put(turn(1, item("k1", "c")))
    roll_up(log, [], today=TODAY)
    roll_up(log, [], today=TODAY, gamma=0.5)
    assert (log.rollups()[0].gamma, log.rollups()[0].scores["k1"].contradiction) == (0.5, 0.5)
    roll_up(log, [], today="2027-02-15", gamma=0.5)  # the turns leave
    roll_up(log, [], today="2027-02-15", gamma=0.3)
    assert log.rollups()[0].scores["k1"].contradiction == 0.5


counts = st.builds(
    lambda n, o, u, c: Counts(n, min(n, o), min(n, u), min(n, c)), *(st.integers(0, 5) for _ in range(4))
)


@given(st.lists(counts, max_size=6), st.lists(counts, max_size=6))
def test_a_week_is_the_sum_of_its_days(first: list[Counts], second: list[Counts]) -> None:
    def spread(all_: list[Counts]) -> Spread:
        total = Spread()
        for one in all_:
            total += Spread.of_turn(one)
        return total

    together = spread(first + second)
    added = spread(first) + spread(second)
    assert (together.turns, together.nn) == (added.turns, added.nn)
    assert {k: v for k, v in together.kk.items() if v} == {k: v for k, v in added.kk.items() if v}


@given(st.lists(st.floats(0.1, 20_000), min_size=1, max_size=50))
def test_a_share_of_durations_is_read_off_to_a_tenth(spent: list[float]) -> None:
    total = Durations()
    for ms in spent:
        total += Durations.of(ms)
    exact = sorted(spent)[max(0, -(-95 * len(spent) // 100) - 1)]
    limit = total.at_most(0.95)
    assert limit is not None
    assert exact <= limit <= max(2.0, exact * 1.1) + 1


def test_nothing_counted_has_no_limit() -> None:
    assert (Durations().at_most(0.95), DayRollup("2026-11-16").prompts_left_alone) == (None, 0)
