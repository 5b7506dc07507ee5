"""The worker that scores ended turns in the background (specification 2, section 3).

    python -P -m knowbound.agent.score_worker ROOT HOME      started by hooks (agent/background.py)

The worker scores the queue, rolls up the days that changed, and ends. A hook queues its turn first and then looks for a
running worker, so the worker looks at the queue once more after it released its lock.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from knowbound.agent.background import FAILED, SCORING, settle_in
from knowbound.agent.sync_worker import settings_for
from knowbound.errors import KnowboundError
from knowbound.lessons.rescue.scores import score_rescues
from knowbound.quality.queue import Queue
from knowbound.quality.scoring import score_queue


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


def _score(root: Path, home: Path) -> bool:
    """Score what is queued, and report whether that worked."""
    folder = str(home)
    try:
        done = score_queue(settings_for(root, home), background=True)
    except Exception as error:
        reason = str(error) if isinstance(error, KnowboundError) else f"{type(error).__name__}: {error}"
        SCORING.note(folder, FAILED, reason=reason)
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


if __name__ == "__main__":
    main()
