"""The SQLite file in `.knowbound/`: opened, migrated by numbered scripts, and its failures put into words."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

from knowbound.errors import StoreError

NAME = "knowbound.db"
_WAIT_SECONDS = 20.0
_SECTION = "knowbound.store.migrations"


def migrations() -> list[tuple[int, str, str]]:
    """The numbered scripts, in order: number, name, text."""
    found = []
    for entry in resources.files("knowbound.store").joinpath("migrations").iterdir():
        if entry.name.endswith(".sql"):
            found.append((int(entry.name.split("_")[0]), entry.name, entry.read_text("utf-8")))
    return sorted(found)


def open_database(home: Path) -> sqlite3.Connection:
    """The database of a data folder, made and brought up to date where needed."""
    path = home / NAME
    try:
        home.mkdir(parents=True, exist_ok=True)
        _keep_out_of_git(home)
        db = sqlite3.connect(path, timeout=_WAIT_SECONDS, isolation_level=None)
    except (OSError, sqlite3.OperationalError) as error:
        raise StoreError(
            "store-unwritable",
            f"Cannot write the data folder {home}: {error}. Try: KNOWBOUND_HOME=DIR knowbound observe",
        ) from error
    with explained(path):
        if db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
            db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        _migrate(db, path)
    return db


def _keep_out_of_git(home: Path) -> None:
    """The data folder ignores itself, so that it never lands in a commit by accident."""
    ignore = home / ".gitignore"
    if not ignore.exists():
        ignore.write_text("*\n", "utf-8")


def _migrate(db: sqlite3.Connection, path: Path) -> None:
    version = db.execute("PRAGMA user_version").fetchone()[0]
    scripts = migrations()
    newest = scripts[-1][0]
    if version > newest:
        raise StoreError(
            "store-newer", f"{path} has schema {version}; this knowbound knows {newest}. Try: update knowbound"
        )
    for number, _, text in scripts:
        if number > version:
            with transaction(db):
                # Another process may have done it while we waited for the lock.
                if db.execute("PRAGMA user_version").fetchone()[0] < number:
                    for statement in statements(text):
                        db.execute(statement)
                    db.execute(f"PRAGMA user_version = {number}")


def statements(script: str) -> Iterator[str]:
    """The statements of a script one by one: executescript would commit in the middle of a migration."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing of it."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """SQLite's errors as ours."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            raise StoreError(
                "store-busy", f"{path} is held by another process. Try again when it has ended."
            ) from error
        if "readonly" in str(error) or "unable to open" in str(error) or "full" in str(error):
            raise StoreError("store-unwritable", f"Cannot write {path}: {error}. Try: KNOWBOUND_HOME=DIR") from error
        raise StoreError("store-corrupt", f"{path} cannot be used: {error}. Try: move it away and run again") from error
    except sqlite3.DatabaseError as error:
        raise StoreError("store-corrupt", f"{path} cannot be used: {error}. Try: move it away and run again") from error
