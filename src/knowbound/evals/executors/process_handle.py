"""A process that lives, ours or one that was left to us: wait for it, ask it to end, end it with all it started.

A process number alone names nobody: it is given away again. Together with the time the process started (where
`/proc` tells it) it does. The processes here lead a group of their own.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time
from pathlib import Path

_LOOK = 0.02  # seconds between two looks where the system cannot tell us of an end


class Alive:
    """A process and its group."""

    def __init__(self, pid: int, child: subprocess.Popen[bytes] | None = None, started: int | None = None) -> None:
        self.pid, self.child, self.started = pid, child, started
        self._gone = False
        self._handle: int | None = None
        with contextlib.suppress(OSError, AttributeError):  # not on every system
            self._handle = os.pidfd_open(pid)

    def wait(self, seconds: float) -> bool:
        """Whether it has ended, within this time. It is not reaped: its number stays its own until `kill`."""
        end = time.monotonic() + seconds
        while not self._gone:
            left = end - time.monotonic()
            if self._handle is not None:
                poll = select.poll()
                poll.register(self._handle, select.POLLIN)
                self._gone = bool(poll.poll(max(0.0, left) * 1000))
                break
            self._gone = not (self._is_child_running() if self.child else _lives(self.pid, self.started))
            if self._gone or left <= 0:
                break
            time.sleep(min(_LOOK, left))
        return self._gone

    def _is_child_running(self) -> bool:
        try:
            return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None
        except ChildProcessError:
            return False

    def ask_to_end(self) -> None:
        """TERM, to it and all it started."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """KILL, to it and all it started and left behind; a child of ours is reaped."""
        self._signal(signal.SIGKILL)
        self.wait(5.0)
        if self.child is not None:
            self.child.wait()

    def close(self) -> None:
        """Nothing is kept of it."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)
        if self.child is not None:
            self.child.wait()

    def _signal(self, number: int) -> None:
        # Once somebody else's child has ended, its number may be another's.
        if self.child is not None and self.child.returncode is not None:
            return
        if self.child is None and self.wait(0):
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, number)


def adopted(pid: int, started: int | None) -> Alive | None:
    """The process of this number that started then, if it lives."""
    if pid <= 1 or not _lives(pid, started):
        return None
    process = Alive(pid, None, started)
    if process.wait(0) or not _lives(pid, started):  # between the first look and the handle it may have changed
        process.close()
        return None
    return process


def ended_at(file: Path) -> float:
    """When a file was written, or now."""
    try:
        return file.stat().st_mtime
    except OSError:
        return time.time()


def _lives(pid: int, started: int | None) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return started is None and not Path("/proc/self/stat").exists() and _leads_a_group(pid)
    fields = stat.rpartition(b") ")[2].split()
    state, start = fields[0], fields[19]
    return state not in (b"Z", b"X") and (started is None or int(start) == started)


def _leads_a_group(pid: int) -> bool:
    try:
        return os.getpgid(pid) == pid
    except OSError:
        return False
