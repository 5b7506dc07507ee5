"""The index of items, opened for reading, with limits. Hooks load this module."""

from __future__ import annotations

import _thread
import os
import sqlite3
import time

from knowbound.store.data_dir import INDEX, OWNER, is_our_mark
from knowbound.store.read_only import open_read_only

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

INDEX_SCHEMA = 9  # schema of the index that this version reads
_LONGEST_VALUE_BYTES = 16 * 1024 * 1024  # an item has at most 1 MB
_MOST_OPEN_INDEXES = 4
_CACHE_KIB = 32 * 1024  # of an index that stays open: a search reads pages from all over it
_STEPS_PER_CHECK = 20_000  # SQLite instructions between two checks of the clock: about a millisecond


_open_indexes: dict[str, IndexConnection] = {}  # by data folder, of the thread that keeps them (keep_open)
_keeping_thread: list[int] = []  # the id of that thread; empty where none keeps indexes open


class IndexConnection(sqlite3.Connection):
    """A connection to the index. If it stays open, it caches values made from the index in `kept`."""

    kept: dict[str, Any] | None = None
    file: tuple[int, int] = (0, 0)


class IndexRefusedError(Exception):
    """The index is not read; the message gives the reason for a log."""


class IndexOutdatedError(IndexRefusedError):
    """An earlier knowbound made the index; opening it for writing updates it."""


def keep_open() -> None:
    """Keep the indexes that this thread opens open from now on, with the values made from their rows."""
    _keeping_thread[:] = [_thread.get_ident()]
    _open_indexes.clear()


def kept_of(connection: sqlite3.Connection) -> dict[str, Any] | None:
    """Return the values that a connection which stays open has cached; None for other connections.

    A write to the index empties the cache.
    """
    kept: dict[str, Any] | None = getattr(connection, "kept", None)
    if kept is None:
        return None
    state = connection.execute("PRAGMA data_version").fetchone()[0]
    if kept.get("state") != state:
        kept.clear()
        kept["state"] = state
    return kept


def open_own_index(
    home: str, *, wait_seconds: float, work_seconds: float, split_by: str = ""
) -> sqlite3.Connection | None:
    """Open the index of a data folder with limits on work and value size; refuse an index of another user.

    The limits apply before the first read: even the list of tables may be crafted. `split_by` is the version of the
    terms that the caller searches by (kms/index/search.py): in an index with other terms, or with none yet, it would
    find nothing.
    """
    path = os.path.join(home, INDEX)
    if any(os.path.islink(path + ending) for ending in ("", "-wal", "-shm")):
        raise IndexRefusedError("the index is a link")
    db = _opened_or_kept(home, path, wait_seconds)
    if db is None:
        return None
    deadline = time.monotonic() + work_seconds
    db.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS_PER_CHECK)
    db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST_VALUE_BYTES)
    schema = db.execute("PRAGMA user_version").fetchone()[0]
    if schema > INDEX_SCHEMA:
        raise IndexRefusedError(f"the index has schema {schema}, this knowbound reads {INDEX_SCHEMA}")
    if db.execute("SELECT 1 FROM sqlite_schema WHERE type = 'view' LIMIT 1").fetchone():
        raise IndexRefusedError("the index has tables that knowbound did not make")
    mark = db.execute("SELECT value FROM meta WHERE key = ?", (OWNER,)).fetchone()
    if mark is None or not is_our_mark(str(mark[0])):
        raise IndexRefusedError("the index was not made by you: knowbound kms sync rebuilds it")
    terms = db.execute("SELECT value FROM meta WHERE key = 'terms'").fetchone()
    if schema < INDEX_SCHEMA or (split_by and terms != (split_by,)):
        raise IndexOutdatedError("the index is of an earlier knowbound: knowbound kms sync brings it up to date")
    return db


def _opened_or_kept(home: str, path: str, wait_seconds: float) -> sqlite3.Connection | None:
    """Open the index, or return its open connection if the file is still the same."""
    if _thread.get_ident() not in _keeping_thread:  # a hook's process ends soon
        return open_read_only(path, wait_seconds=wait_seconds)
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    db: sqlite3.Connection | None = _open_indexes.pop(home, None)
    if not isinstance(db, IndexConnection) or db.file != (found.st_dev, found.st_ino):
        db = open_read_only(path, wait_seconds=wait_seconds, factory=IndexConnection)
    if not isinstance(db, IndexConnection):
        return None
    if db.kept is None:
        db.kept, db.file = {}, (found.st_dev, found.st_ino)
        db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    _open_indexes[home] = db  # as the last: the first is dropped first
    while len(_open_indexes) > _MOST_OPEN_INDEXES:
        _open_indexes.pop(next(iter(_open_indexes)))
    return db
