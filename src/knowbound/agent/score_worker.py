"""The worker that scores ended turns in the background (specification 2, section 3).

    python -P -m knowbound.agent.score_worker ROOT HOME      started by hooks (agent/background.py)

The worker scores the queue and rolls up the days that changed. A hook queues its turn first and then looks for a
running worker, so the worker looks at the queue once more after it released its lock.

Then it reads the sessions that changed, for every lens of `knowbound`: a command finds them read, and what a session
says is kept when its client deletes the transcript's file.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

from knowbound.agent.background import FAILED, READING, SCORING, settle_in
from knowbound.agent.sync_worker import settings_for
from knowbound.audit.audit import audit_lens
from knowbound.errors import KnowboundError
from knowbound.gaps.observe import read_ahead
from knowbound.lessons.learn import material_lens
from knowbound.lessons.rescue.scores import score_rescues
from knowbound.quality.queue import Queue
from knowbound.quality.scoring import score_queue
from knowbound.store.listing import SqliteResults


def main() -> None:
    """Score the queue of a data folder; a second worker ends at once."""
    root, home = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    lock = SCORING.take_lock(str(home))
    is_first = True
    while lock is not None:
        if is_first:
            settle_in(lock)
        is_first = False
        is_done = _score(root, home)
        os.close(lock)
        # A hook that queued a turn while we held the lock started no worker.
        lock = SCORING.take_lock(str(home)) if is_done and not Queue(home).is_empty() else None
    if not is_first:
        _read_ahead(root, home)


def _score(root: Path, home: Path) -> bool:
    """Score what is queued, and report whether that worked."""
    folder = str(home)
    try:
        done = score_queue(settings_for(root, home), background=True)
    except Exception as error:
        SCORING.note(folder, FAILED, reason=_reason(error))
        return False
    try:
        score_rescues(home)
    except OSError as error:  # the next worker does it
        SCORING.note(folder, FAILED, reason=f"rescues: {error}")
    scored, days = done.scored, ", ".join(done.rolled_up.days)
    reason = scored.problem or done.problem
    SCORING.note(folder, "scored", turns=scored.turns, failed=scored.failed, reason=reason, days=days)
    if (moved := done.rolled_up.moved) is not None:
        SCORING.note(folder, "reverted" if moved.after < moved.before else "advanced", leg=moved.after)
    return True


def _read_ahead(root: Path, home: Path) -> None:
    """Read the sessions that changed, until no worker has asked for it meanwhile."""
    while (lock := READING.take_lock(str(home))) is not None:
        asked = os.fstat(lock).st_mtime_ns  # whoever finds the lock taken leaves its time
        try:
            settings = replace(settings_for(root, home), jobs=1, cluster_address="")
            if read := read_ahead(settings, [material_lens(home), audit_lens(settings)]):
                READING.note(str(home), "read", sessions=read)
            SqliteResults(home).close()  # lists what was read: the status line looks there alone
        except Exception as error:
            READING.note(str(home), FAILED, reason=_reason(error))
        is_last = os.fstat(lock).st_mtime_ns == asked
        os.close(lock)
        if is_last:
            return


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, KnowboundError) else f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    main()
