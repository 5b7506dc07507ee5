"""What a killed process, a full disk or many sessions at once do: no acknowledged turn is lost or scored twice.

A turn is acknowledged when its hook ended by itself and the hook log says that it was queued. `bench/quality.py` does
the same with hundreds of kills, and with a MongoDB whose primary dies.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner

from knowbound.agent import worker
from knowbound.agent.background import SCORING, settings_for
from knowbound.agent.hook import log as hook_log
from knowbound.agent.hook_entry import MOST_INPUT
from knowbound.cli.kms.quality import quality_command as quality_verb
from knowbound.config import Settings
from knowbound.judge.turns import RulesTurnJudge
from knowbound.kms.quality_log import SqliteQualityLog
from knowbound.quality import queue, scoring
from knowbound.quality.queue import Queue
from knowbound.quality.scoring import Scorer
from tests import warm_process
from tests.hook_project import HOOK
from tests.kills import FILE_CALLS, killed_at_each_step
from tests.quality.scored_project import ANSWER, HOOK_CODE, WORKER, ScoredProject
from tests.services import until

REPOSITORY = Path(__file__).parents[2]
# Dies at its N-th step, in whatever process it is by then, and leaves a note.
DYING_HOOK = (
    "import sys; from tests.kills import die_at; die_at(int(sys.argv.pop(1)), sys.argv.pop(1), "
    f"tuple(sys.argv.pop(1).split())); {HOOK_CODE}"
)


@pytest.fixture
def shop(tmp_path: Path) -> ScoredProject:
    return ScoredProject(tmp_path / "shop")


@pytest.fixture
def _nothing_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queue, "LATE_SECONDS", 0.0)


def ended(project: ScoredProject, *sessions: str) -> list[tuple[str, str]]:
    """Turns of these sessions that hooks have queued, and no worker has seen."""
    with project.without_worker():
        for session in sessions:
            project.prompted(session)
            project.stop(session)
    assert project.outcomes()[-len(sessions) :] == ["queued"] * len(sessions)
    return [(session, "t-1") for session in sessions]


def is_at_work(project: ScoredProject) -> bool:
    lock = SCORING.take_lock(str(project.home))
    if lock is not None:
        os.close(lock)
    return lock is None


# Killed


@pytest.mark.long
def test_a_hook_that_is_killed_at_any_step_has_queued_its_turn_or_has_not_acknowledged_it(
    shop: ScoredProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queue, "LATE_SECONDS", 0.0)
    note, acknowledged, kept = tmp_path / "note", [], []
    paths = [str(REPOSITORY), os.environ.get("PYTHONPATH", "")]
    environ = shop.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths))}
    with shop.without_worker():
        for number in range(1, 100):
            session = f"s-{number}"
            shop.prompted(session)
            note.unlink(missing_ok=True)
            given = [sys.executable, "-c", DYING_HOOK, str(number), str(note), " ".join(FILE_CALLS), "stop"]
            left, held = os.pipe()
            with os.fdopen(left, "rb") as leaving:
                done = subprocess.run(
                    given, input=shop.stopped(session), env=environ, cwd="/", pass_fds=(held,), check=False
                )
                os.close(held)
                leaving.read()  # what goes on without the agent is over, too
            if done.returncode == 0:
                acknowledged.append((session, "t-1"))
            else:
                assert done.returncode == -signal.SIGKILL
            kept.append(any(line["session"] == session for line in shop.queue_lines()))
            if not note.exists():
                break
    assert len(acknowledged) < len(kept)
    assert len(acknowledged) > 3  # the steps behind the agent's back
    assert kept == sorted(kept)  # from one step on it is queued
    assert shop.outcomes().count("failed") == 0
    shop.score()
    assert shop.problems(acknowledged) == []
    assert len(shop.turns()) == sum(kept)


@pytest.mark.long
@pytest.mark.usefixtures("_nothing_is_waited_for")
def test_a_worker_that_is_killed_at_any_step_has_lost_and_doubled_nothing(shop: ScoredProject, tmp_path: Path) -> None:
    acknowledged = ended(shop, "s-1", "s-2")
    original = tmp_path / "original"
    shutil.copytree(shop.home, original)
    seen = set()
    for number in killed_at_each_step(shop.score):
        seen.add((len(shop.turns()), len(shop.days())))
        shop.score()
        assert shop.problems(acknowledged) == [], number
        assert Queue(shop.home).is_empty()
        shutil.rmtree(shop.home)
        shutil.copytree(original, shop.home)
    assert seen >= {(0, 0), (1, 0), (2, 0), (2, 1)}


@pytest.mark.usefixtures("_nothing_is_waited_for")
def test_a_worker_that_is_killed_at_every_step_one_after_the_other_still_gets_on(shop: ScoredProject) -> None:
    """What one left behind is what the next one finds."""
    acknowledged = ended(shop, "s-1", "s-2")
    for _ in killed_at_each_step(shop.score):
        assert {turn.turn_id for turn in shop.turns()} <= {"t-1"}
    assert shop.problems(acknowledged) == []


@pytest.mark.long
@pytest.mark.usefixtures("_nothing_is_waited_for")
def test_a_rollup_that_is_killed_at_any_step_is_made_by_the_next(shop: ScoredProject, tmp_path: Path) -> None:
    acknowledged = ended(shop, "s-1")
    shop.score()
    acknowledged += ended(shop, "s-2")
    original = tmp_path / "original"
    settings = settings_for(shop.root, shop.home)
    with closing(SqliteQualityLog(shop.home)) as log:
        Scorer(shop.home, log, RulesTurnJudge()).run()
    assert shop.problems(acknowledged) != []  # the day is that of the first turn alone
    shutil.copytree(shop.home, original)

    def roll_up() -> None:
        with closing(SqliteQualityLog(shop.home)) as log:
            scoring.rolled_up(settings, log)

    for number in killed_at_each_step(roll_up):
        roll_up()
        assert shop.problems(acknowledged) == [], number
        shutil.rmtree(shop.home)
        shutil.copytree(original, shop.home)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
def test_hooks_and_workers_that_are_killed_at_random_points(shop: ScoredProject, seed: int) -> None:
    chance, acknowledged = random.Random(seed), [("s-whole", "t-1")]
    shop.prompted("s-whole")
    began = time.monotonic()
    subprocess.run([HOOK, "stop"], input=shop.stopped("s-whole"), env=shop.environ, cwd="/", check=True)
    whole_seconds = time.monotonic() - began  # kills come before and after the end of a hook on any machine
    for number in range(30):
        session = f"s-{number}"
        shop.prompted(session)
        hook = subprocess.Popen([HOOK, "stop"], stdin=subprocess.PIPE, env=shop.environ, cwd="/")
        worker = subprocess.Popen([*WORKER, str(shop.root), str(shop.home), SCORING.kind], env=shop.environ)
        assert hook.stdin is not None
        with hook.stdin as stdin:
            stdin.write(shop.stopped(session))
        kills = [(chance.uniform(0, 3 * whole_seconds), hook), (chance.uniform(0, 0.8), worker)]
        began = time.monotonic()
        for at, process in sorted(kills, key=lambda kill: kill[0]):
            time.sleep(max(0.0, began + at - time.monotonic()))  # the point at which it is killed
            process.kill()
        if hook.wait() == 0:
            acknowledged.append((session, "t-1"))
        worker.wait()
    assert 1 < len(acknowledged) < 31
    assert not {"failed", "gave_up"} & set(shop.outcomes())
    until(lambda: not is_at_work(shop))
    assert shop.work() == 0
    assert shop.problems(acknowledged) == []


# At once


def start_at_once(project: ScoredProject, count: int) -> list[tuple[str, str]]:
    """Hooks of as many sessions; those that were acknowledged."""
    sessions = [f"s-{number}" for number in range(count)]
    for session in sessions:
        project.prompted(session)

    def stop(session: str) -> int:
        given = project.stopped(session)
        return subprocess.run([HOOK, "stop"], input=given, env=project.environ, cwd="/", check=False).returncode

    with ThreadPoolExecutor(count) as pool:
        assert set(pool.map(stop, sessions)) == {0}
    return [(session, "t-1") for session in sessions]


@pytest.mark.parametrize("count", [5, pytest.param(200, marks=pytest.mark.long)])
def test_hooks_at_once_start_one_worker_that_scores_all_of_them(shop: ScoredProject, count: int) -> None:
    acknowledged = start_at_once(shop, count)
    assert shop.outcomes() == ["queued"] * count
    until(lambda: not is_at_work(shop) and Queue(shop.home).is_empty())
    assert shop.problems(acknowledged) == []
    runs = [json.loads(line) for line in (shop.home / SCORING.log).read_text().splitlines()]
    assert {run["event"] for run in runs} == {"scored"}
    assert sum(run["turns"] for run in runs) == count


@pytest.mark.usefixtures("_nothing_is_waited_for")
def test_a_second_worker_ends_at_once(shop: ScoredProject) -> None:
    acknowledged = ended(shop, "s-1")
    with shop.without_worker():
        assert shop.work() == 0
    assert shop.turns() == []
    command = [*WORKER, str(shop.root), str(shop.home), SCORING.kind]
    workers = [subprocess.Popen(command, env=shop.environ) for _ in range(2)]
    assert [worker.wait() for worker in workers] == [0, 0]
    assert shop.problems(acknowledged) == []


@pytest.mark.usefixtures("_nothing_is_waited_for")
def test_what_is_queued_while_the_worker_lets_go_of_its_lock_is_not_left_lying(
    shop: ScoredProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its hook found the lock taken and started nobody; so the worker looks once more when it has let go."""
    acknowledged = ended(shop, "s-1")
    written = SCORING.note

    def queue_another(home: str, event: str, **said: str | int) -> None:
        written(home, event, **said)
        if not any(key[0] == "s-2" for key in acknowledged):  # the queue is worked off, and the lock still held
            shop.prompted("s-2")
            shop.stop("s-2")
            acknowledged.append(("s-2", "t-1"))

    monkeypatch.setattr(SCORING, "note", queue_another)
    monkeypatch.setattr(sys, "argv", ["", str(shop.root), str(shop.home), "score"])
    monkeypatch.setattr(worker, "settle_in", lambda _: None)
    worker.main()
    assert len(acknowledged) == 2
    assert shop.problems(acknowledged) == []


@pytest.mark.usefixtures("_nothing_is_waited_for")
def test_what_is_queued_while_the_verb_scores_is_left_to_a_worker(
    shop: ScoredProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    acknowledged = ended(shop, "s-1")
    scored = scoring.score_queue

    def queue_another(settings: Settings, *, again: bool) -> scoring.QueueScored:
        done = scored(settings, again=again)
        shop.prompted("s-2")
        shop.stop("s-2")  # it finds the lock taken
        return done

    monkeypatch.setattr(scoring, "score_queue", queue_another)
    done = CliRunner().invoke(quality_verb, ["score", "--queue", "--root", str(shop.root)])
    assert (done.exit_code, done.output) == (0, "1 turns scored.\n")
    until(lambda: not is_at_work(shop) and Queue(shop.home).is_empty())
    assert shop.problems([*acknowledged, ("s-2", "t-1")]) == []


# A disk that is full or cannot be written


def limited(size: int) -> list[str]:
    """A hook none of whose files can grow beyond this: a write is cut short as on a full disk."""
    code = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size})); {HOOK_CODE}"
    return [sys.executable, "-c", code]


@pytest.mark.usefixtures("_nothing_is_waited_for")
def test_on_a_full_disk_the_hook_reports_that_the_turn_is_not_queued(shop: ScoredProject) -> None:
    acknowledged = ended(shop, "s-0")
    with shop.queue_file().open("ab") as file:
        file.write(b"\n" * (40_000 - shop.queue_file().stat().st_size))
    with shop.without_worker():
        for session in ("s-1", "s-2", "s-3"):
            shop.prompted(session)
        shop.run("stop", shop.stopped("s-1"), limited(40_100))
        assert shop.outcomes()[-1] == "failed"
        assert "only 100 of" in shop.last_run()["reason"]
        shop.run("stop", shop.stopped("s-2"), limited(41_000))  # room for the record, and not for the answer
        assert shop.outcomes()[-1] == "queued"
        shop.stop("s-3")
    acknowledged += [("s-2", "t-1"), ("s-3", "t-1")]
    shop.score()
    assert shop.problems(acknowledged) == []
    assert {turn.session_id for turn in shop.turns()} == {"s-0", "s-2", "s-3"}


@pytest.mark.parametrize("sizes", [(4_096,), pytest.param((1, 4_096, 60_000), marks=pytest.mark.long)])
@pytest.mark.usefixtures("_nothing_is_waited_for")
def test_a_worker_on_a_full_disk_leaves_everything_to_the_next(shop: ScoredProject, sizes: tuple[int, ...]) -> None:
    acknowledged = ended(shop, "s-1", "s-2")
    code = "import resource, sys; from knowbound.agent.worker import main; resource.setrlimit({}); main()"
    for size in sizes:
        assert shop.work(code.format(f"resource.RLIMIT_FSIZE, ({size}, {size})")) == 0
    shop.score()
    assert shop.problems(acknowledged) == []


def test_a_data_folder_that_cannot_be_written_is_reported_elsewhere(
    shop: ScoredProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.prompted("s-1")
    shop.queue_file()
    state = Path(os.environ["XDG_STATE_HOME"])
    command = [str(HOOK)]
    if os.getuid() == 0:  # whom permissions do not stop
        command = [sys.executable, "-c", f"import os\n{REFUSING}\n{HOOK_CODE}"]
    else:
        for path in (shop.home, shop.home / "ended"):
            path.chmod(0o555)
    shop.run("stop", shop.stopped("s-1"), command)
    shop.home.chmod(0o755)
    (shop.home / "ended").chmod(0o755)
    last = json.loads((state / "knowbound" / hook_log.NAME).read_text().splitlines()[-1])
    assert (last["event"], last["outcome"], last["home"]) == ("stop", "failed", str(shop.home))
    assert shop.queue_lines() == []


REFUSING = """
opened = os.open
def refused(path, flags, *more, **options):
    if ".knowbound" in str(path) and flags & (os.O_WRONLY | os.O_RDWR):
        raise PermissionError(13, "Permission denied", path)
    return opened(path, flags, *more, **options)
os.open = refused
"""


# What the client says


@pytest.mark.usefixtures("_nothing_is_waited_for")
@pytest.mark.parametrize(
    ("seconds", "outcome"),
    [(0.3, "queued"), pytest.param(60, "gave_up", marks=pytest.mark.long)],
    ids=["slow", "hangs"],
)
def test_a_slow_disk_costs_no_turn_and_one_that_hangs_does_not_keep_the_agent(
    shop: ScoredProject, seconds: float, outcome: str
) -> None:
    """The limit is over long before the record is written."""
    slow = f"import os, time; synced = os.fsync\nos.fsync = lambda file: (time.sleep({seconds}), synced(file))\n"
    command, given = [sys.executable, "-c", slow + HOOK_CODE, "stop"], shop.stopped("s-1")
    environ = shop.environ | {"KNOWBOUND_INJECTION_TIME_LIMIT_MS": "200"}
    shop.prompted("s-1")
    with shop.without_worker():
        subprocess.run(command, input=given, env=environ, cwd="/", check=True)
    assert shop.outcomes() == [outcome]
    shop.score()
    assert shop.problems([("s-1", "t-1")]) == []  # it was written: what hangs is only the proof


def test_a_hook_to_which_nobody_says_anything_gives_up(shop: ScoredProject) -> None:
    environ = shop.environ | {"KNOWBOUND_INJECTION_TIME_LIMIT_MS": "100"}
    with subprocess.Popen([HOOK, "stop"], stdin=subprocess.PIPE, env=environ, cwd=shop.root) as process:
        assert process.wait() == 0
    assert shop.outcomes() == ["gave_up"]
    assert shop.queue_lines() == []


@pytest.mark.parametrize(
    ("given", "outcome"),
    [
        (b"", "failed"),
        (b"\x00\xff{", "failed"),
        (b"[]", "failed"),
        (b"{" * 100_000, "failed"),
        (b'{"x": "' + b"a" * 10 * 1024 * 1024 + b'"}', "failed"),
        (b"{}", "queued"),
        (b'{"session_id": 7, "prompt_id": ["x"], "last_assistant_message": {}, "transcript_path": 1}', "queued"),
    ],
    ids=["nothing", "garbage", "no object", "nested", "10 MB", "nobody's turn", "wrong types"],
)
@pytest.mark.usefixtures("_nothing_is_waited_for")
def test_whatever_the_client_says_the_hook_ends_well_and_the_next_turn_is_scored(
    shop: ScoredProject, given: bytes, outcome: str
) -> None:
    assert MOST_INPUT < 10 * 1024 * 1024
    with shop.without_worker():
        done = warm_process.hook("stop", cwd=shop.root, env=shop.environ, said=given)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert shop.outcomes() == [outcome]
    acknowledged = ended(shop, "s-1")
    shop.score()
    assert [turn.turn_id for turn in shop.turns() if turn.session_id == "s-1"] == ["t-1"]
    assert len(shop.turns()) == len(acknowledged) + (outcome == "queued")


@pytest.mark.usefixtures("_nothing_is_waited_for")
@pytest.mark.parametrize("path", ["/", ".", "a\0b", "x" * 999, "/dev/null", "/etc", "\udcff", "missing.jsonl"])
def test_a_transcript_that_is_no_file_keeps_no_turn_from_being_scored(shop: ScoredProject, path: str) -> None:
    with shop.without_worker():
        for session in ("s-1", "s-2"):
            shop.prompted(session)
        shop.stop("s-1", transcript_path=path)
        shop.stop("s-2")
    shop.score()
    assert shop.problems([("s-1", "t-1"), ("s-2", "t-1")]) == []
    assert [turn.assistant_response for turn in shop.turns()] == [ANSWER, ANSWER]


@pytest.mark.usefixtures("_nothing_is_waited_for")
def test_a_transcript_that_is_cut_short_gives_way_to_what_the_hook_was_told(shop: ScoredProject) -> None:
    acknowledged = ended(shop, "s-1")
    data = shop.trace("s-1").read_bytes()
    shop.trace("s-1").write_bytes(data[: data.index(b"\n") + 50])
    shop.score()
    assert shop.problems(acknowledged) == []
    assert [turn.assistant_response for turn in shop.turns()] == [ANSWER]


def test_a_transcript_that_is_late_is_waited_for(shop: ScoredProject, monkeypatch: pytest.MonkeyPatch) -> None:
    shop.prompted("s-1", answer="")
    monkeypatch.setattr(time, "sleep", lambda _: shop.write_trace("s-1", answer="I looked it up.\n\n" + ANSWER))
    with shop.without_worker():
        shop.stop("s-1", last_assistant_message="I looked it up.\n\n" + ANSWER)
    shop.score()
    assert shop.problems([("s-1", "t-1")]) == []
    assert [turn.assistant_response for turn in shop.turns()] == ["I looked it up.\n\n" + ANSWER]


@pytest.mark.usefixtures("_nothing_is_waited_for")
def test_one_id_in_two_sessions_is_two_turns_and_one_that_ends_twice_is_one(shop: ScoredProject) -> None:
    acknowledged = ended(shop, "s-1", "s-2")
    shop.score()
    with shop.without_worker():
        shop.write_trace("s-1", "t-1", answer="And it is behind the gateway.")
        shop.stop("s-1", stop_hook_active=True, last_assistant_message="And it is behind the gateway.")
    shop.score()
    assert shop.problems(acknowledged) == []
    first, second = sorted(shop.turns(), key=lambda turn: turn.session_id)
    assert first.assistant_response.endswith("And it is behind the gateway.")
    assert second.assistant_response == ANSWER


@pytest.mark.usefixtures("_nothing_is_waited_for")
def test_turns_of_a_client_without_ids_are_told_apart_however_late_they_are_scored(shop: ScoredProject) -> None:
    with shop.without_worker():
        for number in range(3):
            answer = f"Answer {number}."
            shop.write_trace("s-1", "", answer)
            shop.stop("s-1", prompt_id=None, last_assistant_message=answer)
    lines = shop.queue_file().read_bytes()
    shop.score()
    assert sorted(turn.assistant_response for turn in shop.turns()) == [f"Answer {number}." for number in range(3)]
    (shop.home / "ended" / "done.json").unlink()  # a worker that is killed before the mark
    shop.score()
    assert len(shop.turns()) == 3
    assert shop.queue_file().read_bytes() == lines


@pytest.mark.usefixtures("_nothing_is_waited_for")
def test_a_turn_that_nobody_named_is_one_document_when_its_trace_comes_after_a_kill(shop: ScoredProject) -> None:
    with shop.without_worker():
        shop.stop("s-1", prompt_id=None)
    shop.score()
    (shop.home / "ended" / "done.json").unlink()
    shop.write_trace("s-1", "t-9")
    shop.score()
    assert len(shop.turns()) == 1
