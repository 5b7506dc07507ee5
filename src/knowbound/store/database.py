"""Opens the SQLite files of a data folder for reading and writing, and keeps their schemas up to date.

The schema of `NAME.db` is the numbered scripts in `migrations/NAME/`; `user_version` is the number of the last applied
script. A released script is never edited: corrections get a new number. A new file is made under another name and moved
into place whole, so an empty file was damaged. No caller sees "database is locked": SQLite's own waiting is unfair
under many writers, so we wait again on top of it.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from importlib import resources
from pathlib import Path
from threading import RLock
from typing import Any, TypeVar

import msgspec

from knowbound.errors import StoreError
from knowbound.store.data_dir import DATA_FOLDER, FINDINGS, INDEX, INJECTIONS, NOBODYS, owner_of
from knowbound.store.marking import mark_folder
from knowbound.user_files import PRIVATE_FILE, make_file, make_folder, make_private

_WAIT_SECONDS = 5.0  # one round of SQLite's own waiting
_GIVE_UP_SECONDS = 120.0  # a writer that holds the file longer hangs
_COLUMNS = "SELECT t.name, c.name FROM sqlite_master AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table'"
_LOCKED_CODES = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_UNUSABLE_CODES = (
    sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_AUTH,
)  # fmt: skip
_Result = TypeVar("_Result")


class Database:
    """One SQLite file. Threads may share the object; processes open their own."""

    def __init__(self, path: Path, *, synchronous: str = "NORMAL") -> None:
        self.path = path
        self._lock = RLock()
        self._connection = _connected(path)
        try:
            version = self._version()
            if self.rows("PRAGMA journal_mode")[0][0] != "wal":
                self.rows("PRAGMA journal_mode = WAL")
            self.rows(f"PRAGMA synchronous = {synchronous}")
            self.rows("PRAGMA foreign_keys = ON")
            if version < newest_schema(path.name):
                with self.writing() as db:
                    if path.name == INDEX:  # the new schema has no such table
                        copy_injected_table(db, path.parent)
                    _apply_scripts(db, path.name)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the connection, which leaves a complete file."""
        with self._lock:
            self._connection.close()

    def compact(self) -> None:
        """Remove deleted rows from the free pages of the file and from its write-ahead log."""
        self.rows("VACUUM")
        deadline = time.monotonic() + _GIVE_UP_SECONDS
        while self.row("PRAGMA wal_checkpoint(TRUNCATE)")[0]:  # a reader uses an older state
            if time.monotonic() > deadline:
                raise StoreError(
                    "store-busy", f"{self.path}-wal is held by another process. Try again when it has ended."
                )
            time.sleep(0.05)

    def compact_if_idle(self) -> None:
        """Rewrite the file without its free pages, unless another process uses it now."""
        with self._lock, suppress(sqlite3.OperationalError):
            self._connection.execute("VACUUM")

    def rows(self, query: str, *values: str | int | bytes) -> list[Any]:
        """Return all rows of a query."""
        with self._lock, as_store_errors(self.path):
            return _retried_while_locked(lambda: self._connection.execute(query, values).fetchall())

    def write(self, query: str, *values: str | int | bytes) -> sqlite3.Cursor:
        """Execute one statement, which is a transaction of its own."""
        with self._lock, as_store_errors(self.path):
            return _retried_while_locked(lambda: self._connection.execute(query, values))

    def row(self, query: str, *values: str | int | bytes) -> Any:
        """Return the first row of a query, or None."""
        return next(iter(self.rows(query, *values)), None)

    def decoded(self, decoder: msgspec.msgpack.Decoder[_Result], data: bytes) -> _Result:
        """Decode a stored value. Raises StoreError."""
        with as_store_errors(self.path):
            return decoder.decode(data)

    def check(self) -> None:
        """Raise StoreError unless the file is whole, has every column of the schema, and can be written.

        This reads the whole file: it is meant for the start of an evaluation that costs money, and for repairs.
        """
        result = self.row("PRAGMA quick_check(1)")[0]
        if result != "ok":
            raise _corrupt(self.path, result)
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as fresh:
            _apply_scripts(fresh, self.path.name)
            schema_columns = set(fresh.execute(_COLUMNS))
        missing = sorted(".".join(column) for column in schema_columns - set(self.rows(_COLUMNS)))
        if missing:
            raise _corrupt(self.path, f"{', '.join(missing)} missing")
        with self.writing() as db:  # a write that changes nothing
            db.execute(f"PRAGMA user_version = {newest_schema(self.path.name)}")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction: all of it or nothing is written. Other writers can delay only its BEGIN."""
        with self._lock, as_store_errors(self.path):
            db = self._connection
            try:  # around BEGIN too: an interrupt may come right after it
                _retried_while_locked(lambda: db.execute("BEGIN IMMEDIATE"))
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def _version(self) -> int:
        """Return the number of the schema; raise StoreError for an unknown schema."""
        version, newest = int(self.row("PRAGMA user_version")[0]), newest_schema(self.path.name)
        if version > newest:
            raise StoreError(
                "store-newer", f"{self.path} has schema {version}; this knowbound knows {newest}. Try: update knowbound"
            )
        if version == 0 and self.row("SELECT 1 FROM sqlite_master"):
            raise _corrupt(self.path, "it holds tables of something else")
        return version


class FindingsStore:
    """A part of the results of one data folder. Threads may share the object."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._db = Database(home / FINDINGS)

    def close(self) -> None:
        """Close the database."""
        self._db.close()


class SessionResults(FindingsStore):
    """Encoded results of one kind by session, each valid while its state stays the same."""

    _table, _column = "", ""

    def states(self) -> dict[str, str]:
        """Return the state of every session that is stored, by key."""
        return dict(self._db.rows(f"SELECT key, state FROM {self._table}"))

    def bodies(self, keys: Iterable[str]) -> Iterator[tuple[str, bytes]]:
        """Yield the stored bytes of these sessions, with their keys."""
        query = f"SELECT {self._column} FROM {self._table} WHERE key = ?"
        yield from ((key, body) for key in keys for (body,) in self._db.rows(query, key))


def _apply_scripts(db: sqlite3.Connection, name: str) -> None:
    """Apply the missing migrations. Another process may have applied them while we waited."""
    version = db.execute("PRAGMA user_version").fetchone()[0]
    for number, script in _scripts(name):
        if number > version:
            for statement in _statements(script.read_text("utf-8")):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {number}")


def newest_schema(name: str) -> int:
    """Return the number of the last migration of a database file."""
    return _scripts(name)[-1][0]


@contextmanager
def as_store_errors(path: Path) -> Iterator[None]:
    """Turn errors of SQLite and of decoders into StoreError."""
    try:
        yield
    except sqlite3.ProgrammingError:
        raise  # a defect of ours, not of the file
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0)
        if _is_locked(error):
            raise StoreError(
                "store-busy", f"{path} is held by another process. Try again when it has ended."
            ) from error
        if code & 0xFF in _UNUSABLE_CODES and code != sqlite3.SQLITE_IOERR_SHORT_READ:  # a short read is damage
            raise StoreError("store-unwritable", f"Cannot write {path}: {error}. Try: KNOWBOUND_HOME=DIR") from error
        raise _corrupt(path, str(error)) from error
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise _corrupt(path, str(error)) from error


def _corrupt(path: Path, reason: str) -> StoreError:
    advice = "knowbound kms sync --all, which rebuilds it" if path.name == INDEX else "restore a copy, or move it away"
    return StoreError("store-corrupt", f"{path} cannot be used: {reason}. Nothing was changed. Try: {advice}")


def _connected(path: Path) -> sqlite3.Connection:
    """Connect to a file, made with its folder if it is missing. Raises StoreError."""
    try:
        make_folder(path.parent)
        if path.parent.name == DATA_FOLDER:  # a folder that the user named stays unchanged
            make_private(path.parent)
        ignore = path.parent / ".gitignore"
        if not ignore.exists():
            make_file(ignore, b"*\n")  # keeps the data folder out of commits
        if owner_of(path.parent) == NOBODYS:  # the caller has checked that the folder may be used
            with suppress(StoreError):
                mark_folder(path.parent)
        if not path.exists():
            _create_whole(path)
        if path.is_file() and not path.stat().st_size:
            raise _corrupt(path, "it is empty")
        make_private(path)
        return sqlite3.connect(path, timeout=_WAIT_SECONDS, isolation_level=None, check_same_thread=False)
    except (OSError, sqlite3.OperationalError) as error:
        raise StoreError("store-unwritable", f"Cannot write {path}: {error}. Try: KNOWBOUND_HOME=DIR") from error


def _create_whole(path: Path) -> None:
    """Make the file under another name and move it into place, unless another process was quicker."""
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        # SQLite makes the files -wal and -shm with the mode of the database.
        os.close(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE))
        with closing(sqlite3.connect(draft, isolation_level=None)) as db:
            db.execute("BEGIN")
            _apply_scripts(db, path.name)
            db.execute("COMMIT")
        try:
            os.link(draft, path)
        except FileExistsError:
            return
        except OSError:  # a file system without links
            os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)


def _scripts(name: str) -> list[tuple[int, Any]]:
    """Return number and file of the migrations of a database file, in order."""
    folder = resources.files("knowbound.store").joinpath("migrations", name.removesuffix(".db"))
    return sorted((int(entry.name[:4]), entry) for entry in folder.iterdir() if entry.name.endswith(".sql"))


def _statements(script: str) -> Iterator[str]:
    """Yield the statements of a script. executescript would commit in the middle of a migration."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""


def _retried_while_locked(attempt: Callable[[], _Result]) -> _Result:
    """Return the result of the attempt, repeated while other processes hold the file."""
    deadline = time.monotonic() + _GIVE_UP_SECONDS
    while True:
        try:
            return attempt()
        except sqlite3.OperationalError as error:
            if not _is_locked(error) or time.monotonic() > deadline:
                raise
            time.sleep(random.uniform(0.001, 0.05))


def _is_locked(error: sqlite3.DatabaseError) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in _LOCKED_CODES


_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_COMMON_COLUMNS = ("time", "session", "turn", "prompt_id", "prompt")
_ITEM_COLUMNS = ("item", "backend", "excerpt", "content_length", "confidence", "rank", "score")


def copy_injected_table(db: sqlite3.Connection, home: Path) -> None:
    """Write the rows of the table, if it exists, to the log. Raises StoreError."""
    if not db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'injected'").fetchone():
        return
    with closing(db.execute("SELECT * FROM injected ORDER BY id")) as rows:
        names = [column[0] for column in rows.description]
        write_log(home, [dict(zip(names, row, strict=True)) for row in rows])


def write_log(home: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows of the table, as columns by name, to the log. Raises StoreError."""
    injections: dict[str, dict[str, Any]] = {}
    for row in rows:
        # Rows without `record` belong to one injection if all common columns are equal.
        digest = hashlib.sha256(repr([row[name] for name in _COMMON_COLUMNS]).encode()).hexdigest()
        id_ = row.get("record") or f"table:{digest}"
        common = {"time": row["time"], "id": id_, **{name: row[name] for name in _COMMON_COLUMNS[1:]}}
        injection = injections.setdefault(id_, common | {"items": [], "pool": []})
        injection["items"].append({name: row[name] for name in _ITEM_COLUMNS})
        injection["pool"] = injection["pool"] or _pool_of_text(row["pool"])
    days: dict[str, list[dict[str, Any]]] = {}
    for injection in injections.values():
        match = _DAY.match(injection["time"])
        days.setdefault(match[0] if match else time.strftime("%Y-%m-%d", time.gmtime()), []).append(injection)
    try:
        for day, found in days.items():
            _write_day(home / INJECTIONS, day, found)
    except OSError as error:
        raise StoreError(
            "store-unwritable",
            f"Cannot write {home / INJECTIONS}: {error}. Nothing was changed. Try: KNOWBOUND_HOME=DIR",
        ) from error


def _write_day(folder: Path, day: str, injections: list[dict[str, Any]]) -> None:
    """Write a file of the log; its name depends on its content, so that a repetition writes the same file."""
    data = b"".join(json.dumps(injection, separators=(",", ":")).encode() + b"\n" for injection in injections)
    make_folder(folder)
    path = folder / f"{day}.{hashlib.sha256(data).hexdigest()[:16]}.jsonl"
    make_file(path, data)
    for written in (path, folder):  # on the disk before the table is dropped
        descriptor = os.open(written, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _pool_of_text(text: str) -> list[Any]:
    """Return the candidates in a column; none if it is empty or damaged."""
    try:
        found = json.loads(text) if text else []
    except ValueError:
        return []
    return found if isinstance(found, list) else []
