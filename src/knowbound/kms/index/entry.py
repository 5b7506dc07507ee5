"""An item as a row of the index: redacted, screened and with its embedding, and whether the row may be served.

No withdrawn item is served, and no copy of one (specification 2). Rows belong together if they share an id (in several
backends) or their content, or if one is a copy of the other. A flag blocks the rows with the same id and the same
content, and passes from an original to its copies. It does not pass from a copy to its original, because an update of
the original may have made the copy outdated. Withdrawn content is served again if its replacement says the same: a
person confirmed it, or corrected only its spelling.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from knowbound.core.item import NOT_SERVED, Item, spaced_sha
from knowbound.kms.backends.protocol import pages
from knowbound.kms.index.search import terms_of
from knowbound.kms.screening import RULES_VERSION, screened
from knowbound.text.embedding import VERSION, code_of, embed
from knowbound.text.redact import redact

MADE_BY = f"2.{RULES_VERSION}.{VERSION}"  # rows of another version are made again
_QUALITY, _EFFECTIVE = "quality", "effective_confidence"  # keys of an item's metadata
_LEAST_CHANGE = 0.005  # of confidence: a smaller one reorders nothing, and every write makes all machines read
_encode = msgspec.msgpack.Encoder().encode
_item = msgspec.msgpack.Decoder(Item)


class IndexRow(NamedTuple):
    """The columns of table `item` that depend on the item alone, except `served`."""

    id: str
    backend: str
    content: str
    type: str
    source: str
    subject: str
    user: str
    timestamp: str
    confidence: float
    quality: float
    flag: str
    served: int
    stale: int
    copy_of: str
    content_sha: str
    spaced_sha: str
    code: bytes
    vector: bytes
    record: bytes
    superseded_by: str
    anchor_file: str
    screened: str
    terms: str


def record_of(item: Item) -> bytes:
    """Encode the whole item without its secrets."""
    return _encode(replace(item, content=_redacted(item.content), subject=_redacted(item.subject)))


def item_of(record: bytes) -> Item:
    """Decode the item of a row."""
    return _item.decode(record)


def row_of(item: Item, backend: str) -> IndexRow:
    """Return the row of an item: secrets are redacted, and attacks are not served."""
    content, subject = _redacted(item.content), _redacted(item.subject)
    finding = screened(f"{subject}\n{content}")
    vector = embed(content)
    effective = effective_of(item)
    return IndexRow(
        id=_without_surrogates(item.id),
        backend=backend,
        content=content,
        type=item.type,
        source=item.source,
        subject=subject,
        user=_without_surrogates(item.user),
        timestamp=_without_surrogates(item.timestamp),
        confidence=item.confidence if 0 <= item.confidence <= 1 else 0.0,  # invalid: not trusted
        quality=1.0 if effective is None or item.confidence <= 0 else max(0.0, effective / item.confidence),
        flag=item.flag.kind if item.flag else "",
        served=int(item.is_served and finding is None),
        stale=int(item.stale),
        copy_of=_without_surrogates(item.copy_of),
        content_sha=item.content_sha,
        spaced_sha=spaced_sha(item.content),
        code=code_of(vector),
        vector=vector,
        record=record_of(item),
        superseded_by=item.flag.superseded_by if item.flag else "",
        anchor_file=item.anchor.file if item.anchor else "",
        screened=finding.kind if finding else "",
        terms=terms_of(content, subject),
    )


def effective_of(item: Item) -> float | None:
    """Return the effective confidence that the rollup wrote, or None (specification 2, section 4)."""
    quality = item.metadata.get(_QUALITY)
    value = quality.get(_EFFECTIVE) if isinstance(quality, dict) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


def with_effective(item: Item, value: float | None) -> Item:
    """Return the item with this effective confidence, or without one; unchanged if the change is too small."""
    stored_value = effective_of(item)
    # 0 is always written: it silences the item.
    if stored_value == value or (stored_value is not None and value and abs(stored_value - value) < _LEAST_CHANGE):
        return item
    kept = item.metadata.get(_QUALITY)
    quality = {name: other for name, other in kept.items() if name != _EFFECTIVE} if isinstance(kept, dict) else {}
    if value is not None:
        quality[_EFFECTIVE] = round(value, 4)
    others = {name: other for name, other in item.metadata.items() if name != _QUALITY}
    return replace(item, metadata=others | ({_QUALITY: quality} if quality else {}))


def _redacted(text: str) -> str:
    return redact(_without_surrogates(text))


def _without_surrogates(text: str) -> str:
    """Replace lone surrogates, which come from broken JSON and cannot be stored."""
    return text.encode("utf-8", "replace").decode()


_BATCH_VALUES = 500  # SQLite's oldest limit on values in a statement is 999
_WITHDRAWN = frozenset(str(kind) for kind in NOT_SERVED)


class _Row(NamedTuple):
    rowid: int
    id: str
    copy_of: str
    content_sha: str
    spaced_sha: str
    flag: str
    superseded_by: str
    screened: str
    served: int


@contextmanager
def serving_updated(db: sqlite3.Connection, ids: Iterable[str], shas: Iterable[str] = ()) -> Iterator[None]:
    """Recompute `served` for every row that these ids and contents reach, before or after the change inside."""
    keys, contents = set(ids), set(shas)
    for row in _rows(db, "id", keys.copy()):
        keys |= {row.copy_of} - {""}
        contents.add(row.content_sha)
    yield
    rows = _connected_rows(db, keys, contents)
    blocked = _blocked_rowids(db, rows)
    served = ((int(not row.screened and row.rowid not in blocked), row) for row in rows)
    changes = [(new, row.rowid) for new, row in served if new != row.served]
    db.executemany("UPDATE item SET served = ? WHERE rowid = ?", changes)


def _connected_rows(db: sqlite3.Connection, ids: set[str], contents: set[str]) -> list[_Row]:
    """Return every row that is reached from these ids and contents."""
    found: dict[int, _Row] = {}
    seen_ids: set[str] = set()
    seen_contents: set[str] = set()
    while ids or contents:
        rows = [*_rows(db, "id", ids), *_rows(db, "copy_of", ids), *_rows(db, "content_sha", contents)]
        seen_ids |= ids
        seen_contents |= contents
        found.update((row.rowid, row) for row in rows)
        ids = {id_ for row in rows for id_ in (row.id, row.copy_of) if id_} - seen_ids
        contents = {row.content_sha for row in rows} - seen_contents
    return list(found.values())


def _blocked_rowids(db: sqlite3.Connection, rows: list[_Row]) -> set[int]:
    """Return the rows that a flag reaches: their own, that of a row with their id or content, or of the original."""
    withdrawn = [row for row in rows if row.flag in _WITHDRAWN]
    ids = {row.id for row in withdrawn} | _reaped(db, "item", {id_ for row in rows for id_ in (row.id, row.copy_of)})
    hashes = _reaped(db, "content_sha", {sha for row in rows for sha in (row.content_sha, row.spaced_sha)})
    still_served = _still_served(db, rows, withdrawn)
    contents = {row.content_sha for row in withdrawn} - still_served
    contents |= {row.content_sha for row in rows if row.content_sha in hashes or row.spaced_sha in hashes}
    blocked: set[int] = set()
    while new := [
        row
        for row in rows
        if row.rowid not in blocked
        and (row.id in ids or row.content_sha in contents or (row.copy_of and row.copy_of in ids))
    ]:
        blocked |= {row.rowid for row in new}
        ids |= {row.id for row in new}
        contents |= {row.content_sha for row in new} - still_served
    return blocked


def _still_served(db: sqlite3.Connection, rows: list[_Row], withdrawn: list[_Row]) -> set[str]:
    """Return the contents whose withdrawn rows were all replaced, directly or not, by an item that says the same."""
    ids_of_content: dict[str, set[str]] = {}  # of rows that are not withdrawn
    for row in rows:
        if row.flag not in _WITHDRAWN:
            ids_of_content.setdefault(row.content_sha, set()).add(row.id)
    candidates = [row for row in withdrawn if row.content_sha in ids_of_content]
    lost = {row.content_sha for row in candidates if not _leads_to(db, row, ids_of_content[row.content_sha])}
    return {row.content_sha for row in candidates} - lost


def _leads_to(db: sqlite3.Connection, row: _Row, ids: set[str]) -> bool:
    """Report whether the chain of the row's replacements reaches one of these ids."""
    waiting, seen = {row.superseded_by}, {""}
    while waiting := waiting - seen:
        if waiting & ids:
            return True
        seen |= waiting
        waiting = {after for (after,) in _in_batches(db, "SELECT superseded_by FROM item WHERE id IN (%s)", waiting)}
    return False


def _rows(db: sqlite3.Connection, column: str, values: Iterable[str]) -> Iterator[_Row]:
    condition = " AND copy_of <> ''" if column == "copy_of" else ""  # lets SQLite use the partial index
    query = f"SELECT {', '.join(_Row._fields)} FROM item WHERE {column} IN (%s){condition}"
    return map(_Row._make, _in_batches(db, query, values))


def _reaped(db: sqlite3.Connection, column: str, values: Iterable[str]) -> set[str]:
    """Return those of the ids or contents that were removed for good."""
    return {row[0] for row in _in_batches(db, f"SELECT {column} FROM reaped WHERE {column} IN (%s)", values)}


def _in_batches(db: sqlite3.Connection, query: str, values: Iterable[str]) -> Iterator[Any]:
    """Yield the rows of a query with `IN (%s)`, for any number of values."""
    for batch in pages(sorted(values), _BATCH_VALUES):
        yield from db.execute(query % marks(batch), batch)


def marks(values: Sequence[str]) -> str:
    """Return a question mark for each value."""
    return ", ".join("?" * len(values))
