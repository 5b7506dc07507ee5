"""Warranted corrections, rule by rule (specification 2, "The four metrics")."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.quality import Closing, Discovery, QualityTurn
from knowbound.kms.index.database import Correction
from knowbound.quality.rollup import DISMISS, discoveries, discovery_rate, is_resolved
from knowbound.stats.rate import Rate
from tests.quality.examples import item, turn

START = datetime(2026, 11, 1, 12, tzinfo=UTC)


def at(days: float) -> str:
    return (START + timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ")


def contradicted(days: float, number: int = 1, id_: str = "k1", session: str = "s1") -> QualityTurn:
    return turn(number, item(id_, "oc"), session=session, time=at(days))


def correction(days: float, tool: str = "kms_supersede", id_: str = "k1", **detail: object) -> Correction:
    return Correction(id_, tool, at(days), "me", "other-session", json.dumps(detail))


def test_a_contradiction_raises_a_record_of_the_item_with_its_session_and_turn() -> None:
    (record,) = discoveries([], [contradicted(0)], [])
    assert record == Discovery("k1", at(0), "s1", "t1", "it is 9090", judge="test-1")
    assert record.closing is Closing.OPEN


def test_leaving_an_item_out_raises_nothing() -> None:
    assert discoveries([], [turn(1, item("k1", "o"), item("k2", ""))], []) == []


def test_a_second_contradiction_while_it_is_open_raises_the_counter_and_no_second_record() -> None:
    (record,) = discoveries([], [contradicted(0), contradicted(1, 2, session="s2"), contradicted(20, 3)], [])
    assert (record.raised, record.contradictions) == (at(0), 3)


def test_records_are_counted_per_item_not_per_turn() -> None:
    both = turn(1, item("k1", "oc"), item("k2", "oc"), time=at(0))
    assert [record.item for record in discoveries([], [both], [])] == ["k1", "k2"]


@pytest.mark.parametrize("tool", ["kms_supersede", "kms_flag", "kms_update", "kms_delete"])
def test_any_corrective_tool_in_any_session_closes_it(tool: str) -> None:
    (record,) = discoveries([], [contradicted(0)], [correction(3, tool)])
    assert (record.closing, record.closed, record.closed_by) == (Closing.RESOLVED, at(3), tool)
    assert is_resolved(record)


def test_a_corrective_call_in_a_trace_closes_it_too() -> None:
    (record,) = discoveries([], [contradicted(0), turn(2, time=at(1), corrected=("k1",))], [])
    assert (record.closed, record.closed_by) == (at(1), "kms_supersede")


@pytest.mark.parametrize(
    "correcting",
    [
        correction(-1),
        correction(1, id_="k2"),
        correction(1, "kms_reap"),
        correction(1, "kms_flag", flag="UNVERIFIED", automatic=True),
        correction(1, "kms_flag", removed="UNVERIFIED"),
    ],
    ids=["before it was raised", "of another item", "the reaper", "set by knowbound itself", "a flag taken off"],
)
def test_what_closes_nothing(correcting: Correction) -> None:
    (record,) = discoveries([], [contradicted(0)], [correcting])
    assert record.closing is Closing.OPEN


def test_a_contradiction_after_the_correction_raises_a_new_record() -> None:
    found = discoveries([], [contradicted(0), contradicted(5, 2)], [correction(3)])
    assert [(one.raised, one.closing) for one in found] == [(at(0), Closing.RESOLVED), (at(5), Closing.OPEN)]


def test_dismissing_closes_it_as_not_warranted_and_it_leaves_the_rate() -> None:
    found = discoveries([], [contradicted(0), contradicted(0, 2, "k2")], [correction(1, DISMISS)])
    assert [one.closing for one in found] == [Closing.NOT_WARRANTED, Closing.OPEN]
    assert discovery_rate(found, "2026-11-01", "2026-11-07") == Rate(0, 1)


@pytest.mark.parametrize(("days", "resolved"), [(0, True), (14, True), (14.001, False), (40, False)])
def test_it_counts_as_resolved_within_fourteen_days(days: float, resolved: bool) -> None:
    (record,) = discoveries([], [contradicted(0)], [correction(days)])
    assert record.closing is Closing.RESOLVED
    assert is_resolved(record) == resolved


def test_the_window_is_about_when_it_was_raised() -> None:
    found = discoveries([], [contradicted(0), contradicted(8, 2, "k2")], [correction(9), correction(9, id_="k2")])
    assert discovery_rate(found, "2026-11-01", "2026-11-07") == Rate(1, 1)
    assert discovery_rate(found, "2026-11-08", "2026-11-14") == Rate(1, 1)
    assert discovery_rate(found, "2026-11-20", "2026-11-26") == Rate(0, 0)


def test_a_record_whose_turn_has_expired_stays_and_can_still_be_closed() -> None:
    known = discoveries([], [contradicted(0)], [])
    assert discoveries(known, [], []) == known
    (closed,) = discoveries(known, [], [correction(2)])
    assert closed.closing is Closing.RESOLVED
    (again,) = discoveries(known, [contradicted(95, 2)], [])
    assert (again.raised, again.contradictions) == (at(0), 2)


events = st.lists(
    st.tuples(st.sampled_from(["k1", "k2"]), st.integers(0, 20), st.sampled_from(["raise", "close", "dismiss"])),
    max_size=12,
    unique_by=lambda event: event[:2],
)


@given(events)
def test_computing_them_again_changes_nothing_and_the_order_of_turns_does_not_matter(
    given_events: list[tuple[str, int, str]],
) -> None:
    turns = [contradicted(day, at_, id_) for at_, (id_, day, what) in enumerate(given_events) if what == "raise"]
    tools = {"close": "kms_flag", "dismiss": DISMISS}
    corrections = [correction(day, tools[what], id_) for id_, day, what in given_events if what in tools]
    once = discoveries([], turns, corrections)
    assert discoveries(once, turns, corrections) == once
    assert discoveries([], turns[::-1], corrections[::-1]) == once
    assert sum(record.contradictions for record in once) == len(turns)
    for record in once:
        open_at_once = [one for one in once if one.item == record.item and not one.closed]
        assert len(open_at_once) <= 1
