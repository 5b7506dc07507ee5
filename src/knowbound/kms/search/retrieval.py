"""Search for the items that a text is about, in the local index alone: by words and by meaning.

Candidates are the items that share the rarest words with the query (lexical.py), and the nearest by the codes of the
embedding (codes.py): nearest to the whole query, and to the beginning and the end of a long one, where the question
mostly is. Each is compared with the query word by word and, by the exact cosine, with the whole and with the
sentences that matter; ranking.py puts them in order. The hook runs this for every prompt: nothing is imported beyond
the standard library and small modules of ours.
"""

from __future__ import annotations

import sqlite3
import time
from bisect import bisect_right
from datetime import UTC, datetime
from functools import lru_cache

from knowbound.kms.index.codes import nearest, nearest_of
from knowbound.kms.search.lexical import ParsedQuery, rows_with_words
from knowbound.kms.search.ranking import FoundItem, prior_of, rank, recency_of
from knowbound.text.embedding import Unpacked, code_of, embed, nearest_similarity
from knowbound.text.printable import both_ends

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

POOL = 100  # candidates that are ranked and kept with an injection
_MOST_BY_WORDS = 90
_MOST_BY_MEANING = 60  # for all parts of the query together
_LARGE_STORE_ROWS = 20_000  # in a larger store only the whole query is compared with all codes: that takes most time
_WINDOW = 10  # places, about fourteen words with stop words; a longer sentence is cut
_STEP = 5  # places from one window to the next
_MOST_WINDOWS = 8
_WINDOWS_AT_ENDS = 2  # windows at each end of a long query that always count
_MOST_EMBEDDED_CHARACTERS = 4_000  # of a query: rare names, as in a log, take 40 ms of a hook's second per thousand
_DAY_SECONDS = 86_400.0
_COLUMNS = (
    "rowid, id, backend, content_sha, timestamp, confidence, quality, flag, stale, vector, content, type, subject, "
    "anchor_file, terms"
)


class FoundItems:
    """The found items, best first, and all candidates that were ranked."""

    def __init__(self, items: list[FoundItem], pool: list[FoundItem]) -> None:
        self.items = items
        self.pool = pool


def search(
    index: sqlite3.Connection,
    query: str,
    *,
    only: Mapping[str, str] | None = None,
    limit: int = 10,
    now: float | None = None,
    as_a_whole: bool = False,
    with_quality: bool | None = None,
) -> FoundItems:
    """Search the index for what the query is about, best first; columns in `only` that are not empty narrow the result.

    `now` is in seconds since 1970. `as_a_whole` takes the meaning of the whole query, not of its nearest part.
    `with_quality` is whether measured quality counts; None: by the off switch alone.
    """
    is_nested = index.in_transaction
    if not is_nested:
        index.execute("BEGIN")  # everything is read from one state of the index
    try:
        parsed = ParsedQuery(query)
        given = {column: value for column, value in (only or {}).items() if value}
        pool = _pool(index, parsed, given, max(POOL, limit), time.time() if now is None else now, as_a_whole)
    finally:
        if not is_nested:
            index.rollback()
    return FoundItems(rank(pool, limit, with_quality=with_quality), pool)


def _pool(
    index: sqlite3.Connection, parsed: ParsedQuery, only: dict[str, str], most: int, now: float, as_a_whole: bool
) -> list[FoundItem]:
    """Return the candidates with every part of their scores, the most relevant first."""
    spans = [] if as_a_whole else _spans(parsed)
    whole = embed(both_ends(parsed.text, _MOST_EMBEDDED_CHARACTERS) if spans else parsed.text)
    listed = ", ".join(map(str, _candidates(index, parsed, whole, spans, only)))  # SQLite limits bound values
    rows = index.execute(f"SELECT {_COLUMNS} FROM item WHERE served = 1 AND rowid IN ({listed})").fetchall()
    words = {row[0]: parsed.score(row[-1].split()) for row in rows}  # by rowid; the last column has the terms
    parts = [embed(part) for part in _parts(parsed, spans, words.values())]
    prior = prior_of(parsed.rows)
    meanings = _meanings(whole, parts, [row[9] for row in rows])
    items = [_found(row, words[row[0]][0], meaning, prior, now) for row, meaning in zip(rows, meanings, strict=True)]
    items.sort(key=lambda item: (-item.relevance, item.id, item.backend))
    return [item for item in items[:most] if item.is_found]


def _candidates(
    index: sqlite3.Connection,
    parsed: ParsedQuery,
    whole: bytes,
    spans: list[tuple[int, int]],
    only: dict[str, str],
) -> set[int]:
    """Return the rows to compare with the query: by its words, and by the meaning of the whole and of both ends."""
    if only:
        condition = " AND ".join(f"{column} = ?" for column in only)
        narrowed = index.execute(f"SELECT rowid, code FROM item WHERE served = 1 AND {condition}", [*only.values()])
        allowed = dict(narrowed.fetchall())
        # Rows that are not allowed take places too: a large number leaves enough of the allowed ones.
        words = [row for row in rows_with_words(index, parsed, len(allowed) + POOL**2) if row in allowed]
        if len(allowed) <= _MOST_BY_WORDS + _MOST_BY_MEANING:  # few enough to compare all
            return {*allowed}
        codes = _codes(parsed, whole, spans)
        near = [row for code in codes for row in nearest_of(allowed.items(), code, _MOST_BY_MEANING // len(codes))]
    else:
        not_served = {row for (row,) in index.execute("SELECT rowid FROM item WHERE served = 0")}
        with_words = rows_with_words(index, parsed, _MOST_BY_WORDS + len(not_served))
        words = [row for row in with_words if row not in not_served]
        codes = _codes(parsed, whole, spans)
        near = [row for code in codes for row in nearest(index, code, _MOST_BY_MEANING // len(codes))]
    return {*near, *words[:_MOST_BY_WORDS]}


def _codes(parsed: ParsedQuery, whole: bytes, spans: list[tuple[int, int]]) -> list[bytes]:
    """Return the codes of the whole query and, unless the store is large, of its first and its last part."""
    ends = (spans[0], spans[-1]) if len(spans) > 1 and parsed.rows <= _LARGE_STORE_ROWS else ()
    vectors = [whole, *[embed(parsed.text_of(*span)) for span in ends]]
    return [code_of(vector) for vector in vectors if any(vector)]


def _spans(parsed: ParsedQuery) -> list[tuple[int, int]]:
    """Return the sentences of a query, long ones in windows, as first place and place after the last."""
    spans = []
    for sentence, start in enumerate(parsed.sentences):
        end = parsed.end_of(sentence)
        spans += [(at, min(end, at + _WINDOW)) for at in range(start, max(start + 1, end - _STEP), _STEP)]
    return spans


def _parts(parsed: ParsedQuery, spans: list[tuple[int, int]], words: Iterable[tuple[float, int]]) -> list[str]:
    """Return the parts of a query that items are compared with by meaning: all, or both ends and where words match."""
    if len(spans) > _MOST_WINDOWS:
        by_score = sorted(words, key=lambda scored: (-scored[0], scored[1]))
        firsts = [parsed.sentences[sentence] for _, sentence in by_score if sentence >= 0]
        matching = [spans[bisect_right(spans, (first, len(parsed.places))) - 1] for first in firsts]
        spans = [*dict.fromkeys([*spans[:_WINDOWS_AT_ENDS], *spans[-_WINDOWS_AT_ENDS:], *matching])][:_MOST_WINDOWS]
    return [parsed.text_of(*span) for span in spans] if len(spans) > 1 else []


def _meanings(whole: bytes, parts: list[bytes], vectors: list[bytes]) -> list[float]:
    """Return, for each vector, the mean of its cosines with the whole query and with its nearest part."""
    query, query_parts = [Unpacked(whole)], list(map(Unpacked, parts))
    means = []
    for item in map(Unpacked, vectors):
        cosine = nearest_similarity(query, item)
        means.append((cosine + nearest_similarity(query_parts, item)) / 2 if query_parts else cosine)
    return means


def _found(row: tuple[Any, ...], words: float, meaning: float, prior: float, now: float) -> FoundItem:
    """Return the item of a row with the columns in `_COLUMNS`."""
    _, id_, backend, sha, timestamp, *scored, _, content, type_, subject, file, _ = row
    made = _as_seconds(timestamp)
    recency = recency_of(None if made is None else (now - made) / _DAY_SECONDS)
    fields = {"content": content, "type": type_, "subject": subject, "timestamp": timestamp, "anchor_file": file}
    return FoundItem(id_, backend, sha, words, meaning, prior, recency, *scored, **fields)


@lru_cache(maxsize=4_096)  # a process that stays meets the same items again
def _as_seconds(timestamp: str) -> float | None:
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
