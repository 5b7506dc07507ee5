"""Stores of every earlier schema open here, and today's verbs work on them with nothing lost.

`earlier/NAME_NUMBER.sql` is a store as the code of its time wrote it: the scripts of that time, and the rows. The first
form of script 3 was edited after it was in use; both forms are here.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import knowbound.store
from knowbound.cli.main import main
from knowbound.core.quality import QualityTurn
from knowbound.errors import StoreError
from knowbound.injection.log import read_log
from knowbound.kms.backends.sqlite import SqliteBackend
from knowbound.kms.quality_log import SqliteQualityLog
from knowbound.store.database import Database, newest_schema
from knowbound.store.evaluations import Evaluations
from knowbound.store.judges import ModelAnswers
from tests.stores import items_of

EARLIER = Path(__file__).parent / "earlier"
MIGRATIONS = Path(knowbound.store.__file__).parent / "migrations"
FINDINGS = sorted(EARLIER.glob("knowbound_*.sql"))
TRACE = [
    {"type": "user", "uuid": "u1", "sessionId": "s2", "message": {"role": "user", "content": "Where is the limit?"}},
    {"type": "assistant", "uuid": "a1", "sessionId": "s2", "message": {"id": "m1", "content": [
        {"type": "text", "text": "In limits.py."}]}},
]  # fmt: skip

# A script is in use somewhere once it is on the main branch: it is never edited. What it left out comes with a new one,
# which is added here.
RELEASED = {
    "codebase/0001_codebase.sql": "c1097ffd6ed23857",
    "index/0001_index.sql": "37de57c663b846fe",
    "index/0002_injection_record.sql": "57cd91366eca07c9",
    "index/0003_intent.sql": "6551ec5e0ce80f12",
    "index/0004_injection_log.sql": "0423860c6bf49525",
    "index/0005_spaced_sha.sql": "2caffdde99bd333f",
    "index/0006_listed.sql": "da9206f9debf9d24",
    "index/0007_terms.sql": "be5feae74390fd57",
    "index/0008_code_planes.sql": "620de590a8ff73eb",
    "index/0009_stale_and_quality.sql": "9a3f46c7d4f63671",
    "items/0001_items.sql": "0820157a46bd4fcb",
    "items/0002_quality.sql": "4c08a073446e9e9e",
    "items/0004_notes.sql": "cc4b6c5558715b6f",
    "items/0005_answers.sql": "ed4df76e2a82ccb6",
    "items/0006_measured_items.sql": "f37a1816fd07de93",
    "items/0007_verdicts_by_id.sql": "8e2a97b41e5fee92",
    "items/0008_days_of_the_log.sql": "9546e93a41578ac1",
    "knowbound/0001_observed.sql": "bb144b2dba4c394e",
    "knowbound/0002_unmanaged.sql": "20d718896347f40b",
    "knowbound/0003_evaluations.sql": "b636f8d9665767b1",
    "knowbound/0004_evaluation_journal.sql": "88409a52f0bdef52",
    "knowbound/0005_lessons.sql": "aa6924efca1b59e1",
    "knowbound/0006_audited.sql": "b2a9b2a180f2e82b",
    "knowbound/0007_answers.sql": "efbb0fd1dc748665",
    "knowbound/0008_agent_questions.sql": "44a40a028730d9c6",
    "knowbound/0009_review.sql": "5572f94b1bfa1d33",
    "knowbound/0010_listing.sql": "412da3d7ab3b1991",
    "knowbound/0011_forks.sql": "ddb859bf6560bcd1",
    "knowbound/0012_accepted_lessons.sql": "2f0f44b565365c6b",
    "usage/0001_usage.sql": "bd1aeba05d3d2420",
}


def made(home: Path, script: Path) -> Path:
    """The store that the script makes, in a data folder."""
    home.mkdir(parents=True, exist_ok=True)
    path = home / f"{script.stem.partition('_')[0]}.db"
    with closing(sqlite3.connect(path)) as db:
        db.executescript(script.read_text("utf-8"))
    return path


def rows_of(path: Path) -> dict[str, list[dict[str, object]]]:
    """Every row of every table that is not SQLite's or the full-text search's own."""
    with closing(sqlite3.connect(path)) as db:
        db.row_factory = sqlite3.Row
        named = [row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        tables = [name for name in named if not name.startswith(("sqlite_", "item_text", "code_", "meta", "pending"))]
        return {table: [dict(row) for row in db.execute(f"SELECT * FROM {table}")] for table in tables}


def assert_kept(path: Path, before: dict[str, list[dict[str, object]]]) -> None:
    """Each row is there with every value it had; columns, rows and tables may be added."""
    now = rows_of(path)
    for table, rows in before.items():
        for row in rows:
            assert any(row.items() <= one.items() for one in now[table]), (table, row)


def run(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(list(args))
    printed = capsys.readouterr()
    assert ended.value.code == 0, (args, printed.err)
    return printed.out


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "shop"
    (root / "traces").mkdir(parents=True)
    (root / "traces" / "s2.jsonl").write_text("".join(json.dumps(line) + "\n" for line in TRACE))
    (root / "CLAUDE.md").write_text(
        "# Shop\n\nOrders listen on port 8080.\n\n## Refund retries\n\nRefunds are retried three times.\n"
    )
    samples = [{"sample_id": "a", "prompt": "On which port do orders listen?"}]
    (root / "eval-samples.json").write_text(json.dumps({"samples": samples}))
    monkeypatch.chdir(root)
    return root


@pytest.mark.parametrize("script", FINDINGS, ids=lambda path: path.stem)
def test_today_s_verbs_work_on_findings_of_an_earlier_schema(
    script: Path, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = made(project / ".knowbound", script)
    before = rows_of(path)
    known = len(before.get("evaluation", ()))
    run(capsys, "report", "--format", "json")
    run(capsys, "doctor")
    assert_kept(path, before)
    run(capsys, "eval", "--format", "json")
    run(capsys, "probe", "--format", "json")
    run(capsys, "trend", "--format", "json")
    run(capsys, "observe", "traces", "--format", "json")
    assert_kept(path, {table: rows for table, rows in before.items() if table not in ("run", "session")})
    with closing(Evaluations(path.parent)) as store:
        heads = store.heads()
        assert len(heads) == known + 2  # the one of `eval` and the one of `probe`
        assert [head.id for head in heads] == list(range(1, known + 3))
        assert all(store.get(head.id) for head in heads)
        store.check()


def test_answers_of_the_version_before_are_used_and_its_verdicts_are_asked_for_anew(tmp_path: Path) -> None:
    path = made(tmp_path, EARLIER / "knowbound_3.sql")
    with closing(sqlite3.connect(path)) as db:
        db.execute("INSERT INTO answer VALUES ('rubric-1-0123abcd', 'openai:m', 'ff', x'7b7d')")
        db.execute("INSERT INTO verdict VALUES ('hedging-1', 'ff', x'00')")
        db.commit()
    assert ModelAnswers(tmp_path, keep_days=1).answer("rubric-1-0123abcd", "openai:m", "ff") == b"{}"
    assert "verdict" not in rows_of(path)


def test_an_evaluation_keeps_the_run_it_came_from(tmp_path: Path) -> None:
    path = made(tmp_path, EARLIER / "knowbound_3.sql")
    before = [row["journal"] for row in rows_of(path)["evaluation"]]
    Database(path).close()
    assert [row["journal"] for row in rows_of(path)["evaluation"]] == before != [0, 0]


def test_today_s_verbs_work_on_items_and_an_index_of_an_earlier_schema(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = project / ".knowbound"
    paths = [made(home, EARLIER / "items_1.sql"), made(home, EARLIER / "index_1.sql")]
    with closing(sqlite3.connect(paths[1], isolation_level=None)) as db:
        [id_] = db.execute("SELECT id FROM item WHERE content LIKE '%port 8080%'").fetchone()
        db.execute("INSERT INTO pending VALUES (?)", (id_,))  # a writer was killed
    before = [rows_of(path) for path in paths]
    assert "8080" in run(capsys, "kms", "search", "orders port")
    assert "8080" in run(capsys, "kms", "show", id_)
    run(capsys, "kms", "sync")
    run(capsys, "doctor")
    for path, rows in zip(paths, before, strict=True):
        assert_kept(path, {table: rows[table] for table in rows if table not in ("item", "injected")})
    [row], [record] = before[1]["injected"], read_log(home).records
    assert (record.session, record.prompt, record.time) == (row["session"], row["prompt"], row["time"])
    assert [item.item for item in record.items] == [row["item"]]
    kept = {row["id"] for row in before[0]["item"]}
    assert {row["id"] for row in rows_of(paths[0])["item"]} == {row["id"] for row in rows_of(paths[1])["item"]} == kept
    run(capsys, "kms", "add", "The cache holds 512 entries.")
    run(capsys, "kms", "supersede", id_, "The orders service listens on port 9090.")
    with closing(Database(paths[1])) as index:
        index.check()
        assert index.rows("SELECT * FROM pending") == []


def test_items_of_an_earlier_schema_get_a_quality_log_and_nothing_of_them_is_lost(tmp_path: Path) -> None:
    path = made(tmp_path, EARLIER / "items_1.sql")
    before = rows_of(path)
    turn = QualityTurn("s1", "t1", "2026-11-16T10:00:00Z", user_prompt="On which port do orders listen?")
    with closing(SqliteQualityLog(tmp_path)) as log:
        assert log.days() == []
        assert log.put(turn)
    with closing(SqliteQualityLog(tmp_path)) as log, closing(SqliteBackend(tmp_path)) as items:
        assert log.get(turn.id) == turn
        assert {item.id for item in items_of(items)} == {row["id"] for row in before["item"]}
    assert_kept(path, before)


def test_forget_works_on_items_of_an_earlier_schema(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = made(project / ".knowbound", EARLIER / "items_1.sql")
    before = rows_of(path)
    document = json.loads(run(capsys, "forget", "--everything", "--yes", "--format", "json"))
    assert document["proof"]["left"] == []
    assert_kept(path, before)
    assert rows_of(path)["kms_quality_log"] == []


@pytest.mark.parametrize("script", sorted(EARLIER.glob("*.sql")), ids=lambda path: path.stem)
def test_a_store_of_an_earlier_schema_is_brought_to_today_s(script: Path, tmp_path: Path) -> None:
    path = made(tmp_path, script)
    with closing(Database(path)) as database:
        database.check()
        assert database.row("PRAGMA user_version")[0] == newest_schema(path.name)
    fresh = tmp_path / "fresh" / path.name
    Database(fresh).close()
    assert _columns(path) == _columns(fresh)


def _columns(path: Path) -> set[tuple[object, ...]]:
    query = (
        'SELECT t.name, c.name, c.type, c."notnull", c.pk FROM sqlite_master AS t, pragma_table_info(t.name) AS c '
        "WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'"
    )
    with closing(sqlite3.connect(path)) as db:
        return set(db.execute(query)) | set(db.execute("SELECT name FROM sqlite_master WHERE type = 'index'"))


def test_a_released_migration_is_never_edited() -> None:
    found = {
        f"{path.parent.name}/{path.name}": hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        for path in MIGRATIONS.glob("*/*.sql")
    }
    assert {name: found.get(name) for name in RELEASED} == RELEASED
    assert found.keys() - RELEASED.keys() == set(), "a new migration: add its name and hash to RELEASED"


def test_a_store_that_lacks_a_column_is_refused_before_an_agent_runs(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = made(project / ".knowbound", EARLIER / "knowbound_3.sql")
    Database(path).close()
    with closing(sqlite3.connect(path)) as db:
        db.execute("ALTER TABLE evaluation DROP COLUMN journal")
    before = path.read_bytes()
    for verb in ("eval", "probe"):
        with pytest.raises(SystemExit) as ended:
            main([verb, "--executor", f"command:{shutil.which('touch')} {project / 'ran'}"])
        assert ended.value.code == 2
        assert "evaluation.journal missing" in capsys.readouterr().err
        assert not (project / "ran").exists()
    assert path.read_bytes() == before


def test_a_store_that_cannot_be_written_is_refused_before_an_agent_runs(tmp_path: Path) -> None:
    with closing(Evaluations(tmp_path)) as store:
        pages = store._db.row("PRAGMA page_count")[0]
        store._db.rows(f"PRAGMA max_page_count = {pages}")
        store.check()  # a full database can still be changed in place
        store._db.rows("PRAGMA query_only = ON")
        with pytest.raises(StoreError) as raised:
            store.check()
        assert raised.value.slug == "store-unwritable"
