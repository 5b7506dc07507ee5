"""Opens the SQLite files of a data folder to read and write, and keeps their schemas up to date.

The schema of `NAME.db` is the numbered scripts in `migrations/NAME/`; `user_version` is the number of the last one that
was applied. A released script is never edited. No caller sees "database is locked": SQLite's own waiting is unfair
under many writers, so we wait again on top of it.
"""

from __future__ import annotations

import random
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

from knowbound.errors import StoreError

_WAIT_SECONDS = 5.0  # one round of SQLite's own waiting
_GIVE_UP_SECONDS = 120.0  # a writer that holds the file for longer hangs
_Result = TypeVar("_Result")


class Database:
    """One SQLite file. Threads may share it; processes open their own."""

    def __init__(self, path: Path, *, synchronous: str = "NORMAL") -> None:
        self.path = path
        self._lock = RLock()
        self._connection = _connected(path)
        try:
            if self.rows("PRAGMA journal_mode")[0][0] != "wal":
                self.rows("PRAGMA journal_mode = WAL")
            self.rows(f"PRAGMA synchronous = {synchronous}")
            self.rows("PRAGMA foreign_keys = ON")
            self._migrate()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Leave a complete file behind."""
        with self._lock:
            self._connection.close()

    def rows(self, query: str, *values: str | int | bytes) -> list[Any]:
        """Every row of the query."""
        with self._lock, explained(self.path):
            return _waited(lambda: self._connection.execute(query, values).fetchall())

    def row(self, query: str, *values: str | int | bytes) -> Any:
        """The first row of the query, or None."""
        return next(iter(self.rows(query, *values)), None)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """All of it or nothing of it. Once it has begun it cannot be refused: only the beginning has to wait."""
        with self._lock, explained(self.path):
            db = self._connection
            try:  # also around the beginning: an interrupt may come right after it
                _waited(lambda: db.execute("BEGIN IMMEDIATE"))
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def _migrate(self) -> None:
        version, newest = self.rows("PRAGMA user_version")[0][0], newest_schema(self.path.name)
        if version > newest:
            raise StoreError(
                "store-newer", f"{self.path} has schema {version}; this knowbound knows {newest}. Try: update knowbound"
            )
        for number, script in _scripts(self.path.name) if version < newest else ():
            with self.writing() as db:
                # Another process may have done it while we waited.
                if db.execute("PRAGMA user_version").fetchone()[0] < number:
                    for statement in _statements(script.read_text("utf-8")):
                        db.execute(statement)
                    db.execute(f"PRAGMA user_version = {number}")


def newest_schema(name: str) -> int:
    """The number of the last migration of a database file of this name."""
    return _scripts(name)[-1][0]


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """SQLite's errors as ours."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        if _is_held(error):
            raise StoreError(
                "store-busy", f"{path} is held by another process. Try again when it has ended."
            ) from error
        if any(words in str(error) for words in ("readonly", "unable to open", "full")):
            raise StoreError("store-unwritable", f"Cannot write {path}: {error}. Try: KNOWBOUND_HOME=DIR") from error
        raise StoreError("store-corrupt", f"{path} cannot be used: {error}. Try: move it away and run again") from error


def _connected(path: Path) -> sqlite3.Connection:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        ignore = path.parent / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", "utf-8")  # the data folder never lands in a commit by accident
        return sqlite3.connect(path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False)
    except (OSError, sqlite3.OperationalError) as error:
        raise StoreError(
            "store-unwritable", f"Cannot write the data folder {path.parent}: {error}. Try: KNOWBOUND_HOME=DIR"
        ) from error


def _scripts(name: str) -> list[tuple[int, Any]]:
    """The migrations of a database file, in order: number and file."""
    folder = resources.files("knowbound.store").joinpath("migrations", name.removesuffix(".db"))
    return sorted((int(entry.name[:4]), entry) for entry in folder.iterdir() if entry.name.endswith(".sql"))


def _statements(script: str) -> Iterator[str]:
    """The statements of a script one by one: executescript would commit in the middle of a migration."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _waited(attempt: Callable[[], _Result]) -> _Result:
    """The result of the attempt, tried again while others hold the file."""
    deadline = time.monotonic() + _GIVE_UP_SECONDS
    while True:
        try:
            return attempt()
        except sqlite3.OperationalError as error:
            if not _is_held(error) or time.monotonic() > deadline:
                raise
            time.sleep(random.uniform(0.001, 0.05))


def _is_held(error: sqlite3.DatabaseError) -> bool:
    return isinstance(error, sqlite3.OperationalError) and ("locked" in str(error) or "busy" in str(error))
