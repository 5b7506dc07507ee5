"""Opens a SQLite file only to read it. The hook loads this module: it imports os and sqlite3 alone."""

from __future__ import annotations

import os
import sqlite3
import time

from knowbound.store.data_dir import INDEX
from knowbound.store.owner import OWNER, is_our_mark

INDEX_SCHEMA = 7  # of the index, as this version reads it
HOOK_WAIT_SECONDS = 0.05  # for a writer
_LONGEST_VALUE = 16 * 1024 * 1024  # bytes; an item has at most 1 MB
_STEPS = 20_000  # of SQLite's machine between two looks at the clock: about a millisecond


class IndexRefusedError(Exception):
    """Why the index is not read, in words for a log."""


class IndexOutdatedError(IndexRefusedError):
    """The index is of an earlier knowbound; whoever opens it to write brings it up to date."""


def open_read_only(path: str | os.PathLike[str], *, wait_seconds: float = 2.0) -> sqlite3.Connection | None:
    """The file as it is, or None where there is none; nothing is made or migrated."""
    if not os.path.exists(path):
        return None
    quoted = os.path.abspath(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    db = sqlite3.connect(f"file:{quoted}?mode=ro", uri=True, timeout=wait_seconds)
    db.execute("PRAGMA trusted_schema = OFF")  # a view or a trigger may not call what has side effects
    return db


def open_own_index(
    home: str, *, wait_seconds: float, work_seconds: float, split_by: str = ""
) -> sqlite3.Connection | None:
    """The index of a data folder, bounded in work and in the size of a value; one that is not ours is refused.

    Bounded before anything is read of it: even its list of tables may be crafted. `split_by` is the version of the
    terms that the caller searches by (search/lexical.py): with others, or before they are made, it would find nothing.
    """
    path = os.path.join(home, INDEX)
    if any(os.path.islink(path + ending) for ending in ("", "-wal", "-shm")):
        raise IndexRefusedError("the index is a link")
    db = open_read_only(path, wait_seconds=wait_seconds)
    if db is None:
        return None
    end = time.monotonic() + work_seconds
    db.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE)
    schema = db.execute("PRAGMA user_version").fetchone()[0]
    if schema > INDEX_SCHEMA:
        raise IndexRefusedError(f"the index has schema {schema}, this knowbound reads {INDEX_SCHEMA}")
    if db.execute("SELECT 1 FROM sqlite_schema WHERE type = 'view' LIMIT 1").fetchone():
        raise IndexRefusedError("the index has tables that knowbound did not make")
    mark = db.execute("SELECT value FROM meta WHERE key = ?", (OWNER,)).fetchone()
    if mark is None or not is_our_mark(str(mark[0])):
        raise IndexRefusedError("the index was not made by you: knowbound kms sync makes it anew")
    terms = db.execute("SELECT value FROM meta WHERE key = 'terms'").fetchone()
    if schema < INDEX_SCHEMA or (split_by and terms != (split_by,)):
        raise IndexOutdatedError("the index is of an earlier knowbound: knowbound kms sync brings it up to date")
    return db
