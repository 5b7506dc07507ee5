"""The writes of the knowledge store: one writer at a time on this machine, no lost change between machines.

A data folder has a write lock. Other machines have locks of their own, so on a shared backend a change is made only
where every item still is as it was read (`Backend.swap`); otherwise the whole call reads again and is made again. It
begins with an index that is up to date, because a call also depends on what is stored beside the item: the same
content, the chain that it ends.
"""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from knowbound.errors import KnowboundError, StoreError
from knowbound.kms.backends.protocol import Backend, ContendedError
from knowbound.kms.changes import Correction, ItemChange, StoreWrite, apply, remaining_of, undo
from knowbound.kms.index.database import Index
from knowbound.user_files import PRIVATE_FILE, make_folder

_ATTEMPTS = 12
_PAUSE_SECONDS = 0.02  # upper bound of the random pause, doubled with each attempt

_Params = ParamSpec("_Params")
_Result = TypeVar("_Result")
_Self = TypeVar("_Self", bound="StoreWriter")


@contextmanager
def write_lock(home: Path, *, wait_seconds: float = -1) -> Iterator[None]:
    """Hold the write lock of a data folder; wait for it, by default for ever. Raises StoreError after the wait.

    A caller that checks and then writes items holds this lock, so that what it checked stays true. The lock is for
    threads and processes alike; one caller must not take it twice. It is a lock of the operating system on a file: it
    ends with its process and never delays readers. On a busy machine the process that has just released such a lock
    often gets it again. So there are two: a writer holds the queue while it waits for the lock, and no writer gets the
    lock twice in a row while another waits.
    """
    from filelock import FileLock, Timeout  # noqa: PLC0415  # takes 0.1 s to import, and readers need none

    make_folder(home)
    with ExitStack() as held_lock:
        try:
            with FileLock(home / "write.queue", mode=PRIVATE_FILE, poll_interval=0.005, timeout=wait_seconds):
                lock = FileLock(home / "write.lock", mode=PRIVATE_FILE, poll_interval=0.001, timeout=wait_seconds)
                held_lock.enter_context(lock)
        except Timeout as error:
            raise StoreError("store-busy", f"{home} is held by a writer. Try again when it has ended.") from error
        yield


def retried(
    call: Callable[Concatenate[_Self, _Params], _Result],
) -> Callable[Concatenate[_Self, _Params], _Result]:
    """Repeat the whole call while other machines change what it has read; the last attempt raises ContendedError."""

    @functools.wraps(call)
    def attempted(self: _Self, /, *args: _Params.args, **kwargs: _Params.kwargs) -> _Result:
        for attempt in range(1, _ATTEMPTS):
            try:
                return call(self, *args, **kwargs)
            except ContendedError:
                time.sleep(random.uniform(0, min(1.0, _PAUSE_SECONDS * 2**attempt)))
        return call(self, *args, **kwargs)

    return attempted


class StoreWriter:
    """The backends, the index, and the way to change them together."""

    def __init__(self, backends: Sequence[Backend], index: Index) -> None:
        self.backends: Mapping[str, Backend] = {backend.name: backend for backend in backends}
        self.index = index

    @contextmanager
    def _locked(self, *, is_refreshed: bool = True) -> Iterator[None]:
        """Hold the write lock, complete what killed writers left behind, and read what other machines wrote."""
        with write_lock(self.index.home):
            intents, pending = self.index.unfinished()
            for number, intent in intents.items():
                self._carry_out(*remaining_of(intent, self.backends), number)
            if pending:
                self.index.refresh([(backend, id_) for backend in self.backends.values() for id_ in pending])
            for backend in self.backends.values():
                if is_refreshed and backend.is_shared:
                    self.index.sync(backend)
            yield

    def _write(
        self,
        changes: list[ItemChange],
        log: Sequence[Correction] = (),
        reaped: Sequence[tuple[str, str]] = (),
        restored: Sequence[str] = (),
    ) -> None:
        """Write the intent, the backends, then the index. A failed write is undone, or completed by the next writer."""
        if not changes and not log:
            return
        write = StoreWrite(changes, log, reaped, restored)
        number = self.index.note_intent(write)
        try:
            self._carry_out(write, write.touched, number)
        except BaseException:
            is_undone = undo(changes)
            with suppress(KnowboundError):
                self.index.refresh(write.touched, finished=number if is_undone else 0)
            raise

    def _carry_out(self, write: StoreWrite, touched: list[tuple[Backend, str]], number: int) -> None:
        """Write the backends, then read the touched items into the index, which ends the intent of this number."""
        apply(write.changes)
        if reaped := self.index.reaped_among(write.restored):  # other machines must serve it again, too
            for backend in self.backends.values():
                backend.restore(reaped)
        self.index.refresh(touched, write, finished=number)
