from __future__ import annotations

import json
import os
import shutil
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from knowbound.errors import StoreError
from knowbound.injection.log import read_log, tidy
from knowbound.kms.opening import rebuilt_index
from knowbound.store.database import Database
from tests.hook_project import PORT, PROMPT, Project
from tests.kills import killed_at_each_step

EARLIER = Path(__file__).parents[1] / "store" / "earlier" / "index_1.sql"


def line(session: str, **more: Any) -> str:
    """A line as 0.1.0 wrote it."""
    item = {
        "item": "k-1", "backend": "sqlite", "excerpt": PORT, "content_length": 68, "confidence": 1.0, "rank": 1,
        "score": 0.9,
    }  # fmt: skip
    fields: dict[str, Any] = {"time": "2026-11-15T08:00:00Z", "id": f"id-{session}", "session": session, "turn": "t-1"}
    fields |= {"prompt_id": "", "prompt": PROMPT, "items": [item], "pool": [["k-1", "sqlite", "ca7a"]]}
    return json.dumps(fields | more, separators=(",", ":")) + "\n"


def sessions(home: Path) -> list[str]:
    return [record.session for record in read_log(home).records]


def day(days: int) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).strftime("%Y-%m-%d")


def written(home: Path, name: str, text: str) -> Path:
    path = home / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


# Retention


def test_days_that_are_too_old_are_removed_and_others_stay(tmp_path: Path) -> None:
    old, kept = (written(tmp_path, f"injections/{day(days)}.jsonl", line(f"s-{days}")) for days in (91, 89))
    stranger = written(tmp_path, "injections/notes.txt", "mine")
    tidy(tmp_path, 90)
    assert not old.exists()
    assert kept.exists()
    assert stranger.exists()
    assert sessions(tmp_path) == ["s-89"]
    tidy(tmp_path, 0)  # today's is never removed
    assert sessions(tmp_path) == []
    written(tmp_path, f"injections/{day(0)}.jsonl", line("s-0"))
    tidy(tmp_path, 0)
    assert sessions(tmp_path) == ["s-0"]


def test_contexts_of_sessions_that_are_silent_go(tmp_path: Path) -> None:
    silent, live = written(tmp_path, "contexts/s-1", "k-1 sha\n"), written(tmp_path, "contexts/s-2", "k-1 sha\n")
    os.utime(silent, (0, 0))
    tidy(tmp_path, 90)
    assert not silent.exists()
    assert live.exists()


@pytest.mark.skipif(os.name == "nt", reason="links need rights there")
def test_nothing_is_removed_through_a_link(tmp_path: Path) -> None:
    """A pull may put a link where our folder is."""
    names = ("injections", "contexts", "injected", "told")
    outside = [written(tmp_path, f"elsewhere/{name}/2020-01-01.jsonl", line("s-1")) for name in names]
    home = tmp_path / "home"
    home.mkdir()
    for path in outside:
        os.utime(path, (0, 0))
        (home / path.parent.name).symlink_to(path.parent)
    tidy(home, 90)
    assert all(path.exists() for path in outside)
    assert read_log(home).records == []


# What 0.1.0 left


def test_journals_of_an_earlier_version_become_a_part_of_the_log(tmp_path: Path) -> None:
    written(tmp_path, f"injected/{day(1)}.jsonl", line("s-1") + line("s-2"))
    written(tmp_path, "told/s-1", "k-1 sha\n")
    for _ in range(2):
        tidy(tmp_path, 90)
        assert sessions(tmp_path) == ["s-1", "s-2"]
    assert [path.name for path in tmp_path.iterdir()] == ["injections"]
    record = read_log(tmp_path).records[0]
    assert (record.turn_key, record.outcome, record.delivered) == ("t-1", "unknown", None)
    assert [item.excerpt for item in record.items] == [PORT]
    written(tmp_path, f"injected/{day(1)}.jsonl", line("s-3"))  # a hook of 0.1.0 still runs somewhere
    tidy(tmp_path, 90)
    assert sorted(sessions(tmp_path)) == ["s-1", "s-2", "s-3"]


def earlier_index(home: Path, rows: int = 0) -> Path:
    """An index of the first schema with an injection, and as many more."""
    home.mkdir(parents=True, exist_ok=True)
    path = home / "index.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(EARLIER.read_text("utf-8"))
        for number in range(rows):
            db.execute(
                "INSERT INTO injected SELECT ?, ?, turn, prompt_id, time, prompt, item, backend, excerpt, "
                "content_length, confidence, rank, score, pool FROM injected WHERE id = 1",
                (number + 10, f"more-{number}"),
            )
        db.commit()
    return path


def test_injections_of_an_earlier_index_come_into_the_log(tmp_path: Path) -> None:
    path = earlier_index(tmp_path, rows=2)
    Database(path).close()
    assert sorted(sessions(tmp_path)) == ["more-0", "more-1", "s1"]
    [record] = [one for one in read_log(tmp_path).records if one.session == "s1"]
    assert (record.prompt, record.items[0].excerpt, len(record.pool)) == (PROMPT, PORT, 2)
    with closing(sqlite3.connect(path)) as db:
        assert not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'injected'").fetchone()
        assert not db.execute("SELECT 1 FROM meta WHERE key LIKE 'injected:%'").fetchone()


def test_a_row_and_the_line_it_was_made_from_count_once(tmp_path: Path) -> None:
    """A journal stayed until its day was over."""
    path = earlier_index(tmp_path)
    with closing(sqlite3.connect(path)) as db:
        db.execute("ALTER TABLE injected ADD COLUMN record TEXT NOT NULL DEFAULT ''")
        db.execute("UPDATE injected SET record = 'id-s1'")
        db.execute("CREATE UNIQUE INDEX injected_record ON injected (record, rank) WHERE record <> ''")
        db.execute("PRAGMA user_version = 2")
        db.commit()
    written(tmp_path, "injected/2026-11-16.jsonl", line("s1"))
    Database(path).close()
    tidy(tmp_path, 36_500)
    assert sessions(tmp_path) == ["s1"]


def test_injections_of_an_earlier_index_outlive_a_migration_that_is_killed(tmp_path: Path) -> None:
    home = tmp_path / "home"
    points = 0
    earlier_index(home, rows=3)
    for _ in killed_at_each_step(lambda: Database(home / "index.db").close()):
        points += 1
        Database(home / "index.db").close()
        assert sorted(sessions(home)) == ["more-0", "more-1", "more-2", "s1"]
        shutil.rmtree(home)
        earlier_index(home, rows=3)
    assert points > 2


def test_where_the_log_cannot_be_written_nothing_is_migrated(tmp_path: Path) -> None:
    path = earlier_index(tmp_path)
    (tmp_path / "injections").write_text("a file where a folder should be")
    with pytest.raises(StoreError, match="Nothing was changed"):
        Database(path)
    (tmp_path / "injections").unlink()
    Database(path).close()
    assert sessions(tmp_path) == ["s1"]


def test_what_can_be_read_of_a_damaged_index_of_an_earlier_schema_is_kept(tmp_path: Path) -> None:
    earlier_index(tmp_path)
    rebuilt_index(tmp_path, keep_logs=True).close()
    assert sessions(tmp_path) == ["s1"]


def test_a_log_line_of_an_earlier_version_counts_as_injected(tmp_path: Path) -> None:
    root = tmp_path / "shop"
    root.mkdir()
    project = Project(root)
    project.store(PORT)
    (project.home / "hook.log").write_text('{"time":"2026-11-15T08:00:00Z","outcome":"told","items":1}\n')
    assert project.last_run()["outcome"] == "injected"


def test_the_first_hook_of_a_day_removes_what_is_too_old(tmp_path: Path) -> None:
    project = Project(tmp_path / "shop")
    project.root.mkdir()
    project.store(PORT)
    old = written(project.home, f"injections/{day(200)}.jsonl", line("s-old"))
    assert PORT in project.ask()
    assert not old.exists()
    written(project.home, f"injections/{day(200)}.jsonl", line("s-old"))
    project.ask(session="s-2")
    assert old.exists()  # once a day is enough
