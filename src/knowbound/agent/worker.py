"""The background workers; hooks, verbs and the MCP server start them (background.py).

    python -P -m knowbound.agent.worker ROOT HOME index|score|sync

index brings the index of a source tree up to date. Hooks only read it: a tree of 5,000 files takes seconds to read for
the first time, and 0.1 s to look at again.

score works off the queue of ended turns (specification 2, section 3) and rolls up the days that changed. A hook queues
its turn first and then looks for a running worker, so the worker looks at the queue once more after it released its
lock. Then it reads the sessions that changed, for every lens of `knowbound`: a command finds them read, and what a
session says is kept when its client deletes the transcript's file.

sync keeps the local index current (sync_worker.py).
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

from knowbound.agent.background import FAILED, INDEXING, READING, SCORING, SYNC, settings_for, settle_in
from knowbound.errors import KnowboundError


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
    is_first = True
    while lock is not None:
        if is_first:
            settle_in(lock)
        is_first = False
        has_worked = _score(root, home)
        os.close(lock)
        # A hook that queued a turn while we held the lock started no worker.
        lock = SCORING.take_lock(str(home)) if has_worked and not Queue(home).is_empty() else None
    if not is_first:
        _read_ahead(root, home)


def keep_in_sync(root: Path, home: Path) -> None:
    """Run the worker of a data folder that keeps its index current."""
    from knowbound.agent.sync_worker import SyncWorker

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


if __name__ == "__main__":
    main()
