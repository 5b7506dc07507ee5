"""The index: the items of every backend, in one local SQLite file that search, hooks and reports read.

Synchronisation writes it, and so does every write to a backend, always under the write lock. Everything about items can
be made again from the backends; the logs in the index cannot, so a rebuild saves them.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from knowbound.core.item import FlagKind, Item, content_hashes
from knowbound.errors import StoreError
from knowbound.kms.backends.protocol import Backend, Removed, pages
from knowbound.kms.index.codes import refresh_codes
from knowbound.kms.index.entry import MADE_BY, IndexRow, item_of, marks, record_of, row_of, serving_updated
from knowbound.kms.index.freshness import note_current
from knowbound.kms.index.search import SPLIT_BY, make_terms
from knowbound.kms.pieces import Rewordings
from knowbound.store.data_dir import INDEX, OURS, OWNER, is_our_mark, owner_of
from knowbound.store.database import Database, as_store_errors, write_log
from knowbound.store.marking import mark_folder
from knowbound.store.read_only import open_read_only
from knowbound.text.clock import utc_now

if TYPE_CHECKING:
    from knowbound.kms.changes import StoreWrite

_CHUNK_ITEMS = 500  # written in one transaction
_UPSERT = (
    f"INSERT INTO item ({', '.join(IndexRow._fields)}) VALUES ({marks(IndexRow._fields)}) "
    "ON CONFLICT (id, backend) DO UPDATE SET " + ", ".join(f"{name} = excluded.{name}" for name in IndexRow._fields[2:])
)
_DELETE = "DELETE FROM item WHERE backend = ? AND id = ?"
_INSERT_CORRECTION = "INSERT INTO correction (item, tool, time, by, session, detail) VALUES (?, ?, ?, ?, ?, ?)"
_LOG_TABLES = ("correction", "reaped", "intent", "meta")


class Correction(msgspec.Struct, frozen=True):
    """One corrective call (specification 2, "The corrective loop")."""

    item: str
    tool: str  # kms_update, kms_delete, kms_flag, kms_supersede, kms_reap
    time: str
    by: str
    session: str
    detail: str  # JSON


class IndexedItem(NamedTuple):
    """An item as a backend holds it, and whether the index serves it."""

    item: Item
    backend: str
    served: bool


class SupersededRow(NamedTuple):
    """The columns of a superseded item that are needed to recognise a rewording."""

    id: str
    content: str
    superseded_by: str
    code: bytes
    vector: bytes


class ReapedContent(NamedTuple):
    """A content that was removed for good: its item, and the time."""

    item: str
    time: str


class Synced(msgspec.Struct):
    """The numbers of rows that a synchronisation changed."""

    written: int = 0
    dropped: int = 0


class Index:
    """The index of one data folder. Threads may share it; processes open their own."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.path = home / INDEX
        self._db = Database(self.path)
        self._file = os.stat(self.path)
        try:
            self._mark_or_refuse()
            self._make_outdated_terms()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Close the file; it is complete then."""
        self._db.close()

    # Writing: the caller holds the write lock.

    def sync(self, backend: Backend, *, everything: bool = False) -> Synced:
        """Read what the backend wrote since the last time; with `everything`, also drop what it no longer holds."""
        began, stamp = time.time(), "" if everything else self._stamp(backend)
        changes, next_stamp = backend.changed_since(stamp)
        everything = everything or (backend.is_whole and next_stamp != stamp)  # a change: it yields all items
        done, seen = Synced(), set()
        for chunk in pages(changes, _CHUNK_ITEMS):
            items = [change for change in chunk if isinstance(change, Item)]
            done.written += self._write_rows(backend.name, items)
            removals = [change for change in chunk if isinstance(change, Removed)]
            done.dropped += self._apply_removals(backend.name, removals)
            if everything:
                seen |= {item.id for item in items}
        if everything:
            gone = self._ids(backend.name) - seen
            if gone and backend.is_read_only:  # others edit it, and a new wording has a new id
                self._note_rewordings(backend.name, gone)
            done.dropped += self._drop_rows(backend.name, gone)
        if next_stamp != self._meta(f"stamp {backend.name}"):
            self._set_meta(f"stamp {backend.name}", next_stamp)
        if backend.is_shared:
            note_current(self.home, backend.name, began)
        return done

    def _note_rewordings(self, backend: str, gone: set[str]) -> None:
        """Log an edit of a file that reworded an item as a correction of that item: it has a new id now."""
        items = [found.item for found in self._items_where("backend = ? AND anchor_file <> ''", backend)]
        for file in {item.anchor.file for item in items if item.anchor and item.id in gone}:
            of_file = [item for item in items if item.anchor and item.anchor.file == file]
            unmatched = Rewordings(item for item in of_file if item.id in gone)
            for item in of_file:
                old = unmatched.of(item.anchor.heading, item.content) if item.anchor and item.id not in gone else None
                if old is not None:
                    unmatched.remove(old)
                    detail = msgspec.json.encode({"superseded_by": item.id, "file": file}).decode()
                    correction = Correction(old.id, "kms_update", utc_now(), "", "", detail)
                    self._db.write(_INSERT_CORRECTION, *msgspec.structs.astuple(correction))

    def is_behind(self, backend: Backend) -> bool:
        """Report whether a sync would change something. It needs no lock."""
        stamp = self._stamp(backend)
        changes, next_stamp = backend.changed_since(stamp)
        return next_stamp != stamp or any(not self._has_change(backend.name, change) for change in changes)

    def complete_sync(self, backends: Iterable[Backend]) -> None:
        """Note that every row follows the current rules; backends that are no longer in use are dropped."""
        names = [backend.name for backend in backends]
        for (name,) in self._db.rows(
            f"SELECT DISTINCT backend FROM item WHERE backend NOT IN ({marks(names)})", *names
        ):
            self._drop_rows(name, self._ids(name))
            self._db.write("DELETE FROM meta WHERE key = ?", f"stamp {name}")
        self._set_meta("made_by", MADE_BY)

    def is_current(self, backends: Iterable[Backend]) -> bool:
        """Report whether exactly these backends were read once, by the current rules."""
        stamp_keys = {row[0] for row in self._db.rows("SELECT key FROM meta WHERE key LIKE 'stamp %'")}
        return stamp_keys == {f"stamp {backend.name}" for backend in backends} and self.has_current_rules()

    def has_current_rules(self) -> bool:
        """Report whether the current rules made the rows."""
        return self._meta("made_by") == MADE_BY

    def note_intent(self, write: StoreWrite) -> int:
        """Note a write before its first step: the next process that opens the store completes it after a kill."""
        return self._db.write("INSERT INTO intent (intent) VALUES (?)", write.intent()).lastrowid or 0

    def unfinished(self) -> tuple[dict[int, str], list[str]]:
        """Return what killed writers left: intents by number, and ids that earlier versions noted to be read again."""
        intents, ids = self._db.rows("SELECT * FROM intent ORDER BY id"), self._db.rows("SELECT item FROM pending")
        return dict(intents), [row[0] for row in ids]

    def refresh(
        self, touched: Iterable[tuple[Backend, str]], write: StoreWrite | None = None, *, finished: int = 0
    ) -> None:
        """Read these ids from these backends again, and note the corrections and removals of the write.

        `finished` is the number of the intent that ends with this call.
        """
        read = [(backend.name, id_, backend.get(id_)) for backend, id_ in touched]
        ids = sorted({id_ for _, id_, _ in read})
        rows = [row_of(item, name) for name, _, item in read if item is not None]
        gone = [(name, id_) for name, id_, item in read if item is None]
        with self._changing(ids) as db:
            if write:
                keys = ((key, key) for key in write.restored)
                db.executemany("DELETE FROM reaped WHERE content_sha = ? OR item = ?", keys)
                time = write.log[0].time if write.log else ""
                db.executemany("INSERT INTO reaped VALUES (?, ?, ?)", ((id_, sha, time) for id_, sha in write.reaped))
                db.executemany(_INSERT_CORRECTION, map(msgspec.structs.astuple, write.log))
            db.executemany(_DELETE, gone)
            db.executemany(_UPSERT, rows)
            db.executemany("DELETE FROM pending WHERE item = ?", ((id_,) for id_ in ids))
            db.execute("DELETE FROM intent WHERE id = ?", (finished,))

    def _has_change(self, backend: str, change: Item | Removed) -> bool:
        """Report whether the index already shows the item as it was written, or the removal with its restoration."""
        if isinstance(change, Item):
            query = "SELECT 1 FROM item WHERE backend = ? AND id = ? AND record = ?"
            return bool(self._db.rows(query, backend, change.id, record_of(change)))
        is_stored = bool(self._db.rows("SELECT 1 FROM item WHERE backend = ? AND id = ?", backend, change.id))
        query = "SELECT 1 FROM reaped WHERE item = ? AND content_sha = ?"
        is_reaped = bool(self._db.rows(query, change.id, change.content_sha))
        return not is_stored and is_reaped != change.is_restored

    def _apply_removals(self, backend: str, removed: list[Removed]) -> int:
        """Take over what another machine removed for good: neither the items nor their copies are served here."""
        new = [removal for removal in removed if not self._has_change(backend, removal)]
        if not new:
            return 0
        with self._changing([removal.id for removal in new], [removal.content_sha for removal in new]) as db:
            db.executemany(_DELETE, ((backend, removal.id) for removal in new))
            db.executemany("DELETE FROM reaped WHERE item = ?", ((removal.id,) for removal in new))
            rows = ((removal.id, removal.content_sha, removal.time) for removal in new if not removal.is_restored)
            db.executemany("INSERT INTO reaped VALUES (?, ?, ?)", rows)
        return len(new)

    def _write_rows(self, backend: str, items: list[Item]) -> int:
        """Write rows for the items that differ from the rows in the index."""
        newest = {item.id: item for item in items}
        query = f"SELECT id, record FROM item WHERE backend = ? AND id IN ({marks(list(newest))})"
        stored_records = {} if not self.has_current_rules() else dict(self._db.rows(query, backend, *newest))
        rows = [row_of(item, backend) for item in newest.values() if stored_records.get(item.id) != record_of(item)]
        if rows:
            with self._changing([row.id for row in rows]) as db:
                db.executemany(_UPSERT, rows)
        return len(rows)

    def _drop_rows(self, backend: str, ids: set[str]) -> int:
        with self._changing(ids) as db:
            db.executemany(_DELETE, ((backend, id_) for id_ in ids))
        return len(ids)

    @contextmanager
    def _changing(self, ids: Iterable[str], contents: Iterable[str] = ()) -> Iterator[sqlite3.Connection]:
        """Open a transaction for changes to rows of these ids.

        At its end, rows that depend on these ids or contents are updated: whether they are served, and their codes.
        """
        with self._db.writing() as db:
            with serving_updated(db, ids, contents):
                yield db
            refresh_codes(db)

    def take_over_logs(self, damaged: Path) -> None:
        """Copy what can be read of the logs of a damaged index. The next sync reads every item again."""
        write_log(self.home, _readable_rows(damaged, "injected"))  # a table of an earlier schema
        with self._db.writing() as db:
            for table in _LOG_TABLES:
                if rows := _readable_rows(damaged, table):
                    names, values = ", ".join(rows[0]), [list(row.values()) for row in rows]
                    db.executemany(f"INSERT OR IGNORE INTO {table} ({names}) VALUES ({marks(values[0])})", values)
            db.execute("DELETE FROM meta WHERE key = 'made_by' OR key LIKE 'stamp %'")

    # Reading

    def known(self, id_: str) -> list[IndexedItem]:
        """Return the item from every backend that holds it."""
        return self._items_where("id = ?", id_)

    def all_items(self) -> list[IndexedItem]:
        """Return every item of every backend."""
        return self._items_where("1")

    def same_content(self, sha: str) -> list[IndexedItem]:
        """Return every item with this content, flagged or not."""
        return self._items_where("content_sha = ?", sha)

    def flagged(self, kinds: Iterable[FlagKind]) -> list[IndexedItem]:
        """Return the items with these flags."""
        names = [str(kind) for kind in kinds]
        return self._items_where(f"flag <> '' AND flag IN ({marks(names)})", *names)

    def with_quality(self) -> list[IndexedItem]:
        """Return the items whose effective confidence differs from the stored confidence."""
        return self._items_where("quality <> 1.0")

    def predecessors(self, id_: str) -> list[IndexedItem]:
        """Return the items that this item superseded."""
        return self._items_where("superseded_by = ? AND superseded_by <> ''", id_)

    def superseded(self) -> list[IndexedItem]:
        """Return every item that has a successor, whatever other flag it has."""
        return self._items_where("superseded_by <> ''")

    def superseded_rows(self) -> list[SupersededRow]:
        """Return every superseded item, to compare texts with it."""
        names = ", ".join(SupersededRow._fields)
        return [SupersededRow(*row) for row in self._db.rows(f"SELECT {names} FROM item WHERE superseded_by <> ''")]

    def blocked_copies(self) -> list[IndexedItem]:
        """Return the items that are not served only because of their original."""
        return self._items_where(
            "served = 0 AND screened = '' AND flag NOT IN ('RETRACTED', 'SUPERSEDED', 'DELETED', 'HELD_BACK')"
        )

    def anchored(self, file: str = "") -> list[IndexedItem]:
        """Return the items that come from a file, or from any file."""
        has_anchor = "anchor_file <> ''"
        return self._items_where(f"anchor_file = ? AND {has_anchor}", file) if file else self._items_where(has_anchor)

    def is_reaped(self, item: Item) -> bool:
        """Report whether this item, its content or its original was removed for good."""
        query = "SELECT 1 FROM reaped WHERE item IN (?, ?) LIMIT 1"
        return bool(self._db.rows(query, item.id, item.copy_of or item.id)) or bool(self.last_removal(item.content))

    def reaped_among(self, keys: Sequence[str]) -> list[str]:
        """Return those of the ids and contents that were removed for good."""
        query = f"SELECT item, content_sha FROM reaped WHERE item IN ({marks(keys)}) OR content_sha IN ({marks(keys)})"
        found = {key for row in self._db.rows(query, *keys, *keys) for key in row}
        return [key for key in keys if key in found]

    def last_removal(self, content: str) -> ReapedContent | None:
        """Return the last removal of this content."""
        query = "SELECT item, time FROM reaped WHERE content_sha IN (?, ?) ORDER BY time DESC, rowid DESC LIMIT 1"
        row = self._db.row(query, *content_hashes(content))
        return ReapedContent(*row) if row else None

    def corrections(self, item: str = "") -> list[Correction]:
        """Return the log of corrective calls, oldest first: of one item, or of all."""
        query = "SELECT item, tool, time, by, session, detail FROM correction WHERE ? IN ('', item) ORDER BY id"
        return [Correction(*row) for row in self._db.rows(query, item)]

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return the numbers of items and of served items per backend."""
        rows = self._db.rows("SELECT backend, count(*), sum(served) FROM item GROUP BY backend ORDER BY backend")
        return {backend: (items, served) for backend, items, served in rows}

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Open a separate connection to search with."""
        with as_store_errors(self.path):
            connection = open_read_only(self.path, wait_seconds=20.0)
            assert connection is not None  # we hold the file open
            with closing(connection):
                yield connection

    def _mark_or_refuse(self) -> None:
        """Mark a new index as made in its data folder; refuse an index in our folder that another user made."""
        mark = self._meta(OWNER)
        if is_our_mark(mark):
            return
        if not mark and not self.is_made():
            with suppress(StoreError):  # no mark without a key: only the hook needs it
                self._set_meta(OWNER, mark_folder(self.home))
        elif owner_of(self.home) == OURS:
            raise StoreError(
                "index-not-yours",
                f"{self.path} was not made by you on this machine: it is not used. "
                "Try: knowbound kms sync (makes it anew from the backends)",
            )

    def _make_outdated_terms(self) -> None:
        """Make the terms of all rows again if an earlier version made them."""
        if self._meta("terms") != SPLIT_BY:
            with self._db.writing() as db:
                if self._meta("terms") != SPLIT_BY:  # another process may have made them while we waited
                    make_terms(db)
                    self._set_meta("terms", SPLIT_BY)
        if self._db.row("SELECT 1 FROM code_pending LIMIT 1") and not self._db.row("SELECT 1 FROM code_chunk LIMIT 1"):
            with self._db.writing() as db:  # a new schema packs them in another way
                refresh_codes(db)

    def is_in_place(self) -> bool:
        """Report whether the open file is still the file of the data folder."""
        with suppress(OSError):
            return os.path.samestat(self._file, os.stat(self.path))
        return False

    def is_made(self) -> bool:
        """Report whether the index was ever synchronised."""
        return bool(self._meta("made_by"))

    def check(self) -> None:
        """Raise StoreError where the file is damaged."""
        self._db.check()

    def _items_where(self, where: str, *values: str) -> list[IndexedItem]:
        rows = self._db.rows(f"SELECT record, backend, served FROM item WHERE {where}", *values)
        with as_store_errors(self.path):
            return [IndexedItem(item_of(record), backend, bool(served)) for record, backend, served in rows]

    def _ids(self, backend: str) -> set[str]:
        return {row[0] for row in self._db.rows("SELECT id FROM item WHERE backend = ?", backend)}

    def _stamp(self, backend: Backend) -> str:
        """Return how far the backend was read; "" if other rules made the rows."""
        return self._meta(f"stamp {backend.name}") if self.has_current_rules() else ""

    def _set_meta(self, key: str, value: str) -> None:
        self._db.write("INSERT OR REPLACE INTO meta VALUES (?, ?)", key, value)

    def _meta(self, key: str) -> str:
        row = self._db.row("SELECT value FROM meta WHERE key = ?", key)
        return str(row[0]) if row else ""


def _readable_rows(path: Path, table: str) -> list[dict[str, str]]:
    """Return the readable rows of a table, by column: the file may be of an earlier schema."""
    found: list[dict[str, str]] = []
    if db := open_read_only(path):
        db.row_factory = sqlite3.Row
        with suppress(sqlite3.Error), closing(db):
            for row in db.execute(f"SELECT * FROM {table}"):
                found.append(dict(row))  # up to where the damage begins
    return found
