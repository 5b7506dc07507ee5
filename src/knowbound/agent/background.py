"""The background workers: how hooks, verbs and the MCP server start them, and the log of each.

Starting a worker takes about a millisecond, on the standard library alone. One worker of a kind runs per data folder.
It holds the operating system's lock on its lock file from birth: its starter takes the lock and hands it over, so that
200 hooks at once start one worker. The file's time of modification says when a worker was last needed, its content when
one was last started.
"""

from __future__ import annotations

import os
import sys
import time

from knowbound.agent.hook.log import append_line, json_lines

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from knowbound.config import Settings

INHERITED = 3  # the worker's descriptor of the lock
FAILED = "failed"  # event of a worker's log
LARGEST_LOG = 64 * 1024  # bytes; then the log replaces its predecessor, NAME.log.1
_LONGEST_TEXT = 300  # characters of a text in a log
_PRIVATE_MODE = 0o600
_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_started: list[int] = []  # processes that this process started: an MCP server outlives its worker


class Worker:
    """A kind of worker (worker.py), its lock file and its log."""

    module = "knowbound.agent.worker"

    def __init__(self, kind: str, name: str, restart_seconds: int = 0) -> None:
        self.kind = kind
        self.lock, self.log = f"{name}.lock", f"{name}.log"
        self.restart_seconds = restart_seconds  # a worker that ended sooner had a reason, and is not started again yet

    def ensure_running(self, root: str, home: str) -> bool:
        """Start the worker unless one runs, and report whether it was started. Never raises, never waits."""
        _reap()
        lock = self._free_lock(home)
        if lock is None:
            return False
        try:
            now, last_start = int(time.time()), os.pread(lock, 20, 0)  # the lock file has the time of the last start
            # A worker that ended or failed at once is not started again for so long.
            if last_start.isdigit() and 0 <= now - int(last_start) < self.restart_seconds:
                return False
            os.pwrite(lock, b"%d" % now, 0)
            _spawn([self.module, root, home, self.kind], lock)
        except OSError:  # it cannot be started
            return False
        finally:
            os.close(lock)
        return True

    def is_running(self, home: str) -> bool:
        """Report whether a process holds the worker's lock. Not for hooks: the probe can race with a start."""
        try:
            import fcntl  # noqa: PLC0415  # not on Windows

            with open(os.path.join(home, self.lock), "rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except (FileNotFoundError, ImportError):
            return False
        except OSError:  # locked
            return True
        return False

    def take_lock(self, home: str) -> int | None:
        """Return, in the worker, the inherited lock or a newly taken one; None if another worker has it."""
        try:
            if os.path.samestat(os.fstat(INHERITED), os.stat(os.path.join(home, self.lock))):
                os.set_inheritable(INHERITED, False)
                return INHERITED  # the descriptor that our starter handed over
        except OSError:
            pass
        return self._free_lock(home)

    def _free_lock(self, home: str) -> int | None:
        """Note that a worker is needed, and take its lock; None if another process has it, or on Windows."""
        lock = -1  # not open yet
        try:
            import fcntl  # noqa: PLC0415  # not on Windows

            lock = os.open(os.path.join(home, self.lock), _FLAGS, _PRIVATE_MODE)
            os.utime(lock)  # asks the running worker to go on
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (ImportError, OSError):
            if lock >= 0:
                os.close(lock)
            return None
        return lock

    def note(self, home: str, event: str, **fields: str | int) -> None:
        """Append a JSON line to the worker's log. Never raises, and never creates the data folder."""
        from knowbound.text.redact import excerpt  # noqa: PLC0415  # takes 20 ms, and hooks write no such log

        redacted = {
            key: excerpt(value, _LONGEST_TEXT) if isinstance(value, str) else value for key, value in fields.items()
        }
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        line = {"time": now, "event": event, "pid": os.getpid(), **redacted}
        try:
            if os.path.isdir(home):
                append_line(os.path.join(home, self.log), line, LARGEST_LOG)
        except OSError:
            return

    def last_note(self, home: str) -> dict[str, Any] | None:
        """Return the last line of the worker's log; the log may have just been renamed."""
        path = os.path.join(home, self.log)
        lines = json_lines(f"{path}.1") + json_lines(path)
        return next((line for line in reversed(lines) if line.keys() >= {"time", "event"}), None)


INDEXING = Worker("index", "codebase", restart_seconds=5)
SCORING = Worker("score", "score")
READING = Worker("score", "reading")
SYNC = Worker("sync", "sync", restart_seconds=10)


def keep_current(settings: Settings) -> list[str]:
    """Start the background sync if backends are shared, and return a sentence for each backend that is late."""
    if not settings.shared_backends:
        return []
    from knowbound.kms.index.freshness import lateness  # noqa: PLC0415  # hooks do not need it

    SYNC.ensure_running(str(settings.root), str(settings.home))
    return lateness(settings)


def settings_for(root: Path, home: Path) -> Settings:
    """Return the settings as the hook has them: what the user has not trusted counts as not set."""
    from dataclasses import replace  # noqa: PLC0415  # hooks start workers without settings

    from knowbound.config import load  # noqa: PLC0415

    return replace(load(root, ignore_untrusted=True), home=home)


def settle_in(lock: int) -> None:
    """Release, in the worker, everything inherited from its starter, and yield to agents and hooks."""
    os.closerange(max(lock, INHERITED) + 1, 4096)  # a reader of one of the agent's pipes must not wait for the worker
    os.chdir("/")  # the folder it was started in may be deleted
    try:
        os.nice(max(0, 10 - os.nice(0)))  # posix: no worker is started elsewhere
    except OSError:
        return


def _spawn(words: list[str], lock: int) -> None:
    """Start a process in its own session, without our streams: the agent waits until these are closed."""
    # -P: nothing is imported from the folder that the agent works in.
    command = [sys.executable, "-P", "-m", *words]
    if not hasattr(os, "posix_spawn"):
        raise OSError("no worker can be started on this system")
    import fcntl  # noqa: PLC0415

    null = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(INHERITED)]
    handed_over = fcntl.fcntl(lock, fcntl.F_DUPFD_CLOEXEC, INHERITED + 1)  # above those that the worker gets anew
    actions = [*null, (os.POSIX_SPAWN_DUP2, handed_over, INHERITED)]
    try:
        try:
            started = os.posix_spawn(sys.executable, command, os.environ, file_actions=actions, setsid=True)
        except NotImplementedError:  # an old C library
            started = os.posix_spawn(sys.executable, command, os.environ, file_actions=actions, setpgroup=0)
        _started.append(started)
    finally:
        os.close(handed_over)


def _reap() -> None:
    """Collect the exit codes of ended workers, which would stay in the system's list of processes."""
    for pid in list(_started):
        try:
            ended, _ = os.waitpid(pid, os.WNOHANG)  # posix: there are such workers alone
        except ChildProcessError:
            ended = pid
        if ended:
            _started.remove(pid)
