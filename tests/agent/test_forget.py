"""`forget` as a user runs it: real verbs and hooks plant words in every store, and then all bytes are searched."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from knowbound.agent.forget import search_for
from knowbound.agent.mcp.caller import record_pull
from knowbound.config import load
from knowbound.core.audit import ClaimKind, Support
from knowbound.core.quality import (
    DayRollup,
    Discovery,
    ItemVerdict,
    LoggedCall,
    LoggedItem,
    QualityTurn,
    SuggestionAnswer,
    SuggestionDecision,
)
from knowbound.injection.prompt import HookPrompt
from knowbound.injection.session_start import ShownSuggestion, keep_suggestions
from knowbound.judge.labels import CLAIM_LABELS, ClaimLabel, append_label
from knowbound.kms.backends import mongo
from knowbound.kms.index.ranking import FoundItem
from knowbound.kms.opening import open_knowledge_store
from knowbound.kms.quality_log import DISCOVERY, LOG, NOTE, ROLLUP, SqliteQualityLog
from knowbound.kms.team_results import RESULT, SESSION, TURN
from knowbound.quality.ended import EndedTurn
from knowbound.store.observed import FileRow, Observed, UnmanagedInjection, UnmanagedItem
from tests import warm_process
from tests.hook_project import PORT, PROMPT, Project
from tests.transcripts import Transcript

KNOWBOUND = Path(sys.executable).with_name("knowbound")
OLD = "2026-09-01"  # when the sessions of alpha were


class Planted:
    """The words of one session, each in one place, and none of them anywhere else."""

    def __init__(self, name: str, day: str) -> None:
        self.name, self.day = name, day
        self.id = f"{name}-0000-4000-8000-000000000001"
        self.folder = f"/work/{name}-folder-of-the-team"

    def word(self, place: str) -> str:
        return f"{self.name}said{place}xylophone"

    def words(self) -> set[str]:
        places = "prompt others query hedge answer hooked waiting pulled label turn claim note sample printed".split()
        places += "ended asked responded called corrected stated answered accepted suggested".split()
        return {self.id, *(self.word(place) for place in places)}


ALPHA, BETA = Planted("alpha", OLD), Planted("betaa", "2026-11-10")


class Shop(Project):
    """A project in which everything was used in two sessions."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.environ |= {"TMPDIR": str(root / "temporary"), "XDG_STATE_HOME": str(root / "state")}

    def knowbound(self, *words: str, said: str = "") -> subprocess.CompletedProcess[str]:
        return warm_process.knowbound(*words, cwd=self.root, env=self.environ, said=said)

    def must(self, *words: str, said: str = "") -> str:
        done = self.knowbound(*words, said=said)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def forget(self, *words: str) -> dict[str, Any]:
        document: dict[str, Any] = json.loads(self.must("forget", *words, "--yes", "--format", "json"))
        return document

    def plant(self, *sessions: Planted) -> None:
        (self.root / "temporary").mkdir(exist_ok=True)
        for one in sessions:
            self.transcript(one)
        self.must("observe")
        self.must("kms", "add", PORT)
        self.must("kms", "add", "The harbour uses version 7 of the ledger.")
        for one in sessions:
            assert self.ask(f"{PROMPT} {one.word('hooked')}", one.id)
        self.must("kms", "sync")
        for one in sessions:
            assert self.ask(f"{PROMPT} {one.word('waiting')}", f"{one.id}", agent_id="helper")
            [item] = json.loads(self.must("kms", "search", "ledger", "--limit", "1", "--format", "json"))["results"]
            with closing(open_knowledge_store(load(self.root, self.environ), session=one.id)) as store:
                store.flag(item["id"], "UNVERIFIED", one.word("note"))
            meta = {"x-codex-turn-metadata": {"session_id": one.id}}
            pulled = [FoundItem(item["id"], "sqlite", "sha")]
            record_pull(str(self.home), meta, "unified_search", one.word("pulled"), pulled, is_shown=True)
        self.must("judge", "label", said="y\n" * 20)
        self.measure(*sessions)
        self.label(*sessions)
        self.evaluate(*sessions)

    def transcript(self, one: Planted) -> None:
        session = Transcript(one.id, one.folder)
        context = {"type": "hook_additional_context", "hookEvent": "UserPromptSubmit", "content": [one.word("others")]}
        session.line("attachment", attachment=context)
        session.user(f"Look for {one.word('prompt')} please.").grep(one.word("query"))
        session.says(f"I'm not sure which service owns the {one.word('hedge')} table.").says(one.word("answer"))
        session.lines = [line.replace("2026-10-01T", f"{one.day}T") for line in session.lines]
        session.write(self.root / ".claude" / "projects" / one.name)

    def measure(self, *sessions: Planted) -> None:
        """Turns that have ended and wait for a judge, and turns that were judged."""
        with closing(SqliteQualityLog(self.home)) as log:
            for one in sessions:
                payload = {"session_id": one.id, "last_assistant_message": one.word("ended")}
                queued = EndedTurn("stop", HookPrompt(payload), payload)
                queued.begin(str(self.home))
                queued.end(str(self.home), 1.0)
                log.put(measured(one))
                record = Discovery(f"k-{one.name}", f"{one.day}T10:00:00Z", one.id, "1", one.word("stated"))
                log.put_discoveries([record])
                answer = SuggestionAnswer(
                    record.id, record.item, SuggestionDecision.NONE, record.raised, note=one.word("answered")
                )
                log.put_answer(replace(answer, content=one.word("accepted")))
        with mock.patch.dict(os.environ, self.environ):  # with the user's key
            shown = [
                ShownSuggestion(f"k-{one.name}", "", "", one.word("suggested"), one.day, one.id) for one in sessions
            ]
            keep_suggestions(str(self.home), shown)

    def label(self, *sessions: Planted) -> None:
        rows = [{"text": f"I doubt that {one.word('label')} is right.", "session": one.id} for one in sessions]
        (self.root / "given.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        self.must("judge", "label", "--input", "given.jsonl", said="y\n" * len(rows))
        turns = [
            {
                "id": f"{one.id}/1",
                "session": one.id,
                "prompt": one.word("turn"),
                "response": f"It is {one.word('turn')}.",
            }
            | {"items": [{"id": "i1", "content": one.word("turn")}]}
            | {"tool_calls": [{"name": "Read", "input": {"file_path": one.word("turn")}, "output": one.word("turn")}]}
            for one in sessions
        ]
        (self.root / "given.jsonl").write_text("".join(json.dumps(row) + "\n" for row in turns))
        self.must("judge", "label", "--question", "turns", "--input", "given.jsonl", said="yyn\n" * len(turns))
        (self.root / "given.jsonl").unlink()
        for one in sessions:
            claim = ClaimLabel(one.id, 1, f"It is {one.word('claim')}.", ClaimKind.OTHER, Support.UNSEEN)
            append_label(self.home / CLAIM_LABELS, claim)

    def evaluate(self, *sessions: Planted) -> None:
        agent = self.root / "agent.py"
        agent.write_text("import sys\nprint('I found nothing about', sys.argv[1])\n")
        samples = [
            {"sample_id": f"s{number}", "prompt": f"Where is {one.word('sample')} {one.word('printed')}?"}
            | {"session": one.id}
            for number, one in enumerate(sessions)
        ]
        (self.root / "eval-samples.json").write_text(json.dumps(samples))
        executor = f"command:{shlex.quote(sys.executable)} {agent} {{prompt}}"
        self.must("eval", "--executor", executor)
        agent.unlink()
        (self.root / "eval-samples.json").unlink()

    def run_folders(self) -> list[str]:
        return sorted(path.name for path in (self.home / "evals").iterdir() if path.name.isdecimal())

    def kept(self) -> dict[Path, bytes]:
        """Every file that knowbound keeps, with its name."""
        places = [self.home, self.root / "state", self.root / "temporary"]
        files = [path for place in places for path in place.rglob("*") if path.is_file()]
        return {path: str(path).encode() + path.read_bytes() for path in files}

    def found(self, one: Planted) -> dict[str, set[str]]:
        """The words of a session that some file still has."""
        kept = self.kept()
        found = {word: {path.name for path, data in kept.items() if word.encode() in data} for word in one.words()}
        return {word: names for word, names in found.items() if names}


def measured(one: Planted, turn: str = "1") -> QualityTurn:
    """A judged turn of a session, with its words."""
    verdict = ItemVerdict("k1", True, False, True, one.word("corrected"))
    return QualityTurn(
        one.id,
        turn,
        f"{one.day}T10:00:00Z",
        user_prompt=one.word("asked"),
        assistant_response=one.word("responded"),
        injected_items=(LoggedItem("k1", "sqlite", PORT, len(PORT), verdict=verdict),),
        tool_calls=(LoggedCall("Bash", "ok", one.word("called")),),
    )


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project as it was planted once."""
    root = tmp_path_factory.mktemp("forget") / "shop"
    (root / ".knowbound").mkdir(parents=True)
    made = Shop(root)
    made.plant(ALPHA, BETA)
    assert set(made.found(ALPHA)) == ALPHA.words()
    assert set(made.found(BETA)) == BETA.words()
    return shutil.copytree(root, root.with_name("planted"))


@pytest.fixture
def shop(planted: Path) -> Shop:
    """The project as it was planted, in the same place for every test: stored paths stay true."""
    root = planted.with_name("shop")
    shutil.rmtree(root)
    shutil.copytree(planted, root)
    return Shop(root)


def test_a_session_is_gone_from_every_byte_and_the_other_stays(shop: Shop) -> None:
    before = shop.found(BETA)
    done = shop.forget("--session", ALPHA.id)
    assert shop.found(ALPHA) == {}
    assert set(shop.found(BETA)) == set(before)
    assert done["sessions"] == 1
    assert done["proof"]["left"] == []
    assert done["proof"]["texts"] > 8
    assert done["proof"]["files"] == len(shop.kept())


def test_a_project_is_gone_by_the_folder_of_its_sessions(shop: Shop) -> None:
    done = shop.forget("--project", ALPHA.folder)
    assert shop.found(ALPHA) == {}
    assert set(shop.found(BETA)) == BETA.words()
    assert done["proof"]["left"] == []


def test_this_project_takes_along_what_its_data_folder_records(shop: Shop) -> None:
    """Sessions of other projects that `observe` read stay; injections, labels and evaluations here are all its own."""
    shop.must("forget", "--project", "--yes")
    assert set(shop.found(ALPHA)) == {
        ALPHA.id,
        *(ALPHA.word(place) for place in ("prompt", "others", "query", "hedge", "answer")),
    }
    assert shop.run_folders() == []
    assert not list((shop.home / "contexts").iterdir())
    assert shop.records() == []


def test_what_was_before_a_date_is_gone(shop: Shop) -> None:
    done = shop.forget("--before", "2026-10-01")
    assert shop.found(ALPHA) == {}
    assert set(shop.found(BETA)) == BETA.words()
    assert done["proof"]["left"] == []


def test_everything_is_gone_but_the_knowledge(shop: Shop) -> None:
    done = shop.forget("--everything")
    assert shop.found(ALPHA) == {}
    assert set(shop.found(BETA)) == {BETA.word("note")}  # a note on an item is a part of the item
    assert done["proof"]["left"] == []
    assert any("items of the knowledge store" in one for one in done["not_touched"])
    assert "ledger" in shop.must("kms", "search", "ledger")


def test_a_dry_run_shows_the_counts_of_the_erasing_and_changes_nothing(shop: Shop) -> None:
    before = {path: data for path, data in shop.kept().items() if not path.name.endswith(("-shm", "-wal"))}
    words = ("forget", "--session", ALPHA.id, "--format", "json")
    shown = json.loads(shop.must(*words, "--dry-run"))
    assert shown["proof"] is None
    assert {path: data for path, data in shop.kept().items() if path in before} == before
    assert set(shop.found(ALPHA)) == ALPHA.words()
    done = json.loads(shop.must(*words, "--yes"))
    assert done["erased"] == shown["erased"]
    files = {"labels.jsonl", "turn-labels.jsonl", "claim-labels.jsonl", "evals/", "injections", "contexts", "ended"}
    assert {"knowbound.db: session", *files} <= set(shown["erased"])
    assert {"items.db: kms_quality_log", "items.db: words in kms_quality_discovery"} <= set(shown["erased"])
    assert {"items.db: words in kms_quality_answer", "suggestions.json"} <= set(shown["erased"])


def test_without_agreement_nothing_is_erased(shop: Shop) -> None:
    done = shop.knowbound("forget", "--everything")
    assert done.returncode == 2
    assert "To agree without being asked: --yes" in done.stderr
    assert "knowbound.db: session" in done.stdout
    assert set(shop.found(ALPHA)) == ALPHA.words()
    assert "Give one of" in shop.knowbound("forget").stderr
    assert "neither a span" in shop.knowbound("forget", "--before", "yesterday").stderr


def test_the_words_say_what_was_searched(shop: Shop) -> None:
    said = shop.must("forget", "--session", ALPHA.id, "--yes")
    size = sum(path.stat().st_size for path in shop.kept())
    assert f"Searched {len(shop.kept()):,} files, {size:,} bytes for " in said
    assert "erased texts: 0 occurrences." in said
    assert "Not touched: the agents' own transcripts" in said


def test_of_measured_turns_the_figures_and_what_is_about_items_stay(shop: Shop) -> None:
    with closing(SqliteQualityLog(shop.home)) as log:
        log.put(measured(BETA, "2"))
        log.put_rollups([DayRollup(OLD, turns=1)])
        records = log.discoveries()
        shop.forget("--session", ALPHA.id)
        assert [turn.id for turn in log.since("")] == [f"{BETA.id}/1", f"{BETA.id}/2"]
        assert log.rollups() == [DayRollup(OLD, turns=1)]
        assert log.discoveries() == [Discovery("k-alpha", f"{OLD}T10:00:00Z", "", ""), records[1]]
        shop.forget("--before", "2026-11-11")  # BETA ended before it as well
        assert list(log.since("")) == []
        assert [record.statement for record in log.discoveries()] == ["", ""]


def test_only_the_turns_before_the_date_go_from_a_session_that_went_on(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.must("kms", "add", PORT)
    later = Planted("alpha", "2026-11-10")
    with closing(SqliteQualityLog(shop.home)) as log:
        log.put(measured(ALPHA, "1"))
        log.put(measured(later, "2"))
        assert shop.forget("--before", "2026-10-01")["erased"] == {"items.db: kms_quality_log": 1}
        assert [turn.turn_id for turn in log.since("")] == ["2"]


def test_a_queue_that_a_hook_goes_on_writing_keeps_its_other_lines(shop: Shop) -> None:
    [queue] = (shop.home / "ended").iterdir()
    lines = queue.read_bytes().splitlines()
    with queue.open("ab") as file:
        file.write(
            b'{"time":"2026-11-16T10:00:00Z","id":"1","session":"' + ALPHA.id.encode() + b'","ans\n'
        )  # cut short
    assert shop.forget("--session", ALPHA.id)["erased"]["ended"] == 3
    left = queue.read_bytes().splitlines()
    assert [line for line in left if line.strip()] == [line for line in lines if BETA.id.encode() in line]
    assert [len(line) for line in left[:4]] == [len(line) for line in lines]  # nothing moved


# What would bring it back


@pytest.mark.parametrize("how", [("--session", ALPHA.id), ("--project", ALPHA.folder), ("--before", "2026-10-01")])
def test_observing_again_does_not_bring_it_back_until_it_is_undone(shop: Shop, how: tuple[str, str]) -> None:
    shop.forget(*how)
    for _ in range(2):
        assert "Files of forgotten sessions that were left out: 1" in shop.must("observe")
        assert shop.found(ALPHA) == {}
    document = json.loads(shop.must("observe", "--format", "json"))
    assert document["totals"]["sessions"] == document["totals"]["files"] == 1
    (shop.home / "forgotten.json").unlink()
    shop.must("observe")
    assert ALPHA.word("prompt") in shop.found(ALPHA)


def test_a_copy_and_a_continuation_of_a_forgotten_session_stay_out(shop: Shop) -> None:
    shop.forget("--session", ALPHA.id)
    [transcript] = (shop.root / ".claude" / "projects" / "alpha").iterdir()
    (transcript.parent / "copy.jsonl").write_bytes(transcript.read_bytes())
    later = Transcript(ALPHA.id, ALPHA.folder).user(f"And {ALPHA.word('answer')}?").says("No.").text()
    transcript.write_text(transcript.read_text() + later)
    assert "left out: 2" in shop.must("observe")
    assert shop.found(ALPHA) == {}


def test_a_new_session_of_a_forgotten_project_stays_out(shop: Shop) -> None:
    shop.forget("--project", "/work")
    new = Planted("gamma", "2026-11-12")
    shop.transcript(new)
    done = shop.knowbound("observe")
    assert done.returncode == 2
    assert "left out: 3" in done.stderr
    assert shop.found(new) == {}


def test_a_project_that_was_reached_through_a_link_is_the_same(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    one = Planted("alpha", OLD)
    one.folder = str(tmp_path / "link" / "sub")
    shop.transcript(one)
    shop.must("observe")
    assert shop.forget("--project", "link")["sessions"] == 1
    assert shop.found(one) == {}
    (shop.home / "knowbound.db").unlink()
    assert "left out: 1" in shop.knowbound("observe").stderr
    assert shop.found(one) == {}


def test_what_is_recorded_of_a_forgotten_session_is_erased_by_the_next_sync(shop: Shop) -> None:
    shop.forget("--session", ALPHA.id)
    (shop.home / "contexts").rename(shop.home / "contexts-before")
    assert shop.ask(f"{PROMPT} {ALPHA.word('hooked')}", ALPHA.id)
    assert shop.ask(f"{PROMPT} {BETA.word('hooked')} again", BETA.id)
    payload = {"session_id": ALPHA.id}
    EndedTurn("stop", HookPrompt(payload), payload).begin(str(shop.home))
    shop.must("kms", "sync")
    assert all(record.session == BETA.id for record in shop.records())
    assert shop.records()[-1].prompt.endswith("again")
    assert not any(name.endswith(".jsonl") for names in shop.found(ALPHA).values() for name in names)
    shop.forget("--session", ALPHA.id)
    assert shop.found(ALPHA) == {}


def test_a_report_that_was_being_made_meanwhile_is_not_kept(shop: Shop) -> None:
    store = Observed(shop.home)
    [key] = [key for key in store.states() if ALPHA.id in key]
    row = store._db.row("SELECT * FROM session WHERE key = ?", key)
    shop.forget("--session", ALPHA.id)
    assert store.keep_sessions([row]) == {key}
    assert store.keep_run("observe", "2026-11-16", "corpus", [key], {"said": ALPHA.word("prompt")}) == 0
    item = UnmanagedItem("u1", "hook:UserPromptSubmit", "", ALPHA.word("prompt"), 9)
    store.keep_unmanaged([UnmanagedInjection(item, f"claude-code:{ALPHA.id}", 1, "2026-11-16")])
    store.keep_files([FileRow(f"/traces/{ALPHA.id}.jsonl", 1, 1, "claude-code", ALPHA.id)])
    store.close()
    assert shop.found(ALPHA) == {}


# Others at work, and a kill


def test_hooks_at_work_lose_nothing_and_nothing_stays(shop: Shop) -> None:
    over = threading.Event()
    asked: list[str] = []

    def work() -> None:
        while not over.is_set():
            session = f"other-{len(asked)}-4000-8000-00000000"
            assert shop.ask(PROMPT, session)
            asked.append(session)

    worker = threading.Thread(target=work)
    worker.start()
    try:
        done = shop.forget("--session", ALPHA.id)
    finally:
        over.set()
        worker.join()
    assert done["proof"]["left"] == []
    assert shop.found(ALPHA) == {}
    assert asked
    assert set(asked) <= {record.session for record in shop.records()}


_KILLED = """
import os, signal, sys
from pathlib import Path
from knowbound.agent import forget
from knowbound.cli.main import main
from knowbound.store.database import Database
place = sys.argv.pop(1)
module, name = place.rsplit(".", 1)
owner = {"forget": forget, "files": forget._FileEraser, "Database": Database}[module]
def killed(*words, **more):
    os.kill(os.getpid(), signal.SIGKILL)
setattr(owner, name, killed)
main(sys.argv[1:])
"""


@pytest.mark.parametrize(
    "place",
    [
        "files.erase_lines",
        "files.erase_contexts",
        "forget.erase_databases",
        "Database.compact",
        "forget.search_for",
    ],
)
def test_a_call_that_was_killed_is_finished_by_the_next(shop: Shop, place: str) -> None:
    words = [sys.executable, "-c", _KILLED, place, "forget", "--session", ALPHA.id, "--yes"]
    dead = subprocess.run(words, cwd=shop.root, env=shop.environ, capture_output=True, check=False)
    assert dead.returncode == -signal.SIGKILL, dead.stderr
    done = shop.forget("--session", ALPHA.id)
    assert shop.found(ALPHA) == {}
    assert done["proof"]["left"] == []
    assert set(shop.found(BETA)) == BETA.words()


def test_another_call_finishes_what_a_killed_one_left(shop: Shop) -> None:
    words = [sys.executable, "-c", _KILLED, "Database.compact", "forget", "--before", "2026-10-01", "--yes"]
    subprocess.run(words, cwd=shop.root, env=shop.environ, capture_output=True, check=False)
    assert shop.found(ALPHA)
    shop.forget("--session", "never-seen-4000-8000-000000000001")
    assert shop.found(ALPHA) == {}


def test_a_running_evaluation_is_named_and_nothing_is_erased(shop: Shop) -> None:
    from filelock import FileLock

    [lock] = (shop.home / "evals").glob("*.lock")
    with FileLock(lock):
        done = shop.knowbound("forget", "--everything", "--yes")
    assert done.returncode == 2
    assert "An evaluation is running" in done.stderr
    assert set(shop.found(ALPHA)) == ALPHA.words()


def test_what_is_left_is_named_and_the_exit_code_is_3(shop: Shop) -> None:
    (shop.home / "knowbound.db.backup").write_bytes((shop.home / "knowbound.db").read_bytes())
    done = shop.knowbound("forget", "--session", ALPHA.id, "--yes")
    assert done.returncode == 3
    assert f"left: {shop.home}/knowbound.db.backup" in done.stdout


def test_what_other_sessions_say_too_is_no_occurrence(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    for one in (ALPHA, BETA):
        session = Transcript(one.id, one.folder).user("Please continue with the migration of the ledger.").says("Yes.")
        session.write(shop.root / ".claude" / "projects" / one.name)
    shop.must("observe")
    done = shop.forget("--session", ALPHA.id)
    assert done["proof"]["left"] == []
    assert "migration of the ledger" in str(shop.kept())
    assert ALPHA.id not in str(shop.kept())


def test_a_session_that_is_not_known_is_left_out_from_then_on(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.transcript(BETA)
    shop.must("observe")
    assert "nothing is kept" in shop.must("forget", "--session", ALPHA.id, "--yes")
    shop.transcript(ALPHA)
    assert "left out: 1" in shop.must("observe")
    assert shop.found(ALPHA) == {}
    assert "There is no data folder" in shop.knowbound("forget", "--everything", "--root", "/").stderr


def test_a_correction_that_was_not_completed_forgets_its_session_and_is_completed(shop: Shop) -> None:
    [item] = json.loads(shop.must("kms", "search", "ledger", "--limit", "1", "--format", "json"))["results"]
    log = {"item": item["id"], "tool": "kms_flag", "time": "2026-11-16T00:00:00Z", "by": "me", "session": ALPHA.id}
    intent = {"changes": [], "log": [log | {"detail": ALPHA.word("note")}], "reaped": [], "restored": []}
    with closing(sqlite3.connect(shop.home / "index.db")) as db, db:
        db.execute("DELETE FROM correction")
        db.execute("INSERT INTO intent (intent) VALUES (?)", (json.dumps(intent),))
    shop.forget("--session", ALPHA.id)
    assert shop.found(ALPHA) == {}
    shop.must("kms", "sync")
    with closing(sqlite3.connect(shop.home / "index.db")) as db:
        assert db.execute("SELECT tool, session, detail FROM correction").fetchall() == [("kms_flag", "", "{}")]


def test_a_data_folder_of_several_projects_keeps_what_is_of_the_others(shop: Shop) -> None:
    """`KNOWBOUND_HOME` has this project and another one: its sessions, its evaluations and their folders go."""
    other = shop.root / "other-project"
    other.mkdir()
    shop.home.rename(shop.root / "shared")
    shop.environ["KNOWBOUND_HOME"] = str(shop.root / "shared")
    shop.home = shop.root / "shared"
    (other / "eval-samples.json").write_text(json.dumps([{"sample_id": "o", "prompt": "Where is othersaidxylophone?"}]))
    shop.must("eval", "--root", str(other), str(other / "eval-samples.json"))
    assert shop.run_folders() == ["1", "2"]
    done = shop.forget("--project", str(other))
    assert done["proof"]["left"] == []
    assert b"othersaidxylophone" not in b"".join(shop.kept().values())
    assert shop.run_folders() == ["1"]
    assert set(shop.found(ALPHA)) == ALPHA.words()
    shop.forget("--project", ALPHA.folder)
    assert shop.found(ALPHA) == {}
    assert set(shop.found(BETA)) == BETA.words()


def test_what_models_said_about_a_session_goes_and_about_others_stays(shop: Shop) -> None:
    judge = shop.root / "judge.py"
    judge.write_text(
        "import json, re, sys\n"
        f"words = { ({one.word('label'): one.word('reason') for one in (ALPHA, BETA)})!r}\n"
        "rows = [json.loads(line) for line in sys.stdin if line.startswith('{\"id\"')]\n"
        "said = {row['id']: [words[word] for word in words if word in row['sentence']] for row in rows}\n"
        "print(json.dumps({'items': [{'id': id_, 'isUncertainty': True, 'confidence': 1, 'reason': ' '.join(some)}\n"
        "                            for id_, some in said.items()]}))\n"
    )
    shop.knowbound("judge", "calibrate", "--judge", f"command:{shlex.join([sys.executable, str(judge)])}")
    for one in (ALPHA, BETA):
        assert one.word("reason").encode() in b"".join(shop.kept().values())
    shop.forget("--session", ALPHA.id)
    assert ALPHA.word("reason").encode() not in b"".join(shop.kept().values())
    assert BETA.word("reason").encode() in b"".join(shop.kept().values())


def test_questions_to_investigate_go_with_their_project_and_by_time(shop: Shop) -> None:
    question = "Where is investigatedxylophone configured?"
    for how in (("--project",), ("--before", "2036-01-01"), ("--everything",)):
        shop.knowbound("investigate", question)
        assert question.encode() in b"".join(shop.kept().values())
        shop.forget("--session", "never-seen-4000-8000-000000000001")
        assert question.encode() in b"".join(shop.kept().values())
        shop.forget(*how)
        assert question.encode() not in b"".join(shop.kept().values())


def test_a_damaged_index_that_was_put_aside_goes_too(shop: Shop) -> None:
    (shop.home / "index.db.damaged").write_bytes((shop.home / "index.db").read_bytes())
    shop.forget("--session", ALPHA.id)
    assert shop.found(ALPHA) == {}


def test_the_list_has_no_names_and_is_for_the_user_alone(shop: Shop) -> None:
    shop.forget("--session", ALPHA.id)
    shop.forget("--project", BETA.folder)
    kept = (shop.home / "forgotten.json").read_bytes()
    assert ALPHA.name.encode() not in kept
    assert BETA.name.encode() not in kept
    assert (shop.home / "forgotten.json").stat().st_mode & 0o777 == 0o600
    (shop.home / "forgotten.json").write_text("{")
    assert "forgotten-unreadable" in shop.knowbound("observe").stderr


# The search


@given(
    before=st.binary(max_size=40),
    text=st.text(st.characters(codec="utf-8"), min_size=15, max_size=200),
    after=st.binary(max_size=40),
    form=st.sampled_from(["raw", "json", "part"]),
)
def test_every_text_is_found_wherever_it_begins(before: bytes, text: str, after: bytes, form: str) -> None:
    data = {"raw": text.encode(), "json": json.dumps(text)[1:-1].encode(), "part": text.encode()[-48:]}[form]
    with TemporaryDirectory() as folder:
        (Path(folder) / "file").write_bytes(before + data + after)
        found = search_for([text], [Path(folder)], [])
        assert [one.file for one in found.left] == [f"{folder}/file"]
        assert (found.files, found.bytes) == (1, len(before + data + after))
        assert search_for([text], [Path(folder)], [data]).left == []


def test_another_session_that_said_the_same_is_not_left_over(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.must("kms", "add", PORT)
    for one in (ALPHA, BETA):
        assert shop.ask(f"{PROMPT} Please look it up once more.", one.id)
    proof = shop.forget("--session", ALPHA.id)["proof"]
    assert proof["left"] == []


def test_names_of_files_are_searched(tmp_path: Path) -> None:
    (tmp_path / ALPHA.id).write_bytes(b"")
    assert [one.file for one in search_for([ALPHA.id], [tmp_path], []).left] == [str(tmp_path / ALPHA.id)]


# The page


def _named(page: str) -> set[str]:
    """The names in the first column of the page's tables."""
    cells = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_every_file_and_table_that_is_written_is_on_the_page(shop: Shop) -> None:
    shop.must("demo")
    shop.knowbound("investigate", "Where is the ledger configured?")
    shop.must("draft", "--reject", "gap-1")
    shop.must("install", "claude-code", "--yes")
    shop.knowbound("doctor")
    shop.forget("--session", "never-seen-4000-8000-000000000001")
    folders = (shop.home, shop.root / "state" / "knowbound")
    written = {path.name + "/" * path.is_dir() for folder in folders for path in folder.iterdir()}
    tables = set()
    for name in ("knowbound.db", "index.db", "items.db"):
        with closing(sqlite3.connect(shop.home / name)) as db:
            tables |= {table for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    tables = {table for table in tables if not table.startswith(("sqlite_", "item_text_"))}
    named = _named((Path(__file__).parents[2] / "docs" / "privacy.md").read_text("utf-8"))
    companions = {name for name in written if name.endswith(("-wal", "-shm"))}
    assert written - companions - named == set()
    assert tables - named == set()
    collections = {LOG, ROLLUP, DISCOVERY, NOTE, mongo.ITEMS, mongo.CLOCK, RESULT, SESSION, TURN}
    assert collections <= named
    assert {name for name in named if name.isidentifier()} <= tables | collections | {
        "owner",
        "key",
        "off",
        "shadow",
        "live",
    }
    assert {path.name for path in (shop.root / "temporary").iterdir()} <= {f"knowbound-{os.getuid()}"}
