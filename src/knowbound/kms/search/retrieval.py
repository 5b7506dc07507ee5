"""Finds the items that a text is about, in the local index alone: by its words and by its meaning.

Candidates are the items that share the rarest words with the query (lexical.py) and the nearest by the codes of the
embedding (codes.py). For all of them the exact cosine is computed, and ranking.py puts them in order. The hook runs
this for every prompt: nothing is imported beyond the standard library and small modules of ours.
"""

from __future__ import annotations

import math
import sqlite3
import time
from datetime import UTC, datetime

from knowbound.kms.index.codes import nearest, nearest_of
from knowbound.kms.search.lexical import shared_words
from knowbound.kms.search.ranking import LEXICAL, SEMANTIC, FoundItem, rank, recency_of
from knowbound.text.embedding import CODE_BYTES, code_of, embed, similarity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

POOL = 100  # candidates that are ranked and kept with an injection
_MOST_LEXICAL = 150
_MOST_SEMANTIC = 150
_MOST_TIED = 600  # rows whose codes decide which of many with the same words become candidates
_DAY = 86_400.0
_COLUMNS = (
    "rowid, id, backend, content_sha, timestamp, confidence, quality, flag, stale, vector, content, type, subject, "
    "anchor_file"
)


class FoundItems:
    """The items, best first, and all candidates that were ranked."""

    def __init__(self, items: list[FoundItem], pool: list[FoundItem]) -> None:
        self.items = items
        self.pool = pool


def search(
    index: sqlite3.Connection,
    query: str,
    *,
    subject: str = "",
    type: str = "",
    user: str = "",
    flag: str = "",
    limit: int = 10,
    now: float | None = None,
) -> FoundItems:
    """The items of the index that the query is about, best first; what is not empty narrows them down.

    `now` is in seconds since 1970.
    """
    only = {"subject": subject, "type": type, "user": user, "flag": flag}
    is_nested = index.in_transaction
    if not is_nested:
        index.execute("BEGIN")  # all that is read is of one moment
    try:
        pool = _pool(index, query, {column: value for column, value in only.items() if value}, max(POOL, limit), now)
    finally:
        if not is_nested:
            index.rollback()
    return FoundItems(rank(pool, limit), pool)


def _pool(index: sqlite3.Connection, query: str, only: dict[str, str], most: int, now: float | None) -> list[FoundItem]:
    vector = embed(query)
    words = shared_words(index, query)
    if only:
        condition = " AND ".join(f"{column} = ?" for column in only)
        rows = index.execute(f"SELECT rowid, code FROM item WHERE served = 1 AND {condition}", [*only.values()])
        allowed = dict(rows.fetchall())
        words = {rowid: share for rowid, share in words.items() if rowid in allowed}
        near = nearest_of(allowed.items(), code_of(vector), _MOST_SEMANTIC) if any(vector) else []
    else:
        for (rowid,) in index.execute("SELECT rowid FROM item WHERE served = 0"):
            words.pop(rowid, None)
        near = nearest(index, code_of(vector), _MOST_SEMANTIC) if any(vector) else []
    chosen = {*near, *_most_promising(index, words, code_of(vector))}
    items = _found(index, chosen, words, vector, time.time() if now is None else now)
    items.sort(key=lambda item: (-item.relevance, item.id, item.backend))
    return [item for item in items[:most] if item.relevance > 0]


def _most_promising(index: sqlite3.Connection, words: dict[int, float], code: bytes) -> list[int]:
    """The rows that share the most with the query; among many that share the same, the nearest by their codes."""
    best = sorted(words, key=lambda rowid: (-words[rowid], -rowid))[:_MOST_TIED]
    if len(best) <= _MOST_LEXICAL:
        return best
    asked = int.from_bytes(code, "little")
    promise = {}
    for rowid, other in index.execute(f"SELECT rowid, code FROM item WHERE rowid IN ({_listed(best)})"):
        differing = (int.from_bytes(other, "little") ^ asked).bit_count()
        cosine = math.cos(math.pi * differing / (8 * CODE_BYTES))  # estimated from the share of differing signs
        promise[rowid] = LEXICAL * words[rowid] + SEMANTIC * max(0.0, cosine)
    return sorted(promise, key=lambda rowid: (-promise[rowid], rowid))[:_MOST_LEXICAL]


def _found(
    index: sqlite3.Connection, rows: Iterable[int], words: dict[int, float], vector: bytes, now: float
) -> list[FoundItem]:
    query = f"SELECT {_COLUMNS} FROM item WHERE served = 1 AND rowid IN ({_listed(rows)})"
    return [
        FoundItem(
            id_,
            backend,
            sha,
            words.get(rowid, 0.0),
            similarity(vector, other),
            recency_of(_age_days(timestamp, now)),
            confidence,
            quality,
            flag,
            stale,
            content=content,
            type=type_,
            subject=subject,
            timestamp=timestamp,
            anchor_file=file,
        )
        for (
            rowid, id_, backend, sha, timestamp, confidence, quality, flag, stale, other, content, type_, subject, file
        ) in index.execute(query)
    ]  # fmt: skip


def _age_days(timestamp: str, now: float) -> float | None:
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (now - moment.timestamp()) / _DAY


def _listed(rows: Iterable[int]) -> str:
    """Row ids for SQL; more than may be given as values."""
    return ", ".join(map(str, rows))
