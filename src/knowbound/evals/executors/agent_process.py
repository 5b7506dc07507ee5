"""An agent's process: it ends with us, nothing it finished is lost, and nothing that ended runs twice.

The agent reads and writes files in its task's output folder, never pipes. A small `sh` around it, in a session of its
own, keeps the folder locked for as long as it lives: it writes who it is to `run.json`, runs the agent, and writes the
exit status to `exit`. The files are the user's alone, and the agent's input has no name once it is open. Whoever comes
to the folder later, this process or the next one, finds one of these:

    the lock is held               the agent runs, or is being ended since whoever started it is gone: it is waited
                                   for, within the time limit counted from its own start
    it is free, and `exit` there   the agent ended: what it left is taken as it is
    it is free, without `exit`     the agent never ran, or was ended from outside: it is run

POSIX only.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

import msgspec

from knowbound.evals.executor import Task
from knowbound.process import Program, require_posix
from knowbound.user_files import append, make_file, make_folder

MOST_OUTPUT = 64 * 1024 * 1024  # bytes of both outputs together; an agent that prints more is ended
GRACE = 3.0  # seconds between asking a process to end and ending it
_TIMEOUT, _FLOOD = "timeout", "flood"  # what we write to `exit` when we ended it ourselves
_PROBLEMS = {_TIMEOUT: "it took longer than it may", _FLOOD: "it printed more than it may"}

# Its standard input is the lock, which the agent does not inherit. TERM is the agent's to answer: the wrapper waits for
# that, and then writes no exit status, since the agent did not end by itself.
_WRAPPER = r"""
folder=$1 digest=$2 at=$3 ended=
shift 3
trap 'ended=1' TERM
(umask 077 && printf '{"pid": %s, "digest": "%s", "at": %s}\n' "$$" "$digest" "$at" > "$folder/run.new") &&
    command -p mv "$folder/run.new" "$folder/run.json" &&
    exec 3< "$folder/stdin" && command -p rm "$folder/stdin" || exit 1
"$@" <&3 3<&- > "$folder/stdout" 2> "$folder/stderr"
status=$?
[ -z "$ended" ] || exit 1
umask 077
printf '%s\n' "$status" > "$folder/exit.new" && command -p mv "$folder/exit.new" "$folder/exit"
"""


class AgentExit(msgspec.Struct, frozen=True):
    """The end of an agent's process, and the place of its output."""

    status: int | None  # None: it did not end by itself
    stdout: Path
    stderr: Path
    timed_out: bool = False
    problem: str = ""  # why it has no status, in words
    seconds: float = 0.0


class EndedError(Exception):
    """We are ending: the process was ended with us, and what it left does not count."""


class _Note(msgspec.Struct, frozen=True):
    """`run.json`: who runs in a folder, or ran last."""

    pid: int
    digest: str  # of the command
    at: float  # when it began


class _Process:
    """The process that has a folder locked: a child of ours, or one that another process started."""

    def __init__(self, lock: Path, pid: int, at: float, child: Program | None = None) -> None:
        self.pid, self.at, self.child = pid, at, child
        self._lock = lock.open("ab")
        self._has_ended = False

    def __enter__(self) -> _Process:
        with _running_lock:
            _running.add(self)
        return self

    def __exit__(self, *error: object) -> None:
        with _running_lock:
            _running.discard(self)
        if self.child is not None:
            self.child.process.wait()
        self._lock.close()

    def wait(self, seconds: float) -> bool:
        """Wait for the agent; report whether it ended in time. A child is not reaped: it keeps its id until `kill`."""
        end, pause = time.monotonic() + seconds, 0.005
        while not self._has_ended:
            self._has_ended = _try_lock(self._lock)  # free: the wrapper that held it is gone
            left = end - time.monotonic()
            if self._has_ended or left <= 0:
                break
            time.sleep(min(pause, left))
            pause = min(2 * pause, 0.1)
        return self._has_ended

    def signal(self, number: int) -> None:
        """Send a signal to the agent's process group, unless its id may now belong to another process."""
        # A child keeps its id until it is reaped; any other process for sure while it holds the lock.
        keeps_its_id = self.child.process.returncode is None if self.child is not None else not self.wait(0)
        if keeps_its_id:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)  # posix: `start` requires it

    def kill(self) -> None:
        """End it with all it started and left behind; a child is reaped."""
        self.signal(signal.SIGKILL)  # posix: `start` requires it
        self.wait(5.0)
        if self.child is not None:
            self.child.kill()


_running: set[_Process] = set()
_running_lock = threading.Lock()
_is_ending = threading.Event()


def end_all(grace: float = GRACE) -> None:
    """End every process; whoever waits for one gets an EndedError, and so does whoever would start one."""
    with _running_lock:
        _is_ending.set()
        running = list(_running)
    end = time.monotonic() + grace
    for process in running:
        process.signal(signal.SIGTERM)
    for process in running:
        process.wait(max(0.0, end - time.monotonic()))
    for process in running:
        process.kill()


def _raise_when_ending() -> None:
    if _is_ending.is_set():
        raise EndedError


def run_process(
    task: Task,
    argv: Sequence[str],
    *,
    stdin: bytes | None,
    env: Mapping[str, str],
    added: Mapping[str, str] | None = None,
    most_output: int = MOST_OUTPUT,
    grace: float = GRACE,
) -> AgentExit:
    """Run the command in the task's folder, or take over the run of it that the task's output folder holds.

    `env` is all of its environment; `added` is the part that distinguishes commands.
    """
    folder = _OutputFolder(task, argv, stdin or b"", added or {}, most_output)
    while True:
        _raise_when_ending()
        process: _Process | None = None
        with folder.lock.open("ab") as lock:  # closed before we wait: then only the wrapper holds it
            if not _try_lock(lock):  # an agent runs here
                process = folder.running()
            elif folder.has_ended():
                return folder.result()
            elif _try_lock(lock, exclusive=True):  # else somebody looks at it at the same moment
                try:
                    process = folder.start(lock, {**env, **(added or {})})
                except (OSError, ValueError) as error:  # no such folder, too long a prompt, a NUL in an argument
                    return folder.end_of_run(None, f"it could not be started: {error}")
        if process is not None:
            ended = folder.finish(process, grace)
            if process.child is not None or folder.has_ended():  # else it was cut off with whoever started it: run it
                return ended
        time.sleep(0.005)


def is_running(output_dir: Path) -> bool:
    """Report whether an agent runs in a task's output folder, whichever process started it."""
    try:
        with (output_dir / "lock").open("rb") as lock:
            return not _try_lock(lock)
    except FileNotFoundError:
        return False


class _OutputFolder:
    """A task's output folder, and the command that runs in it."""

    def __init__(
        self, task: Task, argv: Sequence[str], stdin: bytes, added: Mapping[str, str], most_output: int
    ) -> None:
        self._path, self._task, self._argv = task.output_dir, task, argv
        self._stdin, self._most_output = stdin, most_output
        # All that distinguishes two commands: a result of another one is not taken.
        command = json.dumps([list(argv), str(task.folder), sorted(added.items())]).encode()
        self._digest = hashlib.sha256(command + b"\0" + stdin).hexdigest()[:32]
        make_folder(self._path)
        self.lock = self._path / "lock"
        append(str(self.lock), b"")
        self._outputs = (self._path / "stdout", self._path / "stderr")

    def has_ended(self) -> bool:
        """Report whether this command ran in this folder and ended, by itself or at a limit."""
        note = self._note()
        return self._status() is not None and note is not None and note.digest == self._digest

    def running(self) -> _Process | None:
        """The process that runs here; None where it is just starting, or was of another command and is ended."""
        note = self._note()
        if note is None:
            return None
        process = _Process(self.lock, note.pid, note.at)
        if note.digest == self._digest:
            return process
        with process:
            process.kill()
        return None

    def start(self, lock: IO[bytes], env: Mapping[str, str]) -> _Process:
        """Start the command; the `sh` around it holds the lock from then on, as its standard input."""
        require_posix("Running an agent")
        for name in ("run.json", "exit", "stdout", "stderr"):
            (self._path / name).unlink(missing_ok=True)
        make_file(self._path / "stdin", self._stdin)
        for output in self._outputs:
            make_file(output, b"")
        began = time.time()
        names = ["knowbound-agent", str(self._path.resolve()), self._digest, repr(began)]
        with _running_lock:
            _raise_when_ending()
            command = ["/bin/sh", "-c", _WRAPPER, *names, *self._argv]
            child = Program(command, cwd=self._task.folder, env=env, stdin=lock)
            process = _Process(self.lock, child.pid, began, child)
            _running.add(process)  # within this lock, so that `end_all` misses none
        return process

    def finish(self, process: _Process, grace: float) -> AgentExit:
        """Wait for the process within its limits; what it started and left behind ends with it."""
        with process:
            exceeded = self._wait_within_limits(process)
            if exceeded:
                process.signal(signal.SIGTERM)
                process.wait(grace)
            process.kill()
        _raise_when_ending()
        if exceeded and self._status() is None:  # else the agent ended by itself all the same
            self._write_status(exceeded)
        return self.result()

    def _wait_within_limits(self, process: _Process) -> str:
        """Wait for the end; return the exceeded limit, or "". The time counts from the start of the process."""
        until = time.monotonic() + process.at + self._task.seconds - time.time()
        while not process.wait(max(0.0, min(0.25, until - time.monotonic()))):
            if time.monotonic() >= until:
                return _TIMEOUT
            if self._output_bytes() > self._most_output:
                return _FLOOD
        return ""

    def result(self) -> AgentExit:
        """Return how the run in this folder ended. First truncates outputs over the limit, and records the overflow."""
        if self._output_bytes() > self._most_output:
            self._write_status(_FLOOD)
            for path in self._outputs:
                with contextlib.suppress(OSError):
                    os.truncate(path, min(path.stat().st_size, self._most_output))
        status = self._status()
        if status is not None and status.isdecimal():
            return self.end_of_run(int(status))
        problem = _PROBLEMS.get(status or "", "it was ended from outside")
        return self.end_of_run(None, problem, timed_out=status == _TIMEOUT)

    def end_of_run(self, status: int | None, problem: str = "", *, timed_out: bool = False) -> AgentExit:
        """Return the end of a run, with its duration if the folder has it."""
        note, ended = self._note(), time.time()  # now, unless `exit` shows when
        with contextlib.suppress(OSError):
            ended = (self._path / "exit").stat().st_mtime
        seconds = max(0.0, ended - note.at) if note is not None else 0.0
        return AgentExit(status, *self._outputs, timed_out, problem, seconds)

    def _status(self) -> str | None:
        """Return the text of the file `exit`; None if it is missing or empty."""
        try:
            return (self._path / "exit").read_text("utf-8").strip() or None
        except OSError:
            return None

    def _write_status(self, status: str) -> None:
        make_file(self._path / "exit", status.encode() + b"\n")

    def _note(self) -> _Note | None:
        """Return the record of the process that runs in this folder or ran last; None if there is no valid record."""
        try:
            return msgspec.json.decode((self._path / "run.json").read_bytes(), type=_Note)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None

    def _output_bytes(self) -> int:
        """The bytes of both outputs."""
        return sum(path.stat().st_size for path in self._outputs if path.exists())


def _try_lock(file: IO[bytes], *, exclusive: bool = False) -> bool:
    """Try to take the lock, shared or `exclusive`; return False if it is held. Closing the file releases it."""
    require_posix("Running an agent")
    import fcntl  # noqa: PLC0415  (not on Windows)

    try:
        fcntl.flock(file, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:  # what else may be wrong, for example no locks on this file system, is an error
        return False
    return True
