"""An agent's process, run so that it survives us: nothing is lost, and nothing runs twice, when we are killed.

The agent reads and writes files in its task's place, never pipes. A small `sh` around it, in a session of its own,
first takes the place by writing `run.json` (which only one can), then runs the agent, then writes its exit status to
`exit`. Whoever comes to the place later, we ourselves or the next of us, finds one of these:

    exit        the agent ended: what it left is taken as it is
    run.json    and its process lives: it is waited for, within the time limit counted from its own start
    run.json    and its process is gone: it was ended from outside, and is run anew
    neither     it is run

Works from several threads. POSIX only.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from knowbound.evals.executor import Task
from knowbound.evals.executors.process_handle import Alive, adopted, ended_at

MOST_OUTPUT = 64 * 1024 * 1024  # bytes of both outputs together; an agent that prints more is ended
GRACE = 3.0  # seconds between asking a process to end and ending it
_TIMEOUT, _FLOOD = "timeout", "flood"  # what we write to `exit` when we ended it ourselves

# The arguments: the place, the digest, the time, then the agent's own. TERM is the agent's to answer: the wrapper waits
# for that, and then writes no exit status, since the agent did not come to its own end.
_WRAPPER = r"""
place=$1 digest=$2 at=$3 started=null ended=
shift 3
trap 'ended=1' TERM
field() { started=${20}; }
{ read -r line < "/proc/$$/stat"; } 2>/dev/null && field ${line##*) }
printf '{"pid": %s, "started": %s, "digest": "%s", "at": %s}\n' "$$" "$started" "$digest" "$at" > "$place/run.$$" ||
    exit 1
command -p ln "$place/run.$$" "$place/run.json" 2>/dev/null
taken=$?
command -p rm -f "$place/run.$$"
[ "$taken" = 0 ] || exit 1
"$@" < "$place/stdin" > "$place/stdout" 2> "$place/stderr"
status=$?
[ -z "$ended" ] || exit 1
printf '%s\n' "$status" > "$place/exit.new" && command -p mv "$place/exit.new" "$place/exit"
"""


class Ran(msgspec.Struct, frozen=True):
    """What a process did."""

    status: int | None  # None: it did not come to its own end
    stdout: Path
    stderr: Path
    timed_out: bool = False
    problem: str = ""  # why it has no status, in words
    seconds: float = 0.0


class EndedError(Exception):
    """We are ending: the process was ended with us, and what it left counts for nothing."""


class _Run(msgspec.Struct, frozen=True):
    """`run.json`: who runs in a place."""

    pid: int
    digest: str
    at: float
    started: int | None = None


class _Running:
    """The processes of this program, so that they can be ended with it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.alive: set[Alive] = set()
        self.is_ending = False


_running = _Running()


def begin() -> None:
    """Processes may be started (again, after `end_all`)."""
    _running.is_ending = False


def end_all(grace: float = GRACE) -> None:
    """End every process; whoever waits for one gets an EndedError, and so does whoever would start one."""
    with _running.lock:
        _running.is_ending = True
        alive = list(_running.alive)
    end = time.monotonic() + grace
    for process in alive:
        process.ask_to_end()
    for process in alive:
        process.wait(max(0.0, end - time.monotonic()))
    for process in alive:
        process.kill()


def run_process(
    task: Task,
    argv: Sequence[str],
    *,
    stdin: bytes | None,
    env: Mapping[str, str],
    added: Mapping[str, str] | None = None,
    most_output: int = MOST_OUTPUT,
    grace: float = GRACE,
) -> Ran:
    """Run the command in the task's folder, or take over the run of it that the task's place holds.

    `env` is all of its environment; `added` is the part that tells one command from another.
    """
    place = _Place(task, argv, stdin, {**env, **(added or {})}, added or {})
    limits = _Limits(task.seconds, most_output, grace)
    while True:
        _refuse_when_ending()
        if (status := place.exit_status()) is not None and place.holds_ours():
            return place.ran(status, most_output)
        run = place.run()
        process = adopted(run.pid, run.started) if run is not None else None
        if run is not None and process is not None and run.digest == place.digest:
            with _registered(process):
                return place.finish(process, run.at, limits)
        if process is not None:
            process.kill()  # of another command, whose task is no more
        if run is not None or status is not None:
            place.clear()
        at = time.time()
        started = place.start(at)
        if isinstance(started, str):
            return Ran(None, place.stdout, place.stderr, problem=started)
        with _registered(started):
            if place.is_taken_by(started):
                return place.finish(started, at, limits)
        # Another of us was quicker: its run is found at the next look.


class _Limits(msgspec.Struct, frozen=True):
    seconds: float
    output: int
    grace: float


class _Place:
    """A task's folder of its own, and the command that runs in it."""

    def __init__(
        self, task: Task, argv: Sequence[str], stdin: bytes | None, env: Mapping[str, str], added: Mapping[str, str]
    ) -> None:
        self.folder, self.cwd, self.argv, self.stdin, self.env = task.place, task.folder, list(argv), stdin, dict(env)
        said = json.dumps([self.argv, str(task.folder), sorted(added.items())]).encode() + b"\0" + (stdin or b"")
        self.digest = hashlib.sha256(said).hexdigest()[:32]
        self.stdout, self.stderr = self.folder / "stdout", self.folder / "stderr"

    def exit_status(self) -> str | None:
        """What `exit` says; None where there is none."""
        try:
            return (self.folder / "exit").read_text("utf-8").strip() or None
        except OSError:
            return None

    def run(self) -> _Run | None:
        """Who runs here, or ran."""
        try:
            return msgspec.json.decode((self.folder / "run.json").read_bytes(), type=_Run)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None

    def holds_ours(self) -> bool:
        run = self.run()
        return run is not None and run.digest == self.digest

    def clear(self) -> None:
        """Forget the run before. `run.json` goes last: without it the place is free."""
        for name in ("exit", "stdout", "stderr", "run.json"):
            (self.folder / name).unlink(missing_ok=True)

    def start(self, at: float) -> Alive | str:
        """The process, or why it could not be started."""
        self.folder.mkdir(parents=True, exist_ok=True)
        fresh = self.folder / f"stdin.{os.getpid()}.{threading.get_ident()}"
        fresh.write_bytes(self.stdin or b"")
        fresh.replace(self.folder / "stdin")
        place = str(self.folder.resolve())
        try:
            with _running.lock:
                _refuse_when_ending()
                child = subprocess.Popen(
                    ["/bin/sh", "-c", _WRAPPER, "knowbound-agent", place, self.digest, repr(at), *self.argv],
                    cwd=self.cwd,
                    env=self.env,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
                process = Alive(child.pid, child)
                _running.alive.add(process)
        except (OSError, ValueError) as error:  # no such folder, too long a prompt, a NUL in an argument
            return f"it could not be started: {error}"
        return process

    def is_taken_by(self, process: Alive) -> bool:
        """Whether this process has the place: known once it wrote that, or ended without."""
        while True:
            run = self.run()
            if run is not None:
                return run.pid == process.pid
            if process.wait(0.005):
                run = self.run()
                return run is None or run.pid == process.pid

    def finish(self, process: Alive, at: float, limits: _Limits) -> Ran:
        """Wait for the process within its limits; what it started and left behind ends with it."""
        left = at + limits.seconds - time.time()  # its own start may be long ago
        broke = self._watch(process, time.monotonic() + left, limits.output)
        if broke:
            process.ask_to_end()
            process.wait(limits.grace)
        process.kill()
        _refuse_when_ending()
        if broke and self.exit_status() is None:
            self._write_exit(broke)
        return self.ran(self.exit_status(), limits.output)

    def _watch(self, process: Alive, until: float, most: int) -> str:
        """Wait for the end; says which limit came first, if one did. The less it prints, the less often we look."""
        pause, before = 0.01, -1
        while not process.wait(max(0.0, min(pause, until - time.monotonic()))):
            if time.monotonic() >= until:
                return _TIMEOUT
            size = self._printed()
            if size > most:
                return _FLOOD
            pause = 0.05 if size > before else min(0.25, pause * 2)
            before = size
        return ""

    def _printed(self) -> int:
        """The bytes of both outputs."""
        return sum(_size(path) for path in (self.stdout, self.stderr))

    def _write_exit(self, word: str) -> None:
        fresh = self.folder / f"exit.{threading.get_ident()}"
        fresh.write_text(word + "\n", "utf-8")
        fresh.replace(self.folder / "exit")

    def ran(self, status: str | None, most: int) -> Ran:
        """What the place says of the run that ended in it. It may have printed much before anybody looked."""
        if self._printed() > most:
            status = _FLOOD
            self._write_exit(status)
            for path in (self.stdout, self.stderr):
                with contextlib.suppress(OSError):
                    os.truncate(path, min(_size(path), most))
        run = self.run()
        seconds = max(0.0, ended_at(self.folder / "exit") - run.at) if run is not None else 0.0
        timed_out = status == _TIMEOUT
        problem = "it was ended from outside"
        if timed_out:
            problem = "it took longer than it may"
        elif status == _FLOOD:
            problem = "it printed more than it may"
        number = int(status) if status is not None and status.isdecimal() else None
        return Ran(number, self.stdout, self.stderr, timed_out, "" if number is not None else problem, seconds)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _refuse_when_ending() -> None:
    if _running.is_ending:
        raise EndedError


@contextlib.contextmanager
def _registered(process: Alive) -> Iterator[None]:
    """While it is waited for, `end_all` knows it; afterwards nothing of it is left."""
    with _running.lock:
        _running.alive.add(process)
    try:
        yield
    finally:
        with _running.lock:
            _running.alive.discard(process)
        process.close()
