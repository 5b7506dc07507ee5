"""Finds the items that a text is about, in the local index alone: by its words and by its meaning.

Candidates are the items that share the most telling words with the query (lexical.py) and the nearest by the codes of
the embedding (codes.py). For all of them the exact cosine is computed, and ranking.py puts them in order. The hook
runs this for every prompt: nothing is imported beyond the standard library and small modules of ours.
"""

from __future__ import annotations

import math
import sqlite3
import time
from datetime import UTC, datetime

from knowbound.kms.index.codes import nearest, nearest_of
from knowbound.kms.search.lexical import shared_words
from knowbound.kms.search.ranking import LEXICAL, SEMANTIC, Candidate, Ranked, rank, recency_of
from knowbound.text.embedding import CODE_BYTES, code_of, embed, similarity

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

POOL = 100  # candidates that are ranked and kept with an injection
_MOST_LEXICAL = 150
_MOST_SEMANTIC = 150
_MOST_TIED = 600  # rows whose codes decide which of many with the same words become candidates
_DAY = 86_400.0
_HIT_COLUMNS = "rowid, id, backend, content, type, source, subject, user, timestamp, confidence, flag, stale"


class Filters:
    """Which items may be found at all; what is empty does not filter."""

    __slots__ = ("flag", "include_stale", "max_age_days", "source", "subject", "type", "user")

    def __init__(
        self,
        *,
        subject: str = "",
        type: str = "",
        source: str = "",
        user: str = "",
        flag: str = "",
        max_age_days: float | None = None,
        include_stale: bool = True,
    ) -> None:
        self.subject = subject
        self.type = type
        self.source = source
        self.user = user
        self.flag = flag
        self.max_age_days = max_age_days  # an item without a date is older than any age
        self.include_stale = include_stale

    def condition(self, now: float) -> tuple[str, list[str]]:
        """What a row must fulfil beside being served, in SQL ("" for nothing), and its values."""
        parts, values = [], []
        for column in ("subject", "type", "source", "user", "flag"):
            if value := getattr(self, column):
                parts.append(f"{column} = ?")
                values.append(value)
        if self.max_age_days is not None:
            oldest = datetime.fromtimestamp(max(0.0, now - self.max_age_days * _DAY), UTC)
            parts.append("timestamp >= ?")
            values.append(oldest.strftime("%Y-%m-%dT%H:%M:%S"))
        if not self.include_stale:
            parts.append("stale = 0")
        return " AND ".join(parts), values


class Hit:
    """An item that was found, with its place, its score and the parts of it."""

    __slots__ = (
        "also_in",
        "backend",
        "confidence",
        "content",
        "flag",
        "id",
        "parts",
        "rank",
        "relevance",
        "score",
        "source",
        "stale",
        "subject",
        "timestamp",
        "type",
        "user",
    )

    def __init__(
        self,
        ranked: Ranked,
        id_: str,
        backend: str,
        content: str,
        type_: str,
        source: str,
        subject: str,
        user: str,
        timestamp: str,
        confidence: float,
        flag: str,
        stale: int,
    ) -> None:
        self.id = id_
        self.backend = backend
        self.content = content
        self.type = type_
        self.source = source
        self.subject = subject
        self.user = user
        self.timestamp = timestamp
        self.confidence = confidence
        self.flag = flag  # "" or UNVERIFIED: nothing else is served
        self.stale = bool(stale)
        self.rank = ranked.rank
        self.score = ranked.score
        self.relevance = ranked.candidate.relevance  # what RELEVANCE_FLOOR is about
        self.parts = ranked.candidate  # lexical, semantic, recency, confidence, quality
        self.also_in = ranked.also_in  # other backends with the same content


class Found:
    """The hits, best first, and the candidates before ranking as rows for JSON: `Candidate(*row)`."""

    __slots__ = ("hits", "pool")

    def __init__(self, hits: list[Hit], pool: list[list[str | float | bool | None]]) -> None:
        self.hits = hits
        self.pool = pool


def search(
    index: sqlite3.Connection, query: str, filters: Filters | None = None, *, limit: int = 10, now: float | None = None
) -> Found:
    """The items of the index that the query is about, best first. `now` is in seconds since 1970."""
    if index.in_transaction:
        return _search(index, query, filters or Filters(), limit, time.time() if now is None else now)
    index.execute("BEGIN")  # all that is read is of one moment
    try:
        return _search(index, query, filters or Filters(), limit, time.time() if now is None else now)
    finally:
        index.rollback()


def _search(index: sqlite3.Connection, query: str, filters: Filters, limit: int, now: float) -> Found:
    vector = embed(query)
    words = shared_words(index, query)
    condition, values = filters.condition(now)
    if condition:
        rows = index.execute(f"SELECT rowid, code FROM item WHERE served = 1 AND {condition}", values).fetchall()
        allowed = {rowid for rowid, _ in rows}
        words = {rowid: share for rowid, share in words.items() if rowid in allowed}
        near = nearest_of(rows, code_of(vector), _MOST_SEMANTIC) if any(vector) else []
    else:
        for (rowid,) in index.execute("SELECT rowid FROM item WHERE served = 0"):
            words.pop(rowid, None)
        near = nearest(index, code_of(vector), _MOST_SEMANTIC) if any(vector) else []
    chosen = {*near, *_most_promising(index, words, code_of(vector))}
    candidates = _candidates(index, chosen, words, vector, now)
    pool = sorted(candidates, key=lambda row: (-candidates[row].relevance, candidates[row].id, candidates[row].backend))
    kept = {row: candidates[row] for row in pool[: max(POOL, limit)] if candidates[row].relevance > 0}
    return Found(_hits(index, kept, limit), [candidate.as_row() for candidate in kept.values()])


def _most_promising(index: sqlite3.Connection, words: dict[int, float], code: bytes) -> list[int]:
    """The rows that share the most with the query; among many that share the same, the nearest by their codes."""
    best = sorted(words, key=lambda rowid: (-words[rowid], -rowid))[:_MOST_TIED]
    if len(best) <= _MOST_LEXICAL:
        return best
    asked = int.from_bytes(code, "little")
    promise = {}
    for rowid, other in index.execute(f"SELECT rowid, code FROM item WHERE rowid IN ({_listed(best)})"):
        differing = (int.from_bytes(other, "little") ^ asked).bit_count()
        cosine = math.cos(math.pi * differing / (8 * CODE_BYTES))  # what the share of differing signs stands for
        promise[rowid] = LEXICAL * words[rowid] + SEMANTIC * max(0.0, cosine)
    return sorted(promise, key=lambda rowid: (-promise[rowid], rowid))[:_MOST_LEXICAL]


def _candidates(
    index: sqlite3.Connection, rows: Iterable[int], words: dict[int, float], vector: bytes, now: float
) -> dict[int, Candidate]:
    query = (
        "SELECT rowid, id, backend, content_sha, timestamp, confidence, quality, flag, stale, vector FROM item"
        f" WHERE served = 1 AND rowid IN ({_listed(rows)})"
    )
    return {
        rowid: Candidate(
            id_,
            backend,
            content_sha,
            words.get(rowid, 0.0),
            similarity(vector, other),
            recency_of(_age_days(timestamp, now)),
            confidence,
            quality,
            flag,
            bool(stale),
        )
        for rowid, id_, backend, content_sha, timestamp, confidence, quality, flag, stale, other in index.execute(query)
    }


def _hits(index: sqlite3.Connection, pool: dict[int, Candidate], limit: int) -> list[Hit]:
    row_of = {candidate: rowid for rowid, candidate in pool.items()}
    ranked = {row_of[place.candidate]: place for place in rank(pool.values(), limit)}
    query = f"SELECT {_HIT_COLUMNS} FROM item WHERE served = 1 AND rowid IN ({_listed(ranked)})"
    hits = [Hit(ranked[rowid], *fields) for rowid, *fields in index.execute(query)]
    return sorted(hits, key=lambda hit: hit.rank)


def _age_days(timestamp: str, now: float) -> float | None:
    try:
        said = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    if said.tzinfo is None:
        said = said.replace(tzinfo=UTC)
    return (now - said.timestamp()) / _DAY


def _listed(rows: Iterable[int]) -> str:
    """Row ids for SQL; more than may be given as values."""
    return ", ".join(map(str, rows))
