"""The background sync, with a real MongoDB, two data folders, and the hook as an agent runs it."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from knowbound.agent import background
from knowbound.agent.background import SYNC, settings_for
from knowbound.agent.doctor.examine import examine
from knowbound.agent.worker import SyncWorker
from knowbound.config import load
from knowbound.kms import opening
from knowbound.kms.changes import write_lock
from knowbound.kms.index.freshness import freshness_of, note_current, note_failure
from knowbound.kms.knowledge_store import KnowledgeStore
from knowbound.kms.validation import ItemEdit, NewItem
from tests.conftest import write_user_config
from tests.hook_project import HOOK, PORT, Project
from tests.services import Mongod, emptied, free_ports, until
from tests.stores import items_of

pytestmark = pytest.mark.xdist_group("databases")
NEW = "The orders service listens on port 9090 behind the internal gateway."


class Machine(Project):
    """A project of its own on the team's MongoDB; the user's config names it."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        root.mkdir()
        self.environ |= {"HOME": os.environ["HOME"]}
        self.sessions = 0

    def base(self) -> KnowledgeStore:
        return opening.open_knowledge_store(load(self.root, {}), by=self.root.name)

    def asked(self) -> str:
        """What a new session gets for the prompt."""
        self.sessions += 1
        return self.ask(session=f"{self.root.name}-{self.sessions}")

    def log(self) -> list[dict[str, Any]]:
        path = self.home / SYNC.log
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def events(self) -> list[str]:
        return [line["event"] for line in self.log()]

    def has_worker(self) -> bool:
        with (self.home / SYNC.lock).open("rb") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return True
            return False

    def kill_worker(self) -> None:
        """None is left, also where one is just being started."""

        def is_gone() -> bool:
            if not (self.home / SYNC.lock).exists() or not self.has_worker():
                return True
            for line in self.log():
                if line["event"] == "started":
                    with suppress(ProcessLookupError):
                        os.kill(line["pid"], signal.SIGKILL)
            return False

        until(is_gone)
        for pid in background._started:
            with suppress(ChildProcessError):
                os.waitpid(pid, 0)
        background._started.clear()


@pytest.fixture(params=["single", "replica set"])
def url(request: pytest.FixtureRequest) -> str:
    if request.param == "single":
        return emptied(request.getfixturevalue("mongo_url"))
    return emptied(request.getfixturevalue("one_member_set").url)


def configure(url: str, seconds: int = 1) -> None:
    write_user_config(f'[kms]\nbackends = ["mongo"]\nmongo_url = "{url}"\nsync_seconds = {seconds}\n')


@pytest.fixture
def machines(tmp_path: Path) -> Iterator[list[Machine]]:
    made = [Machine(tmp_path / name) for name in ("ada", "bo")]
    yield made
    for machine in made:
        machine.kill_worker()


@pytest.fixture
def single(mongo_url: str, machines: list[Machine]) -> Machine:
    """One machine on the single server, with an item."""
    configure(emptied(mongo_url))
    machines[0].store(PORT)
    return machines[0]


def test_a_correction_on_one_machine_reaches_the_hook_of_another(url: str, machines: list[Machine]) -> None:
    configure(url)
    ada, bo = machines
    [id_] = ada.store(PORT)
    bo.base().close()
    assert PORT in bo.asked()  # starts the sync
    with closing(ada.base()) as base:
        new = base.supersede(id_, by=ItemEdit(content=NEW))
        until(lambda: NEW in bo.asked())
        assert PORT not in bo.asked()
        base.delete(new.id)
        until(lambda: NEW not in bo.asked())
    assert bo.events().count("started") == 1
    assert bo.has_worker()


def test_only_hooks_of_projects_with_a_shared_backend_start_it(mongo_url: str, machines: list[Machine]) -> None:
    write_user_config("")
    machines[0].store(PORT)
    assert PORT in machines[0].asked()
    configure(emptied(mongo_url), seconds=0)
    machines[1].store(PORT)
    assert PORT in machines[1].asked()
    assert not (machines[0].home / SYNC.lock).exists()
    assert not (machines[1].home / SYNC.lock).exists()


def test_many_starts_at_once_start_one(single: Machine) -> None:
    code = "import sys; from knowbound.agent.background import SYNC; print(SYNC.ensure_running(*sys.argv[1:]))"
    command = [sys.executable, "-c", code, str(single.root), str(single.home)]
    started = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(12)]
    assert [process.communicate()[0].strip() for process in started].count("True") == 1
    until(lambda: "started" in single.events())
    assert single.events().count("started") == 1
    assert not SYNC.ensure_running(str(single.root), str(single.home))


def test_a_killed_worker_is_started_again(single: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert SYNC.ensure_running(str(single.root), str(single.home))
    until(lambda: "started" in single.events())
    single.kill_worker()
    # One that ends at once is not started on every prompt.
    assert not SYNC.ensure_running(str(single.root), str(single.home))
    monkeypatch.setattr(SYNC, "restart_seconds", 0)
    assert SYNC.ensure_running(str(single.root), str(single.home))
    until(lambda: single.events().count("started") == 2)


def test_a_data_folder_that_is_deleted_ends_it_and_stays_deleted(single: Machine) -> None:
    assert SYNC.ensure_running(str(single.root), str(single.home))
    until(lambda: "synchronised" in single.events())
    pid = single.log()[0]["pid"]
    shutil.rmtree(single.home)
    until(lambda: not Path(f"/proc/{pid}").exists() or _is_over(pid))
    assert not single.home.exists()


def _is_over(pid: int) -> bool:
    """Ended, and not yet waited for by whoever it was left to."""
    with suppress(FileNotFoundError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    return True


def test_nothing_is_imported_from_the_project(single: Machine) -> None:
    canary = single.root / "canary"
    for name in ("pymongo.py", "sitecustomize.py", "knowbound.py", "json.py"):
        (single.root / name).write_text(f"open({str(canary)!r}, 'w').close()\n")
    code = "import sys; from knowbound.agent.background import SYNC; SYNC.ensure_running(*sys.argv[1:])"
    subprocess.run([sys.executable, "-P", "-c", code, str(single.root), str(single.home)], cwd=single.root, check=True)
    until(lambda: freshness_of(single.home, "mongo").current is not None and "started" in single.events())
    assert not canary.exists()


def worker(machine: Machine) -> tuple[SyncWorker, int]:
    lock = os.open(machine.home / SYNC.lock, os.O_RDWR | os.O_CREAT, 0o600)
    return SyncWorker(settings_for(machine.root, machine.home), lock), lock


def test_it_ends_when_no_agent_has_worked_for_a_while(single: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("knowbound.agent.worker.IDLE_SECONDS", 60.0)
    made, lock = worker(single)
    os.utime(lock, (0, 0))
    assert made.run() == "no agent has worked for 1 minutes"


def test_it_ends_when_the_settings_change(single: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("knowbound.agent.worker._SETTINGS_SECONDS", 0.0)
    made, _ = worker(single)
    assert not made._reason_to_end()
    configure("mongodb://127.0.0.1:1/elsewhere")
    assert made.run() == "the settings have changed"


def test_a_writer_of_this_machine_is_not_waited_for(single: Machine) -> None:
    with closing(single.base()) as base:
        made, _ = worker(single)
        made._synchronise("mongo")
        [item] = items_of(base.backends["mongo"])
        base.supersede(item.id, by=ItemEdit(content=NEW))
        before = freshness_of(single.home, "mongo")
        with write_lock(single.home):
            made._synchronise("mongo")  # returns, and looks again soon
        assert freshness_of(single.home, "mongo") == before
        made._synchronise("mongo")
        assert freshness_of(single.home, "mongo") > before
        made._close()


def test_looking_when_nothing_changed_writes_nothing_to_the_index(single: Machine) -> None:
    made, _ = worker(single)
    made._synchronise("mongo")
    index = made._current_index()
    before = index._db.row("PRAGMA data_version"), index._db._connection.total_changes, single.log()
    for _ in range(3):
        made._synchronise("mongo")
    assert (index._db.row("PRAGMA data_version"), index._db._connection.total_changes, single.log()) == before
    made._close()


def test_an_index_that_a_repair_replaced_is_opened_again(single: Machine) -> None:
    made, _ = worker(single)
    made._synchronise("mongo")
    first = made._current_index()
    for path in single.home.glob("index.db*"):
        path.unlink()
    made._synchronise("mongo")
    assert made._current_index() is not first
    assert made._current_index().counts() == {"mongo": (1, 1)}
    made._close()


# What is shown


def freshness(machine: Machine) -> tuple[str, str]:
    [check] = [one for one in examine(load(machine.root, {}), {}) if one.name == "sync of mongo"]
    return check.state, check.found


def test_a_backend_that_does_not_answer_is_a_problem_with_its_reason_and_its_beginning(
    single: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, _ = worker(single)
    made._synchronise("mongo")
    assert freshness(single)[0] == "ok"
    current = freshness_of(single.home, "mongo").current
    configure(f"mongodb://ada:s3cr3t@127.0.0.1:{free_ports(1)[0]}/kms")
    monkeypatch.setattr("knowbound.kms.backends.protocol.CONNECT_SECONDS", 0.2)
    made, _ = worker(single)
    made._synchronise("mongo")
    first = made._retry_pauses["mongo"]
    made._synchronise("mongo")
    assert made._retry_pauses["mongo"] > first  # asked less and less often
    found = freshness_of(single.home, "mongo")
    assert found.current == current
    state, words = freshness(single)
    assert state == "problem"
    assert "failing since" in words
    assert found.current_at in words
    assert "s3cr3t" not in words
    assert single.events() == ["synchronised", "failed"]  # once, however often
    assert PORT in single.asked()


def test_an_old_index_is_a_problem_only_while_agents_work(single: Machine) -> None:
    note_current(single.home, "mongo", 1_000_000_000)
    state, words = freshness(single)
    assert state == "note"
    assert "2001-09-09T01:46:40Z" in words
    log = single.home / "hook.log"
    log.write_text(json.dumps({"time": "2001-01-01T00:00:00Z", "outcome": "told"}) + "\n")
    assert freshness(single)[0] == "note"


def test_what_failed_once_and_works_again_is_no_longer_failing(tmp_path: Path) -> None:
    note_current(tmp_path, "mongo", 1_000_000_000)
    note_failure(tmp_path, "mongo", "first")
    first = freshness_of(tmp_path, "mongo")
    note_failure(tmp_path, "mongo", "second")
    second = freshness_of(tmp_path, "mongo")
    assert (first.current, first.reason, second.reason) == (1_000_000_000, "first", "second")
    assert first.failing_since == second.failing_since
    note_current(tmp_path, "mongo", 1_000_000_100)
    assert freshness_of(tmp_path, "mongo") == ("mongo", 1_000_000_100, "", "")


@pytest.mark.long
def test_a_database_that_comes_back_is_read_again(mongod: Mongod, single: Machine, machines: list[Machine]) -> None:
    bo = machines[1]
    bo.base().close()
    assert PORT in bo.asked()
    until(lambda: freshness_of(bo.home, "mongo").current is not None and "started" in bo.events())
    mongod.process.kill()
    try:
        until(lambda: "failed" in bo.events())
        assert PORT in bo.asked()
    finally:
        mongod.revive()
    with closing(single.base()) as base:
        base.add(NewItem(content="Refunds are retried."))
    until(lambda: "reached again" in bo.events())
    until(lambda: "Refunds" in bo.ask("Are refunds retried?", session=f"r{os.urandom(4).hex()}"))


def test_the_settings_know_which_backends_are_shared(tmp_path: Path) -> None:
    from knowbound.kms.backends import mem0, mongo, neo4j, sqlite

    classes = (mem0.Mem0Backend, mongo.MongoBackend, neo4j.Neo4jBackend, sqlite.SqliteBackend)
    write_user_config('[kms]\nbackends = ["sqlite", "mongo", "mem0", "neo4j"]\n')
    assert set(load(tmp_path, {}).shared_backends) == {one.name for one in classes if one.is_shared}


def test_a_search_with_an_old_index_says_so(single: Machine) -> None:
    def search(*options: str) -> subprocess.CompletedProcess[str]:
        command = [str(HOOK.with_name("knowbound")), "kms", "search", "orders", "--root", str(single.root), *options]
        return subprocess.run(command, capture_output=True, text=True, check=True, env=single.environ)

    note_current(single.home, "mongo", 1_000_000_000)
    note_failure(single.home, "mongo", "it is down")
    text = search()
    assert PORT in text.stdout
    assert "last current with mongo at 2001-09-09T01:46:40Z: it is down" in text.stderr
    until(lambda: not freshness_of(single.home, "mongo").reason)  # it has the index brought up to date
    assert "late" not in json.loads(search("--format", "json").stdout)
