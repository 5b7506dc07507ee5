"""`store.keep_days`: old results go, old traces are read no more, both are said, and the file gets smaller."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from knowbound.audit.audit import audit
from knowbound.config import Settings, load
from knowbound.core.signal import Findings
from knowbound.errors import InputError
from knowbound.gaps.observe import observe
from knowbound.store.data_dir import FINDINGS
from knowbound.store.database import Database
from knowbound.store.listing import SqliteResults
from knowbound.store.observed import Observed
from knowbound.store.retention import keep_bounded, oldest_kept
from tests.transcripts import Transcript

NOW = datetime.now(UTC)


def days_ago(days: int) -> str:
    return (NOW - timedelta(days=days)).strftime("%Y-%m-%dT10:00:00Z")


def stored(home: Path, *ages: int) -> None:
    """Store a session for each age in days."""
    with closing(Observed(home)) as observed:
        for age in ages:
            found = msgspec.msgpack.encode([Findings(f"s{age}", "codex", ended=days_ago(age))])
            observed.keep_sessions([(f"codex:s{age}:0123456789abcdef", f"codex:s{age}", "x", found)])


def sessions(home: Path) -> set[str]:
    with closing(SqliteResults(home)) as results:
        return {one.session for one in results.sessions().rows}


def settings(tmp_path: Path, keep_days: int) -> Settings:
    return replace(load(tmp_path), home=tmp_path / "home", store_keep_days=keep_days)


def traces(tmp_path: Path) -> list[Path]:
    """Two transcripts: one that changed today, and one that changed a hundred days ago."""
    files = []
    for number, age in enumerate((0, 100)):
        transcript = Transcript(f"{number:08d}-2222-4333-8444-555555555555", "/work/shop").user("Add it").grep("thing")
        files.append(transcript.says("It works.").write(tmp_path / "traces", f"{number}.jsonl"))
        time = (NOW - timedelta(days=age)).timestamp()
        os.utime(files[-1], (time, time))
    return files


def test_results_of_sessions_that_ended_too_long_ago_are_removed_and_counted(tmp_path: Path) -> None:
    stored(tmp_path, 1, 29, 31, 90)
    (said,) = keep_bounded(tmp_path, 30, ())
    assert said == f"Results of 2 sessions that ended before {oldest_kept(30)} were removed (store.keep_days)"
    assert sessions(tmp_path) == {"s1", "s29"}
    assert keep_bounded(tmp_path, 30, ()) == []


def test_without_a_limit_nothing_goes(tmp_path: Path) -> None:
    stored(tmp_path, 1, 4000)
    assert keep_bounded(tmp_path, 0, ()) == []
    assert sessions(tmp_path) == {"s1", "s4000"}


def test_a_session_whose_file_changed_since_stays(tmp_path: Path) -> None:
    stored(tmp_path, 90)
    assert keep_bounded(tmp_path, 30, ["codex:s90:0123456789abcdef"]) == []
    assert sessions(tmp_path) == {"s90"}


def test_the_first_day_that_is_kept_changes_once_a_day() -> None:
    noon = datetime(2026, 11, 18, 12, tzinfo=UTC)
    assert oldest_kept(30, noon) == oldest_kept(30, noon + timedelta(hours=11)) == "2026-10-19"
    assert oldest_kept(0, noon) == ""


def test_old_traces_are_not_read_and_the_report_says_so(tmp_path: Path) -> None:
    traces(tmp_path)
    unlimited, _ = observe([tmp_path / "traces"], settings(tmp_path, 0))
    assert unlimited.totals.sessions == 2
    report, _ = observe([tmp_path / "traces"], settings(tmp_path, 30))
    assert report.totals.sessions == 1
    assert f"1 file from before {oldest_kept(30)} were not read (store.keep_days)" in report.warnings
    audited, _ = audit([tmp_path / "traces"], settings(tmp_path, 30))
    assert audited.sessions == 1
    with pytest.raises(InputError, match=r"store\.keep_days"):
        observe([tmp_path / "traces" / "1.jsonl"], settings(tmp_path, 30))


def test_free_pages_are_given_back_when_they_are_many(tmp_path: Path) -> None:
    stored(tmp_path, 1)
    with closing(Database(tmp_path / FINDINGS)) as database:
        with database.writing() as db:
            db.executemany(
                "INSERT INTO session VALUES (?, '', '', ?)",
                ((f"codex:x{one}:0", os.urandom(1_000_000)) for one in range(8)),
            )
        with database.writing() as db:
            db.execute("DELETE FROM session WHERE key LIKE 'codex:x%'")
    before = (tmp_path / FINDINGS).stat().st_size
    keep_bounded(tmp_path, 0, ())
    assert (tmp_path / FINDINGS).stat().st_size < before / 4
    with closing(sqlite3.connect(tmp_path / FINDINGS)) as db:
        assert db.execute("PRAGMA quick_check").fetchone() == ("ok",)
    assert sessions(tmp_path) == {"s1"}
