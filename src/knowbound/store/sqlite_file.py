"""A SQLite file that many processes write at once: opened, given its schema, and waited for.

No caller sees "database is locked": SQLite's own waiting is unfair under many writers, so we wait again on top of it.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from typing import TypeVar

from knowbound.errors import StoreError
from knowbound.store.database import explained, statements

_WAIT_SECONDS = 5.0  # one turn of SQLite's own waiting
_GIVE_UP_SECONDS = 120.0  # a writer that holds the file for longer hangs
_Result = TypeVar("_Result")


def open_file(path: Path, schema: str, version: int, *, synchronous: str) -> sqlite3.Connection:
    """The file, made with the schema (a script in `schemas/`) where it is new; threads may share the connection."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        ignore = path.parent / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", "utf-8")  # the data folder never lands in a commit by accident
        db = sqlite3.connect(path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False)
    except (OSError, sqlite3.OperationalError) as error:
        raise StoreError(
            "store-unwritable", f"Cannot write the data folder {path.parent}: {error}. Try: KNOWBOUND_HOME=DIR"
        ) from error
    try:
        with explained(path):
            if patiently(lambda: db.execute("PRAGMA journal_mode").fetchone()[0]) != "wal":
                patiently(lambda: db.execute("PRAGMA journal_mode = WAL"))
            db.execute(f"PRAGMA synchronous = {synchronous}")
            _give_schema(db, path, schema, version)
    except BaseException:
        db.close()
        raise
    return db


def _give_schema(db: sqlite3.Connection, path: Path, schema: str, version: int) -> None:
    found = patiently(lambda: db.execute("PRAGMA user_version").fetchone()[0])
    if found > version:
        raise StoreError("store-newer", f"{path} has schema {found}; this knowbound knows {version}. Try: update it")
    if found == version:
        return
    text = resources.files("knowbound.store").joinpath("schemas", schema).read_text("utf-8")
    with writing(db):
        if db.execute("PRAGMA user_version").fetchone()[0] == version:
            return  # another process made it while we waited
        for statement in statements(text):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {version}")


@contextmanager
def writing(db: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing of it. Once it has begun it cannot be refused: only the beginning has to wait."""
    patiently(lambda: db.execute("BEGIN IMMEDIATE"))
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def patiently(attempt: Callable[[], _Result]) -> _Result:
    """The result of the attempt, tried again while others hold the file."""
    deadline = time.monotonic() + _GIVE_UP_SECONDS
    while True:
        try:
            return attempt()
        except sqlite3.OperationalError as error:
            is_held = "locked" in str(error) or "busy" in str(error)
            if not is_held or time.monotonic() > deadline:
                raise
            time.sleep(random.uniform(0.001, 0.05))
