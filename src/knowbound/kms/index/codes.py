"""The nearest items by their 256-bit codes, compared with every code: 10 ms for 100,000 in plain Python.

The index keeps codes a second time, packed for this: up to 4,096 in a row of `code_chunk`, not item by item but byte by
byte, all first bytes of the codes, then all second bytes. A byte's share of the Hamming distance is a table of 256
entries, so `bytes.translate` returns that share for a whole chunk, and the sum of the 32 shares, each as one long
number, is all distances. Comparing code by code takes five times as long; an index of buckets finds too little, because
near texts still differ in a third of their bits.

Rows that changed since the last packing are in `code_pending` (triggers put them there) and are compared code by code,
so outdated packed codes never count.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

_SLOTS = 4096  # rowids per chunk: large enough for few calls, small enough to pack again after a few changes
_MOST_PENDING = 1_000  # compared one by one in 0.5 ms
_CODE = 32
_FARTHEST = 255
# Not INSERT OR IGNORE: the statement that fires a trigger decides what the trigger does on a conflict.
_NOTE = "INSERT INTO code_pending SELECT {0}.rowid WHERE {0}.rowid NOT IN (SELECT row FROM code_pending)"
_SCHEMA = (
    "CREATE TABLE code_chunk (chunk INTEGER PRIMARY KEY, slots BLOB NOT NULL, planes BLOB NOT NULL)",
    "CREATE TABLE code_pending (row INTEGER PRIMARY KEY)",
    f"CREATE TRIGGER code_added AFTER INSERT ON item BEGIN {_NOTE.format('new')}; END",
    f"CREATE TRIGGER code_removed AFTER DELETE ON item BEGIN {_NOTE.format('old')}; END",
    "CREATE TRIGGER code_changed AFTER UPDATE OF code, served ON item"
    f" WHEN new.code IS NOT old.code OR new.served IS NOT old.served BEGIN {_NOTE.format('new')}; END",
    "CREATE INDEX item_kept_back ON item (served) WHERE served = 0",
    "INSERT INTO code_pending SELECT rowid FROM item",
)
_CHANGED_AND_SERVED = (
    "SELECT item.rowid, item.code FROM code_pending CROSS JOIN item ON item.rowid = code_pending.row"
    " WHERE item.served = 1"  # CROSS: begin with the pending rows, never with all items
)
_BITS = bytes(value.bit_count() for value in range(256))


def refresh_codes(connection: sqlite3.Connection) -> None:
    """Keep the packed codes of the index up to date. Call it after every change to `item`, in the same transaction.

    The first call adds two tables, three triggers and an index of rows that are not served. A later call costs a count
    until 1,000 rows have changed, and then packs the chunks they are in. Without it search is right, only slower.
    """
    if not _is_packed(connection):
        for statement in _SCHEMA:
            connection.execute(statement)
    if connection.execute("SELECT count(*) FROM code_pending").fetchone()[0] > _MOST_PENDING:
        for (chunk,) in connection.execute(f"SELECT DISTINCT row / {_SLOTS} FROM code_pending").fetchall():
            _pack(connection, chunk)
        connection.execute("DELETE FROM code_pending")


def _pack(connection: sqlite3.Connection, chunk: int) -> None:
    first = chunk * _SLOTS
    rows = connection.execute(
        "SELECT rowid, code FROM item WHERE rowid BETWEEN ? AND ? AND served = 1 ORDER BY rowid",
        (first, first + _SLOTS - 1),
    ).fetchall()
    if not rows:
        connection.execute("DELETE FROM code_chunk WHERE chunk = ?", (chunk,))
        return
    slots = b"".join([(rowid - first).to_bytes(2, "little") for rowid, _ in rows])
    codes = b"".join([code for _, code in rows])
    planes = b"".join([codes[byte::_CODE] for byte in range(_CODE)])
    connection.execute("INSERT OR REPLACE INTO code_chunk VALUES (?, ?, ?)", (chunk, slots, planes))


def nearest(connection: sqlite3.Connection, code: bytes, most: int) -> list[int]:
    """Return the row ids of the items with the most similar codes, nearest first."""
    if not _is_packed(connection):
        return nearest_of(connection.execute("SELECT rowid, code FROM item WHERE served = 1"), code, most)
    tables = _shares(code)
    chunks: list[tuple[int, bytes, int]] = []  # number, slots, where its distances begin
    distances = []
    length = 0
    for chunk, slots, planes in connection.execute("SELECT chunk, slots, planes FROM code_chunk ORDER BY chunk"):
        chunks.append((chunk, slots, length))
        distances.append(_distances(planes, tables))
        length += len(distances[-1])
    changed = {row for (row,) in connection.execute("SELECT row FROM code_pending")}
    near = dict(_measured(connection.execute(_CHANGED_AND_SERVED), code))
    found = _best_places(b"".join(distances), most + len(changed))
    for chunk, slots, start in reversed(chunks):
        while found and found[-1][1] >= start:
            distance, place = found.pop()
            slot = 2 * (place - start)
            row = chunk * _SLOTS + int.from_bytes(slots[slot : slot + 2], "little")
            if row not in changed:
                near[row] = distance
    return _sorted(near, most)


def nearest_of(rows: Iterable[tuple[int, bytes]], code: bytes, most: int) -> list[int]:
    """Return the nearest of the given row ids and codes."""
    return _sorted(dict(_measured(rows, code)), most)


def _measured(rows: Iterable[tuple[int, bytes]], code: bytes) -> list[tuple[int, int]]:
    asked = int.from_bytes(code, "little")
    return [(rowid, (int.from_bytes(other, "little") ^ asked).bit_count()) for rowid, other in rows]


def _sorted(near: dict[int, int], most: int) -> list[int]:
    return sorted(near, key=lambda rowid: (near[rowid], rowid))[:most]


def _shares(code: bytes) -> list[bytes]:
    """Return a table for each byte of the code: the number of bits in which every possible byte differs from it."""
    tables = [bytes([value ^ byte for value in range(256)]).translate(_BITS) for byte in code]
    # A sum of 256 would overflow into the next item's byte: eight differing bits of the first byte count as seven.
    tables[0] = tables[0].replace(b"\x08", b"\x07")
    return tables


def _distances(planes: bytes, tables: list[bytes]) -> bytes:
    """Return the distance of every code of a chunk, one byte each."""
    count = len(planes) // _CODE
    total = 0
    for byte, table in enumerate(tables):
        total += int.from_bytes(planes[byte * count : (byte + 1) * count].translate(table), "little")
    return total.to_bytes(count, "little")


def _best_places(distances: bytes, most: int) -> list[tuple[int, int]]:
    """Return distance and place of the best entries, at least `most` if there are enough, in the order of places."""
    low, high = 0, _FARTHEST
    while low < high:  # find the smallest distance that enough entries do not exceed
        middle = (low + high) // 2
        within = len(distances) - len(distances.translate(None, bytes(range(middle + 1))))
        if within >= most:
            high = middle
        else:
            low = middle + 1
    near = re.compile(b"[\\x00-\\x%02x]" % low, re.DOTALL)
    return [(distances[match.start()], match.start()) for match in near.finditer(distances)]


def _is_packed(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'code_pending'").fetchone())
