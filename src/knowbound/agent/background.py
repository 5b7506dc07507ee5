"""Starts workers in the background, from hooks and the MCP server: on the standard library alone, about a millisecond.

One worker of a kind runs per data folder. It holds the lock of the operating system on its lock file, and has it from
birth: whoever starts it takes the lock and hands it over, so that 200 hooks at once start one. The file's time of
modification is when somebody last needed the worker, its content when one was last started.
"""

from __future__ import annotations

import os
import sys
import time

INHERITED = 3  # the worker's descriptor of the lock
_PRIVATE = 0o600
_started: list[int] = []  # processes that this one started: an MCP server goes on after its worker has ended


class Worker:
    """A kind of worker: its module, which takes the root and the data folder, and the name of its lock file."""

    def __init__(self, module: str, lock: str, again_seconds: int = 0) -> None:
        self.module = module
        self.lock = lock
        self.again_seconds = again_seconds  # one that ended sooner had a reason, and is not started again yet

    def ensure_running(self, root: str, home: str) -> bool:
        """Start it unless one runs; whether it was started. It never raises, and never waits for the worker."""
        try:
            import fcntl  # noqa: PLC0415  # not on Windows
        except ImportError:
            return False
        _reap()
        try:
            lock = os.open(os.path.join(home, self.lock), _FLAGS, _PRIVATE)
        except OSError:
            return False
        try:
            os.utime(lock)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            now, last = int(time.time()), os.pread(lock, 20, 0)
            if last.isdigit() and 0 <= now - int(last) < self.again_seconds:
                return False
            os.pwrite(lock, b"%d" % now, 0)
            _spawn([self.module, root, home], fcntl.fcntl(lock, fcntl.F_DUPFD_CLOEXEC, INHERITED + 1))
        except OSError:  # it runs, or cannot be started
            return False
        finally:
            os.close(lock)
        return True

    def is_running(self, home: str) -> bool:
        """Whether somebody holds its lock. Not for hooks: whoever starts one at that moment takes us for it."""
        try:
            import fcntl  # noqa: PLC0415  # not on Windows

            with open(os.path.join(home, self.lock), "rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except (FileNotFoundError, ImportError):
            return False
        except OSError:
            return True
        return False

    def take_lock(self, home: str) -> int | None:
        """In the worker: the lock that was handed over, or one that is taken now; None where another has it."""
        import fcntl  # noqa: PLC0415  # not on Windows

        path = os.path.join(home, self.lock)
        try:
            if os.path.samestat(os.fstat(INHERITED), os.stat(path)):
                os.set_inheritable(INHERITED, False)
                return INHERITED
        except OSError:
            pass
        try:
            lock = os.open(path, _FLAGS, _PRIVATE)
            os.utime(lock)
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return None
        return lock


_FLAGS = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)


def settle_in(lock: int) -> None:
    """In the worker: let go of everything that its starter had, and let agents and hooks come first."""
    os.closerange(max(lock, INHERITED) + 1, 4096)  # whoever waits at a pipe of the agent must not wait for us
    os.chdir("/")  # the folder it was started in may be deleted
    try:
        os.nice(max(0, 10 - os.nice(0)))
    except OSError:
        return


def _spawn(words: list[str], lock: int) -> None:
    """In a session of its own, without our inputs and outputs: the agent waits until these are closed."""
    # -P: nothing is imported from the folder that the agent works in.
    command = [sys.executable, "-P", "-m", *words]
    null = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in range(INHERITED)]
    actions = [*null, (os.POSIX_SPAWN_DUP2, lock, INHERITED)]
    try:
        try:
            started = os.posix_spawn(sys.executable, command, os.environ, file_actions=actions, setsid=True)
        except NotImplementedError:  # an old C library
            started = os.posix_spawn(sys.executable, command, os.environ, file_actions=actions, setpgroup=0)
        _started.append(started)
    finally:
        os.close(lock)


def _reap() -> None:
    """Take the exit codes of workers that have ended: without that they stay in the system's list of processes."""
    for pid in list(_started):
        try:
            ended, _ = os.waitpid(pid, os.WNOHANG)
        except ChildProcessError:
            ended = pid
        if ended:
            _started.remove(pid)
