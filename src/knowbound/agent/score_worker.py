"""The worker that scores ended turns in the background (specification 2, section 3).

    python -P -m knowbound.agent.score_worker ROOT HOME      started by hooks (agent/score_start.py)

It works off the queue, rolls up the days that changed, and ends. A hook queues first and then looks whether a worker
runs; so when the worker has let go of its lock it looks at the queue once more, and nothing is left lying.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from knowbound.agent import worker_log
from knowbound.agent.background import settle_in
from knowbound.agent.score_start import SCORING
from knowbound.agent.sync_worker import settings_for
from knowbound.errors import KnowboundError
from knowbound.lessons.rescue.scores import score_rescues
from knowbound.quality.queue import Queue
from knowbound.quality.score import score_queue

LOG = "score.log"
SCORED, FAILED = "scored", "failed"  # events there


def main() -> None:
    """Work off the queue of a data folder; a second worker ends at once."""
    root, home = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    lock = SCORING.take_lock(str(home))
    is_first = True
    while lock is not None:
        if is_first:
            settle_in(lock)
        is_first = False
        is_done = _score(root, home)
        os.close(lock)
        # Queued while we held the lock: its hook started nobody.
        lock = SCORING.take_lock(str(home)) if is_done and not Queue(home).is_empty() else None


def _score(root: Path, home: Path) -> bool:
    """Whether the queue was worked off."""
    try:
        done = score_queue(settings_for(root, home))
    except KnowboundError as error:
        worker_log.write(home / LOG, FAILED, reason=str(error))
        return False
    except Exception as error:
        worker_log.write(home / LOG, FAILED, reason=f"{type(error).__name__}: {error}")
        return False
    try:
        score_rescues(home)
    except OSError as error:  # the next worker does it
        worker_log.write(home / LOG, FAILED, reason=f"rescues: {error}")
    scored, days = done.scored, ", ".join(done.rolled_up.days)
    reason = scored.problem or done.problem
    worker_log.write(home / LOG, SCORED, turns=scored.turns, failed=scored.failed, reason=reason, days=days)
    if done.rolled_up.reverted_to is not None:
        worker_log.write(home / LOG, "reverted", leg=done.rolled_up.reverted_to)
    return True


if __name__ == "__main__":
    main()
