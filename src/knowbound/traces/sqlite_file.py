"""Tables of a SQLite file in which an agent keeps its sessions.

The file is somebody else's data: it is opened for reading only, its schema is not trusted, and only real tables are
read, never a view. A value over the limit of a line is left out, as a line of a transcript would be.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from knowbound.remote_files import address_of
from knowbound.traces.source import MAX_LINE_BYTES, SQLITE_SIGNATURE, WRITE_AHEAD, Tally


def has_table(head: bytes, name: str) -> bool:
    """Report whether the head of a file is that of a SQLite file with a table of this name."""
    if not head.startswith(SQLITE_SIGNATURE):
        return False
    made = (f"CREATE TABLE {quote}{name}{quote}".encode() for quote in ("", "`", '"'))
    return any(one in head for one in made)


@contextmanager
def tables_of(path: Path, tally: Tally) -> Iterator[Tables | None]:
    """Open the tables of a file; None, counted, if it cannot be read."""
    try:
        db = _opened(path)
    except (OSError, sqlite3.Error) as error:
        tally.skip(str(path), 1, f"unreadable: {type(error).__name__}")
        yield None
        return
    with closing(db):
        yield Tables(db, str(path), tally)


class Tables:
    """The tables of one file."""

    def __init__(self, db: sqlite3.Connection, path: str, tally: Tally) -> None:
        self._db, self._path, self._tally = db, path, tally
        self._columns: dict[str, frozenset[str]] = {}

    def rows(self, table: str, columns: str, where: str = "", *given: object) -> Iterator[dict[str, Any]]:
        """Yield rows of a table, by the names of those columns that it has; counted as lines."""
        names = [name for name in columns.split() if name in self._columns_of(table)]
        if not names:
            return
        sizes = " + ".join(f"COALESCE(LENGTH(CAST({name} AS BLOB)), 0)" for name in names)
        query = f"SELECT {sizes} > {MAX_LINE_BYTES}, {', '.join(names)} FROM {table} {where}"
        try:
            for number, row in enumerate(self._db.execute(query, given), 1):
                self._tally.lines += 1
                if row[0]:
                    self._tally.skip(self._path, number, "oversized")
                else:
                    yield dict(zip(names, row[1:], strict=True))
        except (sqlite3.Error, UnicodeError) as error:
            self._tally.skip(self._path, 1, f"unreadable: {type(error).__name__}")

    def _columns_of(self, table: str) -> frozenset[str]:
        if table not in self._columns:
            is_table = "SELECT COUNT(*) FROM sqlite_master WHERE type = 'table' AND name = ?"
            try:
                known = self._db.execute(is_table, (table,)).fetchone()[0]
                named = self._db.execute(f"PRAGMA table_info({table})") if known else ()
                self._columns[table] = frozenset(row[1] for row in named)
            except (sqlite3.Error, UnicodeError) as error:
                self._tally.skip(self._path, 1, f"unreadable: {type(error).__name__}")
                return frozenset()
        return self._columns[table]


def _opened(path: Path) -> sqlite3.Connection:
    """Open the file for reading. Without a write-ahead file beside it nothing is created there."""
    if address_of(path):
        raise OSError("a SQLite file at an address")
    quoted = os.path.abspath(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    is_live = os.path.exists(f"{path}{WRITE_AHEAD}") and os.path.getsize(f"{path}{WRITE_AHEAD}") > 0
    db = sqlite3.connect(f"file:{quoted}?mode=ro{'' if is_live else '&immutable=1'}", uri=True, timeout=2.0)
    db.execute("PRAGMA trusted_schema = OFF")
    return db
