"""The worker that keeps the index of a data folder current with the backends that other machines write to.

The worker reads the backends at once, then waits for changes: for MongoDB's change streams where the server has them,
and for a look every `kms.sync_seconds` in any case. It only reads backends and writes the index, so it can be killed at
any point. A backend that does not answer is tried again less and less often. The worker ends when no agent has needed
it for 20 minutes, when the data folder is gone, or when the settings change; the next hook starts another worker.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

from knowbound.agent.background import FAILED, SYNC, settings_for
from knowbound.config import Settings
from knowbound.errors import KnowboundError, StoreError
from knowbound.kms.backends.protocol import Backend
from knowbound.kms.changes import write_lock
from knowbound.kms.index.database import Index
from knowbound.kms.index.freshness import freshness_of, note_current, note_failure
from knowbound.kms.opening import open_backend, open_index, open_knowledge_store

IDLE_SECONDS = 20 * 60.0
_SETTINGS_SECONDS = 60.0  # how often the config is read again
_LONGEST_PAUSE = 60.0  # between two attempts to reach a backend
_SETTLE_SECONDS = 0.02  # after a change: many writes at once are read together
_BUSY_SECONDS = 0.2  # before the next look, if a writer of this machine holds the lock


class SyncWorker:
    """The loop of one worker; `lock` is the descriptor of its lock."""

    def __init__(self, settings: Settings, lock: int) -> None:
        self._settings, self._lock = settings, lock
        self._home = settings.home
        self._index: Index | None = None
        self._backends: dict[str, Backend] = {}
        self._next_looks = dict.fromkeys(settings.shared_backends, 0.0)  # by the monotonic clock
        self._retry_pauses: dict[str, float] = {}  # seconds, by the name of a backend that does not answer
        self._settings_read = time.monotonic()

    def run(self) -> str:
        """Work until there is a reason to end, and return the reason."""
        try:
            while not (reason := self._reason_to_end()):
                for name, due in self._next_looks.items():
                    if due <= time.monotonic():
                        self._synchronise(name)
                self._wait()
        finally:
            self._close()
        return reason

    def _reason_to_end(self) -> str:
        """Return why the worker is to end; "" to go on."""
        try:
            lock_file = os.stat(self._home / SYNC.lock)
        except OSError:
            return "the data folder is gone"
        if lock_file.st_ino != os.fstat(self._lock).st_ino:
            return "the data folder is another one"
        if time.time() - lock_file.st_mtime > IDLE_SECONDS:
            return f"no agent has worked for {IDLE_SECONDS / 60:.0f} minutes"
        if not self._next_looks:
            return "no shared backend is in use"
        if time.monotonic() - self._settings_read > _SETTINGS_SECONDS:
            self._settings_read = time.monotonic()
            with suppress(KnowboundError):
                if settings_for(self._settings.root, self._home) == self._settings:
                    return ""
            return "the settings have changed"
        return ""

    def _synchronise(self, name: str) -> None:
        """Bring the index up to date with the backend, or note the failure."""
        looked_at, interval_seconds = time.time(), float(max(1, self._settings.kms_sync_seconds))
        try:
            index = self._current_index()
            if name not in self._backends:
                self._backends[name] = open_backend(name, self._settings)
            if index.is_behind(self._backends[name]):
                with write_lock(self._home, wait_seconds=0):
                    synced = index.sync(self._backends[name])
                self._log("synchronised", backend=name, written=synced.written, dropped=synced.dropped)
            else:
                note_current(self._home, name, looked_at)
        except KnowboundError as error:
            if error.slug == "store-busy":
                self._next_looks[name] = time.monotonic() + _BUSY_SECONDS
                return
            self._retry_later(name, error)
            return
        if self._retry_pauses.pop(name, None) is not None:  # it did not answer before
            self._log("reached again", backend=name)
        self._next_looks[name] = time.monotonic() + interval_seconds

    def _retry_later(self, name: str, error: KnowboundError) -> None:
        """Close a backend that failed, and look again after twice the last pause. A new reason is logged."""
        if backend := self._backends.pop(name, None):
            with suppress(KnowboundError):
                backend.close()
        longer_pause = self._retry_pauses.get(name, float(self._settings.kms_sync_seconds)) * 2
        self._retry_pauses[name] = min(longer_pause, _LONGEST_PAUSE)
        self._next_looks[name] = time.monotonic() + self._retry_pauses[name]
        if freshness_of(self._home, name).reason != str(error):
            self._log(FAILED, backend=name, reason=str(error))
        note_failure(self._home, name, str(error))

    def _wait(self) -> None:
        """Wait until the next look is due, or a backend reports a change."""
        wait_seconds = max(0.0, min(self._next_looks.values()) - time.monotonic())
        answering = [name for name in self._backends if name not in self._retry_pauses]
        if not wait_seconds or len(answering) != 1:  # one thread can wait for the changes of one backend only
            time.sleep(wait_seconds)
            return
        name = answering[0]
        try:
            if self._backends[name].wait_for_change(wait_seconds):
                time.sleep(_SETTLE_SECONDS)
                self._next_looks[name] = 0.0
        except StoreError as error:
            self._retry_later(name, error)

    def _current_index(self) -> Index:
        """Return the open index; reopen it if a repair replaced its file."""
        if self._index is not None and not self._index.is_in_place():
            self._index.close()
            self._index = None
        if self._index is None:
            self._index = open_index(self._settings)
        if not self._index.has_current_rules():
            open_knowledge_store(self._settings).close()  # reads everything again
        return self._index

    def _close(self) -> None:
        for opened in (*self._backends.values(), *((self._index,) if self._index else ())):
            with suppress(KnowboundError):
                opened.close()

    def _log(self, event: str, **fields: str | int) -> None:
        SYNC.note(str(self._home), event, **fields)
