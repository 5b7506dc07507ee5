"""The embedded backend: one SQLite file, no server (specification 2, "Items")."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from knowbound.config import Settings
from knowbound.core.item import Item
from knowbound.errors import StoreError
from knowbound.kms.backends.protocol import Backend, Stamp, Swap
from knowbound.store.data_dir import ITEMS
from knowbound.store.database import Database

_PAGE = 1000
_encode = msgspec.json.Encoder().encode
_item = msgspec.json.Decoder(Item)


def _record(item: Item) -> str:
    """Encode the item as JSON; metadata that JSON cannot hold (infinity, huge numbers) in Python's own wider JSON."""
    try:
        record = _encode(item).decode()
        if not item.metadata or _item.decode(record).metadata == item.metadata:
            return record
        return json.dumps(msgspec.to_builtins(item))
    except (UnicodeEncodeError, TypeError, ValueError, RecursionError, msgspec.MsgspecError) as error:
        raise StoreError("item-invalid", f"The item {item.id!r} cannot be stored: {error}") from error


def open_backend(settings: Settings) -> SqliteBackend:
    """Open the backend of a project."""
    return SqliteBackend(settings.home)


class SqliteBackend(Backend):
    """Items in `.knowbound/items.db`. Threads may share it; processes open their own."""

    name = "sqlite"

    def __init__(self, home: Path) -> None:
        self.path = home / ITEMS
        # FULL: an acknowledged write survives a power cut, not only a kill.
        self._db = Database(self.path, synchronous="FULL")
        self._store = str(self._db.rows("SELECT name FROM store")[0][0])

    def swap(self, swaps: Sequence[Swap]) -> None:
        """Make all changes in one transaction."""
        rows = [(item.id, item.copy_of, _record(item)) for swap in swaps if (item := swap.after)]
        removed = [(swap.id,) for swap in swaps if swap.after is None]
        with self._db.writing() as db:
            db.executemany("INSERT OR REPLACE INTO item (id, copy_of, record) VALUES (?, ?, ?)", rows)
            db.executemany("DELETE FROM item WHERE id = ?", removed)

    def get(self, id_: str) -> Item | None:
        row = self._db.row("SELECT record FROM item WHERE id = ?", id_)
        return self._item(row[0]) if row else None

    def copies(self, id_: str) -> list[Item]:
        query = "SELECT record FROM item WHERE id = ? OR (copy_of = ? AND copy_of <> '')"
        return [self._item(row[0]) for row in self._db.rows(query, id_, id_)]

    def changed_since(self, stamp: str) -> tuple[Iterator[Item], str]:
        last = self._db.rows("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'item'")[0][0]
        now = Stamp(self._store, last)
        return self._since(now.since(stamp)), str(now)

    def check(self) -> None:
        self._db.check()

    def close(self) -> None:
        self._db.close()

    def _since(self, seq: int) -> Iterator[Item]:
        """Yield items in pages: no reader holds the file open while its caller works."""
        while rows := self._db.rows("SELECT seq, record FROM item WHERE seq > ? ORDER BY seq LIMIT ?", seq, _PAGE):
            seq = rows[-1][0]
            yield from (self._item(row[1]) for row in rows)

    def _item(self, record: str) -> Item:
        """Return the item of a record that `_record` made. Raises StoreError."""
        try:
            return _item.decode(record)
        except msgspec.DecodeError:
            pass  # Python's own wider JSON, or damaged
        try:
            return msgspec.convert(json.loads(record), Item)
        except (msgspec.MsgspecError, ValueError) as error:
            raise StoreError(
                "store-corrupt",
                f"{self.path} holds a record that is no item: {error}. Try: put a copy back",
            ) from error
