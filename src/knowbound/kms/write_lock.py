"""One writer at a time: whoever checks and then writes items holds this lock, so that what was checked stays true.

A lock of the operating system on a file: it ends with its process and never makes readers wait. Such a lock goes to
whoever asks first after it is released, which on a busy machine is often the one who has just released it. So there are
two: a writer holds the queue while it waits for the lock, and nobody takes the lock twice in a row while others wait.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from knowbound.errors import StoreError
from knowbound.user_files import PRIVATE_FILE, make_folder


@contextmanager
def write_lock(home: Path, *, wait_seconds: float = -1) -> Iterator[None]:
    """Wait for the lock (by default for ever), and hold it; a StoreError when the wait is over.

    For threads and processes alike; not to be taken twice by one caller.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415  # takes 0.1 s to import, and readers need none

    make_folder(home)
    with ExitStack() as held:
        try:
            with FileLock(home / "write.queue", mode=PRIVATE_FILE, poll_interval=0.005, timeout=wait_seconds):
                lock = FileLock(home / "write.lock", mode=PRIVATE_FILE, poll_interval=0.001, timeout=wait_seconds)
                held.enter_context(lock)
        except Timeout as error:
            raise StoreError("store-busy", f"{home} is held by a writer. Try again when it has ended.") from error
        yield
