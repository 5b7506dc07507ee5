"""Starts the background sync, from hooks and the MCP server: on the standard library alone, about a millisecond.

One worker runs per data folder. It holds the lock of the operating system on `.knowbound/sync.lock`, and has it from
birth: whoever starts it takes the lock and hands it over, so that 200 hooks at once start one. The file's time of
modification is when somebody last needed the worker, its content when one was last started.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from knowbound.config import Settings

LOCK = "sync.lock"
INHERITED = 3  # the worker's descriptor of the lock
_AGAIN_SECONDS = 10  # one that ended sooner has a reason, which it logged
_PRIVATE = 0o600
_started: list[int] = []  # processes that this one started: an MCP server goes on after its worker has ended


def ensure_running(root: str, home: str) -> bool:
    """Start the worker unless one runs; whether it was started. It never raises, and never waits for the worker."""
    try:
        import fcntl  # noqa: PLC0415  # not on Windows, where `knowbound kms sync` has to do
    except ImportError:
        return False
    _reap()
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        lock = os.open(os.path.join(home, LOCK), flags, _PRIVATE)
    except OSError:
        return False
    try:
        os.utime(lock)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        now, last = int(time.time()), os.pread(lock, 20, 0)
        if last.isdigit() and 0 <= now - int(last) < _AGAIN_SECONDS:
            return False
        os.pwrite(lock, b"%d" % now, 0)
        _spawn(root, home, fcntl.fcntl(lock, fcntl.F_DUPFD_CLOEXEC, INHERITED + 1))
    except OSError:  # it runs, or cannot be started
        return False
    finally:
        os.close(lock)
    return True


def keep_current(settings: Settings) -> list[str]:
    """Where other machines write too: have the index brought up to date; a sentence for each that is late."""
    if not settings.shared_backends:
        return []
    from knowbound.kms.freshness import lateness  # noqa: PLC0415  # the hook does without

    ensure_running(str(settings.root), str(settings.home))
    return lateness(settings)


def _spawn(root: str, home: str, lock: int) -> None:
    """In a session of its own, without our inputs and outputs: the agent waits until these are closed."""
    # -P: nothing is imported from the folder that the agent works in.
    command = [sys.executable, "-P", "-m", "knowbound.agent.sync_worker", root, home]
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
