"""The process that reads new sessions for a running studio: `python -m knowbound.web.reading PLAN`.

It makes the same screen as `knowbound review`, and stores it; the studio shows what is stored.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import msgspec

from knowbound.config import load
from knowbound.errors import KnowboundError
from knowbound.gaps.stored import Filters, project_at
from knowbound.review.review import review
from knowbound.web.live import ReadingPlan, ReadingState

_SAY_SECONDS = 0.2  # between two lines


def read(plan: ReadingPlan) -> ReadingState:
    """Read what changed, and return how that ended; the way there is written to stdout."""
    said = 0.0

    def progress(done: int, of: int) -> None:
        nonlocal said
        if time.monotonic() - said > _SAY_SECONDS:
            said = time.monotonic()
            _say(ReadingState(done, of))

    root, paths = Path(plan.root), [Path(path) for path in plan.paths]
    try:
        filters = Filters(project="" if paths else project_at(root))
        review(paths, load(root), filters, root_is_given=plan.root_is_given, progress=progress)
    except KnowboundError as error:
        return ReadingState(problem=str(error))
    return ReadingState()


def _say(state: ReadingState) -> None:
    sys.stdout.write(msgspec.json.encode(state).decode() + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _say(read(msgspec.json.decode(sys.argv[1], type=ReadingPlan)))
