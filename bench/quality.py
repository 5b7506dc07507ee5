"""What an agent waits for when a turn ends, and what is lost when everything around it is killed.

    python -m bench.quality [--runs 100] [--at-once 200] [--kills 300] [--failovers 4] [--records 2000]

A turn is acknowledged when its hook ended by itself and the hook log says that it was queued. It is scored exactly once
when the log has one document for it, with its verdicts, and the rollup of its day is the sum of the documents.

- Speed: the stop hook and `python -c pass` in turns, in fresh processes.
- At once: as many hooks as asked for, each of another session, with the configured limit; then the worker that they
  started.
- Kills: SIGKILL at random points of the hook, of what it leaves behind, of the worker and of the rollup, each followed
  by a look at all turns so far. The look scores what is left, without waiting for answers that can not come any more.
- Failovers: turns end and are scored in a MongoDB of three members whose primary is killed meanwhile, the worker too.
- Memory: the worker's peak with a long queue.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from unittest import mock

from tests.quality.scored_project import ScoredProject
from tests.services import running_replica_set, until

from bench.measuring import HOOK, at, options, warn_if_busy
from knowbound.agent.background import SCORING
from knowbound.judge.turns.rules import RulesTurnJudge
from knowbound.kms.quality_log.sqlite import SqliteQualityLog
from knowbound.quality import queue
from knowbound.quality.scoring import Scorer

TARGET = 3.0  # × `python -c pass` (DESIGN, "Speed we hold ourselves to")
_LIMIT = "KNOWBOUND_INJECTION_TIME_LIMIT_MS"
_MARKER = "KNOWBOUND_BENCH_MARKER"  # in the environment of all that is started, so that it can be found and killed
_READY = "import sys; {}; print('ready', flush=True); {}"
_WORKER = _READY.format("from knowbound.agent.score_worker import main", "main()")
_ROLLUP = _READY.format(
    "from pathlib import Path; from knowbound.agent.sync_worker import settings_for; "
    "from knowbound.quality.scoring import open_quality_log, rolled_up; "
    "settings = settings_for(Path(sys.argv[1]), Path(sys.argv[2]))",
    "rolled_up(settings, open_quality_log(settings))",
)
_TURNS_OF_A_SESSION = 20  # of a long queue


class BenchProject(ScoredProject):
    """Knows which turns were acknowledged, and can be looked at any time."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.environ |= {"HOME": os.environ["HOME"], _MARKER: os.urandom(8).hex()}
        self.environ |= {"PYTHONPYCACHEPREFIX": str(root.parent / "bytecode")}  # kept, as on a user's machine
        self.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        self.acknowledged: list[tuple[str, str]] = []
        self.hook_seconds = self.worker_seconds = 0.2

    def measure_pace(self) -> None:
        """How long the processes take here and now: kills are spread over all of that."""
        with self.without_worker():
            self.ended()  # bytecode is compiled
            began = time.perf_counter()
            self.ended()
            self.hook_seconds = time.perf_counter() - began
        for _ in range(2):  # of the first, bytecode is compiled
            with self.without_worker():
                self.ended()
            process = _run_when_ready(self, _WORKER)
            began = time.perf_counter()
            process.wait()
            self.worker_seconds = time.perf_counter() - began

    def ended(self) -> str:
        """A turn that a hook has queued, and waited for; its session."""
        session = self.begun()
        self.stop(session)
        self.acknowledged.append((session, "t-1"))
        return session

    def begun(self) -> str:
        """A turn that has not ended yet; its session."""
        session = f"s-{os.urandom(4).hex()}"
        self.prompted(session)
        return session

    def look(self) -> list[str]:
        """Score what is left, and say what is wrong then."""
        until(self.is_idle)
        with self.without_worker(), mock.patch.object(queue, "LATE_SECONDS", 0.0):
            self.score()
        return self.problems(self.acknowledged)

    def is_idle(self) -> bool:
        lock = SCORING.take_lock(str(self.home))
        if lock is not None:
            os.close(lock)
        return lock is not None

    def kill_all(self) -> int:
        """Kill what was started for this project and still runs; how many."""
        killed, marker = 0, f"{_MARKER}={self.environ[_MARKER]}".encode()
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if marker in (folder / "environ").read_bytes().split(b"\0"):
                    os.kill(int(folder.name), signal.SIGKILL)
                    killed += 1
        return killed


@contextmanager
def project() -> Iterator[BenchProject]:
    """With a home folder and a key of its own."""
    with tempfile.TemporaryDirectory(prefix="knowbound-quality-") as name:
        user = Path(name, "user")
        user.mkdir()
        with mock.patch.dict(os.environ, {"HOME": str(user), "XDG_STATE_HOME": str(user / "state")}):
            made = BenchProject(Path(name, "shop"))
            try:
                yield made
            finally:
                while made.kill_all():
                    pass


# Speed


def measure(runs: int) -> tuple[list[float], list[float]]:
    """The stop hook and the bare interpreter, in turns. Meanwhile no worker runs: nobody waits for that."""
    ours, bare = [], []
    with project() as one, one.without_worker():
        for number in range(-3, runs):
            session = one.begun()
            took = _timed([str(HOOK), "stop"], one.stopped(session), one.environ)
            started = _timed([sys.executable, "-c", "pass"], b"", one.environ)
            if number >= 0:
                ours.append(took)
                bare.append(started)
    return ours, bare


def _timed(command: list[str], given: bytes, environ: dict[str, str]) -> float:
    """Milliseconds until it ended; what it leaves behind is over, too, when this returns."""
    left, held = os.pipe()
    with os.fdopen(left, "rb") as leaving:
        began = time.perf_counter()
        subprocess.run(command, input=given, env=environ, cwd="/", pass_fds=(held,), check=True)
        took = time.perf_counter() - began
        os.close(held)
        leaving.read()
    return took * 1000


# At once


@dataclass(frozen=True, slots=True)
class AtOnce:
    seconds: float  # until the last hook had ended
    to_score: float  # until the worker had ended, after that
    outcomes: dict[str, int]
    scored: int
    problems: list[str]


def start_at_once(count: int) -> AtOnce:
    """Each of another session, with the configured limit."""
    with project() as one:
        sessions = [one.begun() for _ in range(count)]
        environ = {name: value for name, value in one.environ.items() if name != _LIMIT}

        def stop(session: str) -> int:
            given = one.stopped(session)
            return subprocess.run([HOOK, "stop"], input=given, env=environ, cwd=one.root, check=False).returncode

        with one.without_worker():
            one.prompted("warm")
            one.stop("warm")  # bytecode is compiled once
        began = time.perf_counter()
        with ThreadPoolExecutor(count) as pool:
            codes = list(pool.map(stop, sessions))
        ended = time.perf_counter()
        outcomes = Counter(one.outcomes()[1:])
        until(lambda: one.is_idle() and queue.Queue(one.home).is_empty())
        scored = time.perf_counter()
        turns = [turn for turn in one.turns() if turn.session_id != "warm"]
        if outcomes == {"queued": count}:
            one.acknowledged = [(session, "t-1") for session in sessions]
        problems = one.problems(one.acknowledged)
        if any(codes) or len(turns) < outcomes["queued"]:
            problems.append(f"{outcomes['queued']} are acknowledged, {len(turns)} are scored")
        return AtOnce(ended - began, scored - ended, dict(outcomes), len(turns), problems)


# Kills


@dataclass
class Kills:
    """What was killed, by its kind, and what was wrong at a look."""

    killed: Counter[str] = field(default_factory=Counter)
    survived: Counter[str] = field(default_factory=Counter)  # it ended before
    acknowledged: int = 0
    scored: int = 0
    problems: list[str] = field(default_factory=list)


def kill_at_random(count: int, seed: int = 7) -> Kills:
    """So many kills, spread over the four kinds."""
    chance, found = random.Random(seed), Kills()
    attempts = {
        "hook": _kill_hook,
        "what it leaves": _kill_what_is_left,
        "worker": _kill_worker,
        "rollup": _kill_rollup,
    }
    with project() as one:
        one.measure_pace()
        while sum(found.killed.values()) < count:
            kind = min(attempts, key=lambda name: found.killed[name])
            counter = found.killed if attempts[kind](one, chance) else found.survived
            counter[kind] += 1
            found.problems += [f"after kill {sum(found.killed.values())} ({kind}): {text}" for text in one.look()]
            if found.problems:
                break
        found.acknowledged, found.scored = len(one.acknowledged), len(one.turns())
        if {"failed", "gave_up"} & set(one.outcomes()):
            found.problems.append(
                f"hooks reported {Counter(one.outcomes())}: nothing is known about who was acknowledged"
            )
    return found


def _kill_hook(one: BenchProject, chance: random.Random) -> bool:
    session = one.begun()
    process = subprocess.Popen([HOOK, "stop"], stdin=subprocess.PIPE, env=one.environ, cwd="/")
    assert process.stdin is not None
    with process.stdin as stdin:
        stdin.write(one.stopped(session))
    time.sleep(chance.uniform(0, one.hook_seconds * 0.7))  # the rest is what it leaves
    process.kill()
    if process.wait() == 0:
        one.acknowledged.append((session, "t-1"))
        return False
    return True


def _kill_what_is_left(one: BenchProject, chance: random.Random) -> bool:
    """The hook has ended; its child writes the answer and starts a worker: whichever it is then."""
    session = one.begun()
    subprocess.run([HOOK, "stop"], input=one.stopped(session), env=one.environ, cwd="/", check=True)
    one.acknowledged.append((session, "t-1"))
    time.sleep(chance.uniform(0, one.hook_seconds + one.worker_seconds))
    return one.kill_all() > 0


def _kill_worker(one: BenchProject, chance: random.Random) -> bool:
    with one.without_worker():
        for _ in range(3):
            one.ended()
    return _kill_when_ready(one, _WORKER, chance.uniform(0, one.worker_seconds))


def _kill_rollup(one: BenchProject, chance: random.Random) -> bool:
    with one.without_worker():
        one.ended()
        with closing(SqliteQualityLog(one.home)) as log, mock.patch.object(queue, "LATE_SECONDS", 0.0):
            Scorer(one.home, log, RulesTurnJudge()).run()
    return _kill_when_ready(one, _ROLLUP, chance.uniform(0, one.worker_seconds / 3))


def _kill_when_ready(one: BenchProject, code: str, seconds: float) -> bool:
    """Killed so long after it has loaded what it needs."""
    process = _run_when_ready(one, code)
    time.sleep(seconds)
    process.kill()
    return process.wait() == -signal.SIGKILL


def _run_when_ready(one: BenchProject, code: str) -> subprocess.Popen[bytes]:
    """A process that has loaded what it needs, and begins."""
    command = [sys.executable, "-P", "-c", code, str(one.root), str(one.home)]
    process = subprocess.Popen(command, env=one.environ, stdout=subprocess.PIPE)
    assert process.stdout is not None
    with process.stdout as said:
        said.readline()
    return process


# MongoDB


@dataclass
class Failovers:
    count: int = 0
    workers_killed: int = 0
    acknowledged: int = 0
    scored: int = 0
    problems: list[str] = field(default_factory=list)


def fail_over(count: int, turns: int = 12) -> Failovers:
    """Kill the primary so often, each time in the middle of so many turns; every second time the worker, too."""
    found = Failovers()
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="knowbound-replicas-"))
        one, replicas = stack.enter_context(project()), stack.enter_context(running_replica_set(Path(folder)))
        config = Path(os.environ["HOME"], ".config", "knowbound", "config.toml")
        config.parent.mkdir(parents=True)
        url = replicas.url.replace("/?", "/kms?")
        config.write_text(f'[kms]\nbackends = ["sqlite", "mongo"]\nmongo_url = "{url}"\n', "utf-8")
        for number in range(count):
            primary = replicas.primary()
            for turn in range(turns):
                if turn == turns // 2:
                    replicas.members[primary].kill()
                if turn == turns // 2 + 2 and number % 2:
                    found.workers_killed += one.kill_all() > 0
                one.ended()
            found.count += 1
            replicas.revive(primary)
            found.problems += [f"after failover {number + 1}: {text}" for text in one.look()]
        found.acknowledged, found.scored = len(one.acknowledged), len(one.turns())
    return found


# Memory


@dataclass(frozen=True, slots=True)
class LongQueue:
    records: int
    seconds: float
    megabytes: float  # its peak
    few: float  # the peak with ten records
    problems: list[str]


def work_off(records: int) -> LongQueue:
    """Records of sessions with twenty turns each, all in one file."""
    _, few, _ = _worked_off(10)
    seconds, most, problems = _worked_off(records)
    return LongQueue(records, seconds, most, few, problems)


def _worked_off(records: int) -> tuple[float, float, list[str]]:
    with project() as one:
        lines = []
        for number in range(records):
            session, turn = f"s-{number // _TURNS_OF_A_SESSION}", f"t-{number % _TURNS_OF_A_SESSION}"
            one.prompted(session, turn)
            one.acknowledged.append((session, turn))
            lines.append(one.queue_line(session, turn))
        one.queue_file().write_bytes(b"".join(lines))
        code = (
            "import resource; from knowbound.agent.score_worker import main; main(); "
            "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
        )
        began = time.perf_counter()
        command = [sys.executable, "-P", "-c", code, str(one.root), str(one.home)]
        done = subprocess.run(command, env=one.environ, stdout=subprocess.PIPE, check=True)
        seconds = time.perf_counter() - began
        return seconds, int(done.stdout) / 1024, one.problems(one.acknowledged)


# The report


def report(runs: int = 100, at_once: int = 200, kills: int = 300, failovers: int = 4, records: int = 2_000) -> bool:
    """Print the figures; whether nothing was lost or doubled."""
    print("\nEnded turns (aim: every acknowledged turn is scored exactly once)", flush=True)
    if runs:
        _report_speed(*measure(runs))
    problems: list[str] = []
    if at_once:
        crowd = start_at_once(at_once)
        counted = ", ".join(f"{count} {name}" for name, count in sorted(crowd.outcomes.items()))
        print(f"  {at_once} hooks at once: {counted}, in {crowd.seconds:.1f} s")
        print(f"      {crowd.scored} scored, {crowd.to_score:.1f} s later; {len(crowd.problems)} problems", flush=True)
        problems += crowd.problems
    if kills:
        killed = kill_at_random(kills)
        counted = ", ".join(f"{count} × {kind}" for kind, count in sorted(killed.killed.items()))
        print(f"  {sum(killed.killed.values())} kills ({counted}); {sum(killed.survived.values())} had ended before")
        _report_turns(killed.acknowledged, killed.scored, killed.problems)
        problems += killed.problems
    if failovers:
        failed = fail_over(failovers)
        print(f"  {failed.count} failovers of MongoDB, {failed.workers_killed} workers killed meanwhile")
        _report_turns(failed.acknowledged, failed.scored, failed.problems)
        problems += failed.problems
    if records:
        long = work_off(records)
        print(f"  a queue of {long.records:,}: {long.seconds:.0f} s; the worker had {long.megabytes:.0f} MB at most")
        print(f"      (with ten records {long.few:.0f} MB), {len(long.problems)} problems", flush=True)
        problems += long.problems
    for text in problems[:5]:
        print(f"      {text[:220]}")
    print(f"  {'nothing lost, nothing twice' if not problems else 'LOST OR DOUBLED'}")
    return not problems


def _report_turns(acknowledged: int, scored: int, problems: list[str]) -> None:
    print(f"      {acknowledged} turns acknowledged, {scored} scored, {len(problems)} problems", flush=True)


def _report_speed(ours: list[float], bare: list[float]) -> None:
    print(f"  {'':28}{'p50':>8}{'p95':>8}{'max':>8}   milliseconds, {len(ours)} runs")
    for name, times in (("python -c pass", bare), ("knowbound-hook stop", ours)):
        print(f"  {name:28}{at(times, 0.5):8.0f}{at(times, 0.95):8.0f}{max(times):8.0f}")
    ratios = [at(ours, share) / at(bare, share) for share in (0.5, 0.95)]
    verdict = "reached" if max(ratios) <= TARGET else "MISSED"
    print(f"  p50 {ratios[0]:.1f} ×, p95 {ratios[1]:.1f} × python -c pass; target ≤ {TARGET:.0f} ×: {verdict}")
    warn_if_busy(bare)


if __name__ == "__main__":
    given = options(__doc__, runs=100, at_once=200, kills=300, failovers=4, records=2_000)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)  # 200 processes
    sys.exit(0 if report(given.runs, given.at_once, given.kills, given.failovers, given.records) else 1)
