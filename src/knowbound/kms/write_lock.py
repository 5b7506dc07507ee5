"""One writer at a time: whoever checks and then writes items holds this lock, so that what was checked stays true.

A lock of the operating system on a file: it ends with its process, and never makes readers wait. Such locks go to
whoever is quickest, which on a busy machine is the one who has just let go. So there are two: who holds the queue waits
for the turn, and lets go of the queue only when it has it; nobody takes two turns in a row while others wait.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

NAME = "write.lock"
_QUEUE = "write.queue"


@contextmanager
def one_writer(home: Path) -> Iterator[None]:
    """Wait for the turn, and hold it. Threads and processes alike; not to be taken twice by one caller."""
    home.mkdir(parents=True, exist_ok=True)
    with ExitStack() as turn:
        with _locked(home / _QUEUE):
            turn.enter_context(_locked(home / NAME))
        yield


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        _lock(handle)
        yield
    finally:
        os.close(handle)  # lets go of the lock


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        while True:
            try:
                msvcrt.locking(handle, msvcrt.LK_LOCK, 1)
            except OSError:
                time.sleep(0.01)  # it gives up after ten seconds
            else:
                return

else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX)
