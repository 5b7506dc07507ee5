"""The background workers; hooks, verbs and the MCP server start them (background.py).

    python -P -m knowbound.agent.worker ROOT HOME index|score|sync

index brings the index of a source tree up to date. Hooks only read it: a tree of 5,000 files takes seconds to read for
the first time, and 0.1 s to look at again.

score works off the queue of ended turns (specification 2, section 3) and rolls up the days that changed. A hook queues
its turn first and then looks for a running worker, so the worker looks at the queue once more after it released its
lock. Then it reads the sessions that changed, for every lens of `knowbound`: a command finds them read, and what a
session says is kept when its client deletes the transcript's file.

sync keeps the local index current with the backends that other machines write to. It reads the backends at once, then
waits for changes: for MongoDB's change streams where the server has them, and for a look every `kms.sync_seconds` in
any case. It only reads backends and writes the index, so it can be killed at any point. A backend that does not answer
is tried again less and less often. The worker ends when no agent has needed it for 20 minutes, when the data folder is
gone, or when the settings change; the next hook starts another worker.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from knowbound.agent.background import FAILED, INDEXING, READING, SCORING, SYNC, settings_for, settle_in
from knowbound.errors import KnowboundError, StoreError

if TYPE_CHECKING:
    from knowbound.config import Settings
    from knowbound.kms.backends.protocol import Backend
    from knowbound.kms.index.database import Index

IDLE_SECONDS = 20 * 60.0
_SETTINGS_SECONDS = 60.0  # how often the config is read again
_LONGEST_PAUSE = 60.0  # between two attempts to reach a backend
_SETTLE_SECONDS = 0.02  # after a change: many writes at once are read together
_BUSY_SECONDS = 0.2  # before the next look, if a writer of this machine holds the lock


def main() -> None:
    """Do the work of one kind; a second worker of the kind ends at once."""
    root, home, kind = sys.argv[1:4]
    work = {"index": update_tree, "score": score, "sync": keep_in_sync}[kind]
    work(Path(root).resolve(), Path(home).resolve())


def update_tree(root: Path, home: Path) -> None:
    """Update the index of one tree."""
    from knowbound.codebase.kept_index_update import open_index, update_index

    lock = INDEXING.take_lock(str(home))
    if lock is None:
        return
    settle_in(lock)
    try:
        database = open_index(home)
        try:
            update = update_index(database, root)
        finally:
            database.close()
    except Exception as error:
        INDEXING.note(str(home), FAILED, reason=_reason(error))
    else:
        if update.read:
            INDEXING.note(str(home), "updated", files=update.files, read=update.read, ms=int(update.seconds * 1000))
    finally:
        os.close(lock)


def score(root: Path, home: Path) -> None:
    """Score the queue of a data folder, then read the sessions that changed."""
    from knowbound.quality.queue import Queue

    lock = SCORING.take_lock(str(home))
    has_settled = False
    while lock is not None:
        if not has_settled:
            settle_in(lock)
        has_settled = True
        has_worked = _score(root, home)
        os.close(lock)
        # A hook that queued a turn while we held the lock started no worker.
        lock = SCORING.take_lock(str(home)) if has_worked and not Queue(home).is_empty() else None
    if has_settled:
        _read_ahead(root, home)


def keep_in_sync(root: Path, home: Path) -> None:
    """Run the worker of a data folder that keeps its index current."""
    lock = SYNC.take_lock(str(home))
    if lock is None:
        return
    settle_in(lock)
    try:
        settings = settings_for(root, home)
        SYNC.note(str(home), "started", backends=", ".join(settings.shared_backends))
        reason = SyncWorker(settings, lock).run()
    except Exception as error:
        reason = _reason(error)
    SYNC.note(str(home), "ended", reason=reason)


def _score(root: Path, home: Path) -> bool:
    """Score what is queued, and report whether that worked."""
    from knowbound.lessons.rescue.scores import score_rescues
    from knowbound.quality.scoring import score_queue

    folder = str(home)
    try:
        result = score_queue(settings_for(root, home), background=True)
    except Exception as error:
        SCORING.note(folder, FAILED, reason=_reason(error))
        return False
    try:
        score_rescues(home)
    except OSError as error:  # the next worker does it
        SCORING.note(folder, FAILED, reason=f"rescues: {error}")
    scored, days = result.scored, ", ".join(result.rolled_up.days)
    reason = scored.problem or result.problem
    SCORING.note(folder, "scored", turns=scored.turns, failed=scored.failed, reason=reason, days=days)
    if (moved := result.rolled_up.moved) is not None:
        SCORING.note(folder, "reverted" if moved.after < moved.before else "advanced", leg=moved.after)
    return True


def _read_ahead(root: Path, home: Path) -> None:
    """Read the sessions that changed, until no worker has asked for it meanwhile."""
    from knowbound.audit.audit import audit_lens
    from knowbound.gaps.observe import read_ahead
    from knowbound.lessons.learn import material_lens
    from knowbound.store.listing import SqliteResults

    while (lock := READING.take_lock(str(home))) is not None:
        last_asked = os.fstat(lock).st_mtime_ns  # whoever finds the lock taken leaves its time
        try:
            settings = replace(settings_for(root, home), jobs=1, cluster_address="")
            if read := read_ahead(settings, [material_lens(home), audit_lens(settings)]):
                READING.note(str(home), "read", sessions=read)
            SqliteResults(home).close()  # lists what was read: the status line looks there alone
        except Exception as error:
            READING.note(str(home), FAILED, reason=_reason(error))
        is_last = os.fstat(lock).st_mtime_ns == last_asked
        os.close(lock)
        if is_last:
            return


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, KnowboundError) else f"{type(error).__name__}: {error}"


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
        from knowbound.kms.changes import write_lock
        from knowbound.kms.index.freshness import note_current
        from knowbound.kms.opening import open_backend

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
            if error.slug == "store-busy":  # another process writes: no failure of the backend
                self._next_looks[name] = time.monotonic() + _BUSY_SECONDS
                return
            self._retry_later(name, error)
            return
        if self._retry_pauses.pop(name, None) is not None:  # it did not answer before
            self._log("reached again", backend=name)
        self._next_looks[name] = time.monotonic() + interval_seconds

    def _retry_later(self, name: str, error: KnowboundError) -> None:
        """Close a backend that failed, and look again after twice the last pause. A new reason is logged."""
        from knowbound.kms.index.freshness import freshness_of, note_failure

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
                self._next_looks[name] = 0.0  # at once
        except StoreError as error:
            self._retry_later(name, error)

    def _current_index(self) -> Index:
        """Return the open index; reopen it if a repair replaced its file."""
        from knowbound.kms.opening import open_index, open_knowledge_store

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


if __name__ == "__main__":
    main()
