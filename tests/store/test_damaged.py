"""Databases that are damaged, not ours, or of a newer knowbound: every verb says so with exit 2, and loses nothing."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from knowbound.cli.main import main
from knowbound.demo import PROJECT, TRACES
from tests.hook_project import PORT, PROMPT, RETRY, Project
from tests.stores import items_of

DATABASES = ("knowbound.db", "items.db", "index.db")
VERBS: dict[str, list[str]] = {
    "observe": ["observe", "traces"],
    "observe new": ["observe", "more"],
    "report": ["report"],
    "investigate": ["investigate", "Which port does the orders service listen on?"],
    "eval": ["eval"],
    "trend": ["trend"],
    "compare": ["compare", "1", "2"],
    "check": ["check", "--max-gap-rate", "0.5"],
    "draft": ["draft"],
    "probe": ["probe", "--count", "2"],
    "kms add": ["kms", "add", "The cache holds 512 entries."],
    "kms search": ["kms", "search", "port"],
    "kms show": ["kms", "show", "port"],
    "kms update": ["kms", "update", "port", "--content", "The port is 9090."],
    "kms supersede": ["kms", "supersede", "port", "The port is 9091."],
    "kms flag": ["kms", "flag", "port", "RETRACTED"],
    "kms delete": ["kms", "delete", "port"],
    "kms reap": ["kms", "reap"],
    "kms import": ["kms", "import", "CLAUDE.md"],
    "kms sync": ["kms", "sync", "--all"],
    "doctor": ["doctor"],
}


def truncated(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2 + 100)


def overwritten(path: Path) -> None:
    """Every page but the first, so that the damage is met late."""
    data = bytearray(path.read_bytes())
    for start in range(4096, len(data), 4096):
        data[start + 8 : start + 2048] = b"junk" * 510
    path.write_bytes(data)


def no_database(path: Path) -> None:
    path.write_bytes(b"This is no database. " * 500)


def empty(path: Path) -> None:
    path.write_bytes(b"")


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def newer(path: Path) -> None:
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 999")


def other(path: Path) -> None:
    path.unlink()
    with closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE recipe (name TEXT)")


def without_tables(path: Path) -> None:
    """Of our number, but with nothing in it."""
    with closing(sqlite3.connect(path)) as db:
        [version] = db.execute("PRAGMA user_version").fetchone()
    path.unlink()
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("CREATE TABLE recipe (name TEXT)")
        db.execute(f"PRAGMA user_version = {version}")


def spoilt(path: Path) -> None:
    """A whole database whose values are none of ours."""
    with closing(sqlite3.connect(path)) as db:
        for table, column in (("session", "findings"), ("evaluation", "report"), ("item", "record"), ("run", "report")):
            try:
                db.execute(f"UPDATE {table} SET {column} = x'c1c1c1'")
            except sqlite3.OperationalError:
                continue  # a table of another file
        db.commit()


DAMAGE: list[Callable[[Path], None]] = [
    truncated, overwritten, no_database, empty, folder, newer, other, without_tables, spoilt
]  # fmt: skip


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project in whose stores something is: observed, evaluated twice, items, corrections, injections."""
    root = tmp_path_factory.mktemp("filled") / "shop"
    shutil.copytree(PROJECT, root)
    shutil.copytree(TRACES, root / "traces")
    (root / "more").mkdir()
    for trace in sorted(TRACES.glob("*.jsonl"))[:2]:
        shutil.copy(trace, root / "more")
    samples = [{"sample_id": f"s{number}", "prompt": f"What is rule {number}?"} for number in range(2)]
    (root / "eval-samples.json").write_text(json.dumps({"samples": samples}))
    project = Project(root)
    project.store(*(f"Worker {number} drains queue {number * 7}." for number in range(40)), RETRY)
    project.store(PORT, id="port")
    with closing(project.base()) as base:
        base.delete(next(iter(items_of(base.backends["sqlite"]))).id)
    assert project.ask()
    here = Path.cwd()
    os.chdir(root)
    try:
        for args in (["observe", "traces"], ["eval"], ["eval"], ["investigate", "Where is the port?"]):
            with pytest.raises(SystemExit):
                main(args)
    finally:
        os.chdir(here)
    for database in DATABASES:  # whole files, as a process that has ended leaves them
        path = root / ".knowbound" / database
        with closing(sqlite3.connect(path)) as db:
            db.execute(f"VACUUM INTO '{path}.copy'")
        for ending in ("", "-wal", "-shm"):
            Path(f"{path}{ending}").unlink(missing_ok=True)
        Path(f"{path}.copy").rename(path)
        with closing(sqlite3.connect(path)) as db:
            db.execute("PRAGMA journal_mode = WAL")
    return root


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("database", DATABASES)
def test_every_verb_says_that_a_database_is_damaged(
    filled: Path,
    database: str,
    damage: Callable[[Path], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    failed = 0
    for name, args in VERBS.items():
        if name != "doctor" and name.startswith("kms") == (database == "knowbound.db"):
            continue  # it does not open this one
        root = tmp_path / name.replace(" ", "-")
        shutil.copytree(filled, root)
        monkeypatch.chdir(root)
        path = root / ".knowbound" / database
        damage(path)
        before = {one: _content(root / ".knowbound" / one) for one in DATABASES}
        with pytest.raises(SystemExit) as ended:
            main(args)
        said = capsys.readouterr().err
        is_repaired = name == "kms sync" and database == "index.db" and ended.value.code == 0
        assert ended.value.code in (0, 1, 2, 3), (name, said)
        if ended.value.code == 2:
            failed += 1
            if name != "doctor":
                is_unseen = damage is overwritten and "[no-run]" in said  # SQLite reads such a page as an empty one
                assert is_unseen or ("[store-" in said and str(path) in said), (name, said)
        if is_repaired:
            if damage not in (newer, spoilt, folder):  # spoilt values are written anew where they are
                assert _content(root / ".knowbound" / "index.db.damaged") == before[database]
            with pytest.raises(SystemExit) as mended:
                main(VERBS["kms show"])
            assert (mended.value.code, capsys.readouterr().err) == (0, "")
        elif ended.value.code == 2:
            assert _content(path) == before[database], (name, said)
        shutil.rmtree(root)
    assert failed >= (1 if damage is spoilt else 2)


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.is_file() else None


@pytest.mark.parametrize("damage", DAMAGE, ids=lambda damage: damage.__name__)
def test_the_hook_says_nothing_where_the_index_is_damaged(
    filled: Path, damage: Callable[[Path], None], tmp_path: Path
) -> None:
    root = tmp_path / "shop"
    shutil.copytree(filled, root)
    project = Project(root)
    index = root / ".knowbound" / "index.db"
    damage(index)
    before = _content(index)
    said = project.ask(PROMPT, session="s-2")  # exit 0, and nothing on stderr
    if damage is spoilt:  # the hook reads no records
        assert PORT in said
    elif damage not in (truncated, overwritten):  # what these leave can be read or not
        assert said == ""
    assert _content(index) == before


@pytest.mark.skipif(os.getuid() == 0, reason="root may read everything")
@pytest.mark.parametrize("database", DATABASES)
def test_a_database_that_may_not_be_read_is_said(
    filled: Path, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = tmp_path / "shop"
    shutil.copytree(filled, root)
    (root / ".knowbound" / database).chmod(0)
    monkeypatch.chdir(root)
    with pytest.raises(SystemExit) as ended:
        main(VERBS["report" if database == "knowbound.db" else "kms show"])
    assert ended.value.code == 2
    assert "[store-unwritable]" in capsys.readouterr().err
