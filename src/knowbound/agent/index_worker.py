"""The worker that brings the index of a source tree up to date in the background.

    python -P -m knowbound.agent.index_worker TREE HOME      started by hooks (agent/background.py)

Hooks only read the index: a tree of 5,000 files takes seconds to read for the first time, and 0.1 s to look at again.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from knowbound.agent.background import FAILED, INDEXING, settle_in
from knowbound.codebase.kept_index_update import open_index, update_index


def main() -> None:
    """Update the index of one tree; a second worker ends at once."""
    root, home = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    lock = INDEXING.take_lock(str(home))
    if lock is None:
        return
    settle_in(lock)
    try:
        database = open_index(home)
        try:
            done = update_index(database, root)
        finally:
            database.close()
    except Exception as error:
        INDEXING.note(str(home), FAILED, reason=f"{type(error).__name__}: {error}")
    else:
        if done.read:
            INDEXING.note(str(home), "updated", files=done.files, read=done.read, ms=int(done.seconds * 1000))
    finally:
        os.close(lock)


if __name__ == "__main__":
    main()
