"""Pages of stored results: complete, in order, by index, and gone with what they show."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from knowbound.core.audit import AuditedSession, AuditedTurn, Diagnosis
from knowbound.core.signal import Findings, Signal, SignalType, Status, Turn
from knowbound.store.data_dir import FINDINGS
from knowbound.store.listing import SqliteResults, sessions_query, turns_query
from knowbound.store.observed import Audited, Observed

SESSIONS, TURNS = 25, 3


def key_of(number: int) -> str:
    return f"claude-code:s{number:02}:{number:016x}"


def findings(number: int, *, name: str = "") -> bytes:
    project = "/work/shop" if number % 2 else "/work/api"
    signals = [
        Signal(SignalType.FAILED_SEARCH, Status.OPEN, f"s{number:02}", 1, "", query="q", names=(name or f"n{number}",)),
        Signal(SignalType.FAILED_SEARCH, Status.MALFORMED, f"s{number:02}", 2, "", query="(", names=("bad",)),
    ]
    day = f"2026-11-{1 + number // 2:02}T10:00:00Z"  # two sessions end at the same time
    turns = [Turn(index, "", f"prompt {index}") for index in range(1, TURNS + 1)]
    agent = "codex" if number % 3 == 0 else "claude-code"
    found = Findings(f"s{number:02}", agent, project, ended=day, turns=turns, signals=signals, tool_calls=7)
    return msgspec.msgpack.encode([found])


def audited(number: int) -> bytes:
    project = "/work/shop" if number % 2 else "/work/api"
    turns = [
        AuditedTurn(
            f"s{number:02}", turn, "m", "", Diagnosis.UNSUPPORTED if turn == 1 else Diagnosis.GROUNDED, "low",
            time=f"2026-11-{1 + number // 2:02}T09:0{turn}:00Z",
        )
        for turn in range(1, TURNS + 1)
    ]  # fmt: skip
    return msgspec.msgpack.encode([AuditedSession(f"s{number:02}", "claude-code", project, turns=turns)])


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with closing(Observed(tmp_path)) as observed:
        observed.keep_sessions((key_of(one), f"claude-code:s{one:02}", "x", findings(one)) for one in range(SESSIONS))
    Audited(tmp_path).keep((key_of(one), "x", audited(one)) for one in range(SESSIONS))
    return tmp_path


@pytest.fixture
def listing(home: Path) -> Iterator[SqliteResults]:
    with closing(SqliteResults(home)) as opened:
        yield opened


@pytest.mark.parametrize("most", [1, 4, 50])
def test_pages_of_sessions_have_each_session_once_newest_first(listing: SqliteResults, most: int) -> None:
    found, after = [], ""
    while True:
        page = listing.sessions(after=after, most=most)
        assert len(page.rows) <= most
        found += page.rows
        if not (after := page.after):
            break
    assert sorted(one.session for one in found) == [f"s{number:02}" for number in range(SESSIONS)]
    assert [one.ended for one in found] == sorted((one.ended for one in found), reverse=True)
    assert {(one.turns, one.calls, one.signals, one.open, one.audited) for one in found} == {(3, 7, 2, 1, 3)}


def test_sessions_are_found_by_project_agent_and_time(listing: SqliteResults) -> None:
    shop = listing.sessions(project="shop").rows
    assert {one.folder for one in shop} == {"/work/shop"}
    assert len(shop) == SESSIONS // 2
    assert {one.agent for one in listing.sessions(project="shop", agent="codex").rows} == {"codex"}
    assert [one.session for one in listing.sessions(since="2026-11-13").rows] == ["s24"]
    assert listing.sessions(project="none") == ([], "")
    assert listing.counts("project") == {"api": 13, "shop": 12}


def test_turns_are_found_by_diagnosis_and_project(listing: SqliteResults) -> None:
    found, after = [], ""
    while True:
        page = listing.turns(diagnosis="unsupported", project="api", after=after, most=4)
        found += page.rows
        if not (after := page.after):
            break
    assert [one.session for one in found] == [f"s{number:02}" for number in range(24, -1, -2)]
    assert {one.turn for one in found} == {1}
    assert listing.counts("diagnosis") == {"grounded": 50, "unsupported": 25}
    assert listing.counts("diagnosis", project="shop") == {"grounded": 24, "unsupported": 12}


def test_a_turn_has_its_prompt_signals_and_diagnosis(listing: SqliteResults) -> None:
    found = listing.turn("s07", 1)
    assert found.turn is not None
    assert found.turn.prompt == "prompt 1"
    assert [one.names for one in found.signals] == [("n7",)]
    assert found.audited is not None
    assert found.audited.diagnosis is Diagnosis.UNSUPPORTED
    assert listing.turn("s07", 99) == listing.turn("nobody", 1) == (None, [], None)


def test_a_hostile_cursor_is_the_first_page(listing: SqliteResults) -> None:
    first = listing.sessions(most=2)
    for cursor in ("' OR 1=1 --", "|", "x|y", "2026|-1", "|||", "\0|1.5"):
        assert listing.sessions(after=cursor, most=2) == first
        assert listing.turns(after=cursor, most=2) == listing.turns(most=2)


def test_sessions_are_found_by_the_names_that_may_be_of_a_topic(listing: SqliteResults) -> None:
    assert listing.keys_about(["n3", "n9", "bad"]) == [key_of(3), key_of(9)]
    assert listing.keys_of(["s04", "nobody"]) == [key_of(4)]


def test_what_changes_is_listed_again_and_what_goes_is_listed_no_more(home: Path) -> None:
    SqliteResults(home).close()
    with closing(Observed(home)) as observed:
        observed.keep_sessions([(key_of(3), "claude-code:s03", "y", findings(3, name="other"))])
    with closing(SqliteResults(home)) as listing:
        assert listing.keys_about(["n3"]) == []
        assert listing.keys_about(["other"]) == [key_of(3)]
        assert len(listing.sessions().rows) == SESSIONS
    with closing(sqlite3.connect(home / FINDINGS)) as db, db:
        db.execute("DELETE FROM session WHERE key = ?", (key_of(3),))
        db.execute("DELETE FROM audited")
    with closing(SqliteResults(home)) as listing:
        assert len(listing.sessions().rows) == SESSIONS - 1
        assert listing.turns().rows == []
        assert listing.counts("diagnosis") == {}


def test_findings_of_another_version_are_listed_by_their_key(home: Path) -> None:
    with closing(Observed(home)) as observed:
        observed.keep_sessions([("codex:new:0123456789abcdef", "codex:new", "x", msgspec.msgpack.encode([{"x": 1}]))])
    with closing(SqliteResults(home)) as listing:
        (last,) = [one for one in listing.sessions().rows if one.session == "new"]
        assert (last.agent, last.turns) == ("codex", 0)


@pytest.mark.parametrize("project", ["", "shop"])
@pytest.mark.parametrize("second", ["", "x"])
@pytest.mark.parametrize("after", [(), ("2026", 1)])
def test_pages_are_read_by_an_index_and_never_sorted(
    home: Path, project: str, second: str, after: tuple[str | int, ...]
) -> None:
    SqliteResults(home).close()
    queries = [
        sessions_query({"project": project, "agent": second}, "2026" if second else "", after),
        turns_query({"project": project, "diagnosis": second}, (*after, 1) if after else ()),
    ]
    with closing(sqlite3.connect(home / FINDINGS)) as db:
        for query, given in queries:
            plan = [row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {query}", (*given, 50))]
            assert not any("TEMP B-TREE" in step for step in plan if "page" not in query), plan
            tables = [step for step in plan if "listed_" in step]
            assert all("INDEX" in step or "PRIMARY KEY" in step for step in tables), plan
