"""`forget` where turns are measured in MongoDB, which others write to as well: a real mongod, and what it has left."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pymongo
import pytest

from knowbound.agent.forget import Selection, forget
from knowbound.cli.main import main
from knowbound.config import Settings
from knowbound.core.quality import DayRollup, Discovery, QualityTurn, SuggestionAnswer, SuggestionDecision
from knowbound.errors import StoreError
from knowbound.kms.backends import protocol
from knowbound.kms.opening import open_shared_log
from knowbound.kms.team_log import MongoQualityLog
from knowbound.store.database import Database
from tests.conftest import write_user_config
from tests.services import emptied, free_ports

OURS, OURS_OLD, THEIRS = (f"{name}-0000-4000-8000-000000000001" for name in ("ours", "old", "theirs"))


def turn(session: str, number: int, day: str) -> QualityTurn:
    said = f"{session} asked this {number}"
    return QualityTurn(session, f"{number}", f"{day}T10:00:00Z", user_prompt=said, trace=f"/traces/{session}.jsonl")


@pytest.fixture
def settings(tmp_path: Path, mongo_url: str) -> Settings:
    """A project whose measured turns are in MongoDB, beside those of somebody else."""
    url = emptied(mongo_url)
    home = tmp_path / ".knowbound"
    Database(home / "items.db").close()
    settings = Settings(root=tmp_path, home=home, kms_backends=("sqlite", "mongo"), kms_mongo_url=url)
    own = open_shared_log(settings)
    assert own is not None
    with closing(own), closing(MongoQualityLog(url, "somebody else")) as others:
        for number in range(2):
            own.put(turn(OURS, number, "2026-11-10"))
            own.put(turn(OURS_OLD, number, "2026-09-01"))
            others.put(turn(THEIRS, number, "2026-09-01"))
        others.put_discoveries(  # whoever adds up the days
            [
                Discovery("k-ours", "2026-11-10T10:00:00Z", OURS, "0", "ours stated this"),
                Discovery("k-old", "2026-09-01T10:00:00Z", OURS_OLD, "0", "old stated this"),
                Discovery("k-theirs", "2026-09-01T10:00:00Z", THEIRS, "0", "theirs stated this"),
            ]
        )
        own.put_rollups([DayRollup("2026-11-10", turns=2)])
    return settings


@pytest.fixture
def log(settings: Settings) -> Iterator[MongoQualityLog]:
    """As a reader has it."""
    log = MongoQualityLog(settings.kms_mongo_url)
    yield log
    log.close()


def left(log: MongoQualityLog) -> tuple[set[str], set[str]]:
    """Sessions that turns, and that records name."""
    return {one.session_id for one in log.since("")}, {one.session_id for one in log.discoveries()} - {""}


def stored(settings: Settings) -> str:
    """All that the database holds, as text."""
    with pymongo.MongoClient[dict[str, Any]](settings.kms_mongo_url) as client:
        database = client.get_default_database()
        return repr([list(database[name].find()) for name in database.list_collection_names()])


@pytest.mark.parametrize(
    ("selection", "stay"),
    [
        (Selection(sessions=(OURS,)), {OURS_OLD, THEIRS}),
        (Selection(sessions=(THEIRS,)), {OURS, OURS_OLD}),
        (Selection(before="2026-10-01T00:00:00"), {OURS, THEIRS}),
        (Selection(everything=True), {THEIRS}),
        (Selection(project="this"), {THEIRS}),
        (Selection(project="/elsewhere"), {OURS, OURS_OLD, THEIRS}),
    ],
)
def test_what_is_selected_is_gone_and_what_others_wrote_stays(
    settings: Settings, log: MongoQualityLog, selection: Selection, stay: set[str]
) -> None:
    if selection.project == "this":
        selection = Selection(project=str(settings.root))
    done = forget(selection, settings)
    assert left(log) == (stay, stay)
    text = stored(settings)
    for session in {OURS, OURS_OLD, THEIRS} - stay:
        assert session not in text
        assert f"{session.partition('-')[0]} stated this" not in text
    assert {record.item for record in log.discoveries()} == {"k-ours", "k-old", "k-theirs"}
    assert log.rollups() == [DayRollup("2026-11-10", turns=2)]
    gone = 3 - len(stay)
    assert done.erased.get("MongoDB: kms_quality_log", 0) == 2 * gone
    assert done.erased.get("MongoDB: words in kms_quality_discovery", 0) == gone
    assert done.proof is not None
    assert done.proof.left == []
    assert done.proof.documents == 2 * len(stay) + 3 + 1
    assert any("oplog" in words for words in done.not_touched)


def test_what_the_server_still_has_is_named(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        MongoQualityLog, "erase", lambda self, is_gone, preview: _erase(self, is_gone, preview=True)
    )  # as if the server had not done it
    done = forget(Selection(sessions=(OURS,)), settings)
    assert done.proof is not None
    assert [one.file.rpartition(": ")[2] for one in done.proof.left] == ["kms_quality_discovery", "kms_quality_log"]
    assert all(one.file.startswith("MongoDB at mongodb://127.0.0.1:") for one in done.proof.left)


_erase = MongoQualityLog.erase


def test_what_a_forgotten_session_said_is_in_no_answer(settings: Settings, log: MongoQualityLog) -> None:
    record = Discovery("k1", "2026-11-10", OURS, "1", "it is 9090")
    log.put_discoveries([record])
    log.put_answer(
        SuggestionAnswer(
            record.id, "k1", SuggestionDecision.ACCEPTED, "2026-11-10", "ada", note="as it said", content="9090"
        )
    )
    forget(Selection(sessions=(OURS,)), settings)
    assert log.answers() == [SuggestionAnswer(record.id, "k1", SuggestionDecision.ACCEPTED, "2026-11-10", "ada")]


def test_the_same_words_of_somebody_else_are_no_occurrence(settings: Settings, log: MongoQualityLog) -> None:
    same = "Please continue with the migration of the ledger."
    for session in (OURS, THEIRS):
        log.put(QualityTurn(session, "same", "2026-11-10T10:00:00Z", user_prompt=same))
    done = forget(Selection(sessions=(OURS,)), settings)
    assert done.proof is not None
    assert done.proof.left == []
    assert "migration of the ledger" in stored(settings)


def test_a_call_that_was_killed_is_finished_by_the_next(
    settings: Settings, log: MongoQualityLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    class KilledError(Exception):
        pass

    def killed(*_: object, **__: object) -> None:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(MongoQualityLog, "_blank", killed)
        with pytest.raises(KilledError):
            forget(Selection(sessions=(OURS,)), settings)
    assert OURS in left(log)[1]
    forget(Selection(sessions=("never-seen-4000-8000-000000000001",)), settings)
    assert left(log) == ({OURS_OLD, THEIRS}, {OURS_OLD, THEIRS})


def test_the_verb_shows_first_and_erases_then(
    settings: Settings, log: MongoQualityLog, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_user_config(f'[kms]\nbackends = ["sqlite", "mongo"]\nmongo_url = "{settings.kms_mongo_url}"\n')
    monkeypatch.chdir(settings.root)

    def run(*words: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(["forget", *words])
        assert ended.value.code == 0
        return capsys.readouterr().out

    before = stored(settings)
    shown = json.loads(run("--session", OURS, "--dry-run", "--format", "json"))
    assert stored(settings) == before
    said = run("--session", OURS, "--yes")
    assert shown["erased"]["MongoDB: kms_quality_log"] == 2
    assert "      2  MongoDB: kms_quality_log\n" in said
    assert " files and 8 documents of MongoDB, " in said
    assert "erased texts: 0 occurrences." in said


def test_where_mongodb_does_not_answer_nothing_is_erased(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "CONNECT_SECONDS", 0.2)
    [port] = free_ports(1)
    down = Settings(
        root=settings.root,
        home=settings.home,
        kms_backends=("mongo",),
        kms_mongo_url=f"mongodb://ada:s3cr3t@127.0.0.1:{port}/kms",
    )
    with pytest.raises(StoreError) as refused:
        forget(Selection(sessions=(OURS,)), down)
    assert refused.value.slug == "backend-unreachable"
    assert "s3cr3t" not in str(refused.value)
    assert not (settings.home / "forgotten.json").exists()
