"""The read model: what every backend holds, in one local SQLite file that ranking, hooks and reports read.

Written by synchronisation and after every write to a backend of record, always by whoever holds the write lock.
Everything about items in it can be made again from the backends; the logs in it cannot, so a rebuild saves them.
"""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from threading import RLock
from typing import NamedTuple

import msgspec

from knowbound.core.item import FlagKind, Item
from knowbound.errors import StoreError
from knowbound.kms.backends.protocol import Backend
from knowbound.kms.index.codes import refresh_codes
from knowbound.kms.index.entry import MADE_BY, Row, item_of, record_of, row_of
from knowbound.kms.index.serving import Keys, marks, settle
from knowbound.kms.write_lock import one_writer
from knowbound.store.database import explained
from knowbound.store.sqlite_file import open_file, patiently, writing

NAME = "index.db"
_SCHEMA = 1
_CHUNK = 500
_UPSERT = (
    f"INSERT INTO item ({', '.join(Row._fields)}) VALUES ({marks(Row._fields)}) "
    "ON CONFLICT (id, backend) DO UPDATE SET " + ", ".join(f"{name} = excluded.{name}" for name in Row._fields[2:])
)
_LOGS = {
    "injected": "session, turn, prompt_id, time, prompt, item, backend, excerpt, content_length, confidence, rank, "
    "score, pool",
    "correction": "item, tool, time, by, session, detail",
    "reaped": "item, content_sha, time",
    "meta": "key, value",  # how far journals were read
}
_OWN_META = "DELETE FROM meta WHERE key = 'made_by' OR key LIKE 'stamp %'"


class Known(NamedTuple):
    """An item as a backend holds it, and whether the index serves it."""

    item: Item
    backend: str
    served: bool


class Correction(msgspec.Struct, frozen=True):
    """One corrective call (specification 2, "The corrective loop")."""

    item: str
    tool: str  # kms_update, kms_delete, kms_flag, kms_supersede, kms_reap
    time: str
    by: str
    session: str
    detail: str  # JSON


class Synced(msgspec.Struct):
    """What a synchronisation changed."""

    written: int = 0
    dropped: int = 0

    def __iadd__(self, other: Synced) -> Synced:
        return Synced(self.written + other.written, self.dropped + other.dropped)


class Index:
    """The index of one data folder. Threads may share it; processes open their own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.path = home / NAME
        self._lock = RLock()
        self._db = open_file(self.path, "index.sql", _SCHEMA, synchronous="NORMAL")

    def close(self) -> None:
        """Leave a complete file behind."""
        with self._lock:
            self._db.close()

    @contextmanager
    def one_writer(self) -> Iterator[None]:
        """The turn to check and to write. What a killed process left half told is told first by the caller."""
        with one_writer(self.home):
            yield

    # Writing: the caller holds the write lock.

    def sync(self, backend: Backend, *, everything: bool = False) -> Synced:
        """What the backend wrote since the last time; with `everything`, also what it no longer holds is dropped."""
        stamp = "" if everything or self._meta("made_by") != MADE_BY else self._meta(f"stamp {backend.name}")
        items, next_stamp = backend.changed_since(stamp)
        done, seen = Synced(), set()
        while chunk := list(islice(items, _CHUNK)):
            done.written += self._write(backend.name, chunk)
            if everything:
                seen |= {item.id for item in chunk}
        if everything:
            held = {row[0] for row in self._rows("SELECT id FROM item WHERE backend = ?", backend.name)}
            done.dropped = len(held - seen)
            self._drop(backend.name, sorted(held - seen))
        with self._writing():
            self._set_meta(f"stamp {backend.name}", next_stamp)
        return done

    def made(self, backends: Iterable[Backend]) -> None:
        """Every row is of these rules now; backends no longer in use are forgotten."""
        names = [backend.name for backend in backends]
        for (name,) in self._rows(f"SELECT DISTINCT backend FROM item WHERE backend NOT IN ({marks(names)})", *names):
            self._drop(name, [row[0] for row in self._rows("SELECT id FROM item WHERE backend = ?", name)])
            with self._writing():
                self._db.execute("DELETE FROM meta WHERE key = ?", (f"stamp {name}",))
        with self._writing():
            self._set_meta("made_by", MADE_BY)

    def is_current(self, backends: Iterable[Backend]) -> bool:
        """Whether these backends, and no others, were read once, by the rules of today."""
        stamped = {row[0] for row in self._rows("SELECT key FROM meta WHERE key LIKE 'stamp %'")}
        return stamped == {f"stamp {backend.name}" for backend in backends} and self._meta("made_by") == MADE_BY

    def expect(self, ids: Iterable[str]) -> None:
        """These are about to be written: if we are killed, the next writer reads them again."""
        with self._writing():
            self._db.executemany("INSERT OR IGNORE INTO pending VALUES (?)", ((id_,) for id_ in ids))

    def expected(self) -> list[str]:
        """What a killed writer left behind."""
        return [row[0] for row in self._rows("SELECT item FROM pending")]

    def refresh(
        self,
        held: Iterable[tuple[Backend, str]],
        log: Sequence[Correction] = (),
        reaped: Sequence[tuple[str, str]] = (),
        welcome: Sequence[str] = (),
    ) -> None:
        """Read these ids from these backends again, keep the log of why, and note what was taken out (id, content).

        `welcome` are contents and ids that were taken out once and are brought back on purpose.
        """
        read = [(backend.name, id_, backend.get(id_)) for backend, id_ in held]
        ids = sorted({id_ for _, id_, _ in read})
        rows = [row_of(item, name) for name, _, item in read if item is not None]
        with self._writing():
            keys = self._keys_of_ids(ids)
            self._db.executemany(
                "DELETE FROM reaped WHERE content_sha = ? OR item = ?", ((key, key) for key in welcome)
            )
            self._db.executemany(
                "INSERT INTO reaped VALUES (?, ?, ?)", ((id_, sha, log[0].time if log else "") for id_, sha in reaped)
            )
            self._db.executemany(
                "DELETE FROM item WHERE backend = ? AND id = ?", [one[:2] for one in read if one[2] is None]
            )
            self._db.executemany(_UPSERT, rows)
            _add_keys(keys, rows)
            settle(self._db, keys)
            self._db.executemany(
                "INSERT INTO correction (item, tool, time, by, session, detail) VALUES (?, ?, ?, ?, ?, ?)",
                map(msgspec.structs.astuple, log),
            )
            self._db.executemany("DELETE FROM pending WHERE item = ?", ((id_,) for id_ in ids))

    def _write(self, backend: str, items: list[Item]) -> int:
        """Rows for these items where they differ from what is there."""
        newest = {item.id: item for item in items}
        known = {
            row[0]: row[1]
            for row in self._rows(
                f"SELECT id, record FROM item WHERE backend = ? AND id IN ({marks(list(newest))})", backend, *newest
            )
        }
        is_made_anew = self._meta("made_by") != MADE_BY
        rows = [
            row_of(item, backend) for item in newest.values() if is_made_anew or known.get(item.id) != record_of(item)
        ]
        if rows:
            with self._writing():
                keys = self._keys_of_ids([row.id for row in rows])
                self._db.executemany(_UPSERT, rows)
                _add_keys(keys, rows)
                settle(self._db, keys)
        return len(rows)

    def _drop(self, backend: str, ids: list[str]) -> None:
        for start in range(0, len(ids), _CHUNK):
            batch = ids[start : start + _CHUNK]
            with self._writing():
                keys = self._keys_of_ids(batch)
                self._db.executemany("DELETE FROM item WHERE backend = ? AND id = ?", ((backend, id_) for id_ in batch))
                settle(self._db, keys)

    def _keys_of_ids(self, ids: Sequence[str]) -> Keys:
        """What rows with these ids are joined by, before they change."""
        keys = Keys(set(ids), set())
        for start in range(0, len(ids), _CHUNK):
            batch = ids[start : start + _CHUNK]
            for copy_of, sha in self._db.execute(
                f"SELECT copy_of, content_sha FROM item WHERE id IN ({marks(batch)})", batch
            ):
                keys.ids.update([copy_of] if copy_of else [])
                keys.contents.add(sha)
        return keys

    # Reading

    def known(self, id_: str) -> list[Known]:
        """The item in every backend that holds it."""
        return self._known("id = ?", id_)

    def same_content(self, sha: str) -> list[Known]:
        """Every item with this content, flagged or not."""
        return self._known("content_sha = ?", sha)

    def flagged(self, kinds: Iterable[FlagKind]) -> list[Known]:
        """Items with these flags."""
        names = [str(kind) for kind in kinds]
        return self._known(f"flag <> '' AND flag IN ({marks(names)})", *names)

    def predecessors(self, id_: str) -> list[Known]:
        """Items that this one superseded."""
        return self._known("superseded_by = ? AND superseded_by <> ''", id_)

    def blocked_copies(self) -> list[Known]:
        """Items kept back only because of what they are copies of."""
        return self._known("served = 0 AND screened = '' AND flag NOT IN ('RETRACTED', 'SUPERSEDED', 'DELETED')")

    def anchored(self, file: str = "") -> list[Known]:
        """Items that come from a file, or from any."""
        if file:
            return self._known("anchor_file = ? AND anchor_file <> ''", file)
        return self._known("anchor_file <> ''")

    def near(self, query: str, limit: int) -> list[tuple[Known, bytes]]:
        """Items that share words with an FTS5 query, best first, with their vectors."""
        rows = self._rows(
            "SELECT item.record, item.backend, item.served, item.vector FROM item_text "
            "JOIN item ON item.rowid = item_text.rowid WHERE item_text MATCH ? ORDER BY rank LIMIT ?",
            query,
            limit,
        )
        return [(Known(item_of(row[0]), row[1], bool(row[2])), row[3]) for row in rows]

    def near_code(self, code: bytes, limit: int) -> list[tuple[Known, bytes]]:
        """Served items whose codes share the most bits with this one, with their vectors: looks at every item."""
        wanted = int.from_bytes(code)
        rows = self._rows("SELECT rowid, code FROM item WHERE served = 1")
        nearest = heapq.nsmallest(limit, rows, key=lambda row: (int.from_bytes(row[1]) ^ wanted).bit_count())
        found = self._rows(
            f"SELECT record, backend, served, vector FROM item WHERE rowid IN ({marks([''] * len(nearest))})",
            *(row[0] for row in nearest),
        )
        return [(Known(item_of(row[0]), row[1], bool(row[2])), row[3]) for row in found]

    def superseded(self) -> list[Known]:
        """Every item that has a successor, whatever flag lies on top."""
        return self._known("superseded_by <> ''")

    def is_reaped(self, item: Item) -> bool:
        """Whether this item, its content or what it is a copy of was taken out for good."""
        query = "SELECT 1 FROM reaped WHERE item IN (?, ?) OR content_sha = ? LIMIT 1"
        return bool(self._rows(query, item.id, item.copy_of or item.id, item.content_sha))

    def was_reaped(self, sha: str) -> str:
        """When this content was taken out for good, or an empty string."""
        rows = self._rows("SELECT max(time) FROM reaped WHERE content_sha = ?", sha)
        return rows[0][0] or ""

    def corrections(self, item: str = "") -> list[Correction]:
        """The log of corrective calls, oldest first: of one item, or all."""
        where, values = (" WHERE item = ?", (item,)) if item else ("", ())
        rows = self._rows(f"SELECT item, tool, time, by, session, detail FROM correction{where} ORDER BY id", *values)
        return [Correction(*row) for row in rows]

    def counts(self) -> dict[str, tuple[int, int]]:
        """Items and served items per backend."""
        rows = self._rows("SELECT backend, count(*), sum(served) FROM item GROUP BY backend ORDER BY backend")
        return {backend: (items, served) for backend, items, served in rows}

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection of its own to search with."""
        with explained(self.path), closing(sqlite3.connect(self.path, timeout=20.0)) as db:
            yield db

    def is_made(self) -> bool:
        """Whether it was ever synchronised."""
        return bool(self._meta("made_by"))

    def check(self) -> None:
        """Raise StoreError where the file is damaged."""
        found = self._rows("PRAGMA quick_check(1)")[0][0]
        if found != "ok":
            raise StoreError("store-corrupt", f"{self.path} is damaged: {found}. Try: knowbound kms sync")

    def _known(self, where: str, *values: str) -> list[Known]:
        rows = self._rows(f"SELECT record, backend, served FROM item WHERE {where}", *values)
        return [Known(item_of(record), backend, bool(served)) for record, backend, served in rows]

    def _meta(self, key: str) -> str:
        rows = self._rows("SELECT value FROM meta WHERE key = ?", key)
        return str(rows[0][0]) if rows else ""

    def _set_meta(self, key: str, value: str) -> None:
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def _rows(self, query: str, *values: str | int) -> list[sqlite3.Row]:
        with self._lock, explained(self.path):
            return patiently(lambda: self._db.execute(query, values).fetchall())

    @contextmanager
    def _writing(self) -> Iterator[None]:
        with self._lock, explained(self.path), writing(self._db):
            yield
            refresh_codes(self._db)


def _add_keys(keys: Keys, rows: Iterable[Row]) -> None:
    for row in rows:
        keys.ids.update((row.id, row.copy_of) if row.copy_of else (row.id,))
        keys.contents.add(row.content_sha)


def rebuilt(home: Path) -> Index:
    """An empty index in the place of one that is damaged, with what can be read of the old one's logs."""
    with one_writer(home):
        damaged = home / f"{NAME}.damaged"
        for ending in ("", "-wal", "-shm"):
            old = home / (NAME + ending)
            if old.exists():
                old.replace(home / (damaged.name + ending))
        index = Index(home)
        with index._writing():
            for table, columns in _LOGS.items():
                index._db.executemany(
                    f"INSERT INTO {table} ({columns}) VALUES ({marks(columns.split(','))})",
                    _readable(damaged, table, columns),
                )
            index._db.execute(_OWN_META)
        return index


def _readable(path: Path, table: str, columns: str) -> list[tuple[object, ...]]:
    """Rows as far as they can be read."""
    found: list[tuple[object, ...]] = []
    try:
        db = sqlite3.connect(path)
        try:
            for row in db.execute(f"SELECT {columns} FROM {table}"):
                found.append(row)
        finally:
            db.close()
    except sqlite3.Error:
        pass  # this is where the damage begins
    return found
