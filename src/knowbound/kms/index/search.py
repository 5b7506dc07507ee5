"""Search for the items that a text is about, in the local index alone: by words and by meaning.

Candidates are the items that share the rarest words with the query, and the nearest by the codes of the embedding
(codes.py): nearest to the whole query, and to the beginning and the end of a long one, where the question mostly is.
Each is compared with the query word by word and, by the exact cosine, with the whole and with the sentences that
matter; ranking.py puts them in order.

A query has its terms by sentence, weighed by the number of items that have them, as BM25 does. A prompt is judged by
its best sentence and by the whole, in equal parts: a task of three sentences with a log pasted below is about an item
where one of its sentences is. The terms in a row are made by text/specific_words.py. Every term of the query is looked
up, as a string and never as FTS5 syntax, also of a long prompt: a lookup of a term that no row has costs next to
nothing. Terms with few rows make candidates. Terms that are common in this store only count when each candidate is
compared, unless all are.

The hook runs this for every prompt: nothing is imported beyond the standard library and small modules of ours.
"""

from __future__ import annotations

import math
import re
import sqlite3
import time
from bisect import bisect_left, bisect_right
from collections import defaultdict
from datetime import UTC, datetime
from functools import lru_cache

from knowbound.kms.index.codes import nearest, nearest_of
from knowbound.kms.index.ranking import FoundItem, prior_of, rank, recency_of
from knowbound.store.own_index import kept_of
from knowbound.text import specific_words
from knowbound.text.embedding import Unpacked, code_of, embed, nearest_similarity
from knowbound.text.printable import both_ends
from knowbound.text.specific_words import places, readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
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
    meanings = _meanings(whole, parts, [row[9] for row in rows])  # row[9]: the vector
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
        firsts = [parsed.sentences[sentence] for _, sentence in by_score if sentence >= 0]  # -1: no word in common
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
    """Return a time in seconds since 1970; None for a text that is none."""
    try:
        moment = datetime.fromisoformat(timestamp)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


# By words


_FEWEST_ITEMS = 100  # in a smaller store words weigh as in a store of this size
_SHORTEST_PLACES = 3  # a shorter sentence belongs to the next one
_SENTENCE_END = re.compile(r"[.!?;:](?=\s)|[\n。！？；]")
# k1 and b of BM25, as nearly everywhere. The mean number of terms of an item is fixed: counting it would read all rows.
_SATURATION, _BY_LENGTH, _USUAL_TERMS = 1.2, 0.75, 20
_MOST_OF_WHOLE = 3  # times the best sentence: what a pasted log shares by chance does not count without limit


class ParsedQuery:
    """A query by its sentences. Its terms have weights after `weigh`."""

    def __init__(self, query: str) -> None:
        self.text = readable(query)
        self.places = places(self.text)  # where each word begins, and its terms
        self.sentences = self._first_places()  # of each sentence
        self.sentences_of: dict[str, dict[int, None]] = {}  # by term
        for place, (_, terms) in enumerate(self.places):
            for term in terms:
                self.sentences_of.setdefault(term, {})[bisect_right(self.sentences, place) - 1] = None
        self.weights: dict[str, float] = {}
        self.rows = 0  # rows of the store, known after `weigh`

    def weigh(self, rows_with_term: dict[str, int], rows: int) -> None:
        """Give each term its weight: BM25's idf, higher the fewer of the store's rows have the term."""
        self.rows = rows
        total = max(_FEWEST_ITEMS, rows)
        self.weights = {term: math.log(1 + (total - n + 0.5) / (n + 0.5)) for term, n in rows_with_term.items()}

    def text_of(self, first: int, last: int) -> str:
        """Return the part of the query from one place to before another."""
        end = self.places[last][0] if last < len(self.places) else len(self.text)
        return self.text[self.places[first][0] : end]

    def end_of(self, sentence: int) -> int:
        """Return the place after the last of a sentence."""
        return self.sentences[sentence + 1] if sentence + 1 < len(self.sentences) else len(self.places)

    def score(self, terms: Collection[str]) -> tuple[float, int]:
        """Return the BM25 of an item with these terms, and the sentence that it shares most with; 0 and -1 for none.

        The mean of the best sentence and of the whole query, which counts as a few times the best sentence at most.
        """
        whole = 0.0
        by_sentence: dict[int, float] = {}
        for term in self.weights.keys() & terms:
            weight = self.weights[term]
            whole += weight
            for sentence in self.sentences_of[term]:
                by_sentence[sentence] = by_sentence.get(sentence, 0.0) + weight
        if not by_sentence:
            return 0.0, -1
        best = min(by_sentence, key=lambda sentence: (-by_sentence[sentence], sentence))
        length = 1 - _BY_LENGTH + _BY_LENGTH * len(terms) / _USUAL_TERMS  # a long item shares more by chance
        shared = (by_sentence[best] + min(whole, _MOST_OF_WHOLE * by_sentence[best])) / 2
        return shared * (1 + _SATURATION) / (1 + _SATURATION * length), best

    def _first_places(self) -> list[int]:
        """Return the first place of each sentence; short sentences are joined with the next one."""
        starts = [start for start, _ in self.places]
        after_ends = dict.fromkeys(bisect_left(starts, end.end()) for end in _SENTENCE_END.finditer(self.text))
        firsts = [0]
        for place in after_ends:
            if place - firsts[-1] >= _SHORTEST_PLACES and place < len(starts):
                firsts.append(place)
        return firsts


SPLIT_BY = f"{specific_words.VERSION}.2"  # terms of another version are made again
_MOST_TERMS_OF_ITEM = 5_000  # terms of one item
_MOST_ROWS = 2_000  # of a term; a term in as many is too common to find candidates by
_MOST_QUERY_TERMS = 2_000  # terms of a query that are looked up
_MOST_ROWS_READ = 40_000  # rows that are read for all terms: what costs time in a large store
_MOST_CACHED_TERMS = 500  # terms that an open connection keeps the rows of: 10 MB where all are common
_NEWEST = (
    "SELECT group_concat(rowid) FROM (SELECT rowid FROM item_text WHERE item_text MATCH ? ORDER BY rowid DESC LIMIT ?)"
)
_COUNTED = "SELECT (SELECT count(*) FROM item), (SELECT max(rowid) FROM item)"  # rows may have been removed


def terms_of(content: str, subject: str = "") -> str:
    """Return the specific words of an item."""
    return " ".join([*specific_words.all_terms(f"{content}\n{subject}")][:_MOST_TERMS_OF_ITEM])


def make_terms(db: sqlite3.Connection) -> None:
    """Make the terms of every row again, from the index alone: no backend has to answer."""
    rows = db.execute("SELECT rowid, content, subject FROM item").fetchall()
    changes = ((terms_of(content, subject), row) for row, content, subject in rows)
    db.executemany("UPDATE item SET terms = ?1 WHERE rowid = ?2 AND terms IS NOT ?1", changes)


def rows_with_words(index: sqlite3.Connection, parsed: ParsedQuery, most: int) -> dict[int, float]:
    """Return rows with words of the query and how much they share, at most `most`; weigh the query's words by rows."""
    kept = kept_of(index)
    cache = {} if kept is None else kept  # what an open connection has looked up before
    if "counted" not in cache:
        cache["counted"], cache["terms"] = index.execute(_COUNTED).fetchone(), {}
    rows, newest_row = cache["counted"]
    rows_by_term = _rows_by_term(index, parsed, cache["terms"])
    parsed.weigh({term: _estimated_count(found, rows, newest_row) for term, found in rows_by_term.items()}, rows)
    rare = {term: found for term, found in rows_by_term.items() if len(found) < _MOST_ROWS}
    if not any(rare.values()):
        common = {term: found for term, found in rows_by_term.items() if len(found) == _MOST_ROWS}
        rare = _rows_with_two_rarest(common, parsed)
    shared: defaultdict[int, float] = defaultdict(float)
    for term, with_term in rare.items():
        weight = parsed.weights[term]
        for row in with_term:
            shared[row] += weight
    least = sorted(shared.values(), reverse=True)[:most][-1] if shared else 0.0  # quicker than to sort the pairs
    ranked = sorted(((share, row) for row, share in shared.items() if share >= least), reverse=True)[:most]
    return {row: share for share, row in ranked}


def _rows_by_term(index: sqlite3.Connection, parsed: ParsedQuery, cache: dict[str, list[int]]) -> dict[str, list[int]]:
    """Look up the rows of the query's terms, the longest first, as they are mostly rare; later ones may be left out."""
    rows_by_term: dict[str, list[int]] = {}
    read = 0
    for term in sorted(parsed.sentences_of, key=lambda term: (-len(term), term))[:_MOST_QUERY_TERMS]:
        if read < _MOST_ROWS_READ:
            if not cache.get(term):
                (listed,) = index.execute(_NEWEST, (f'"{term}"', _MOST_ROWS)).fetchone()  # quicker than row by row
                cache[term] = list(map(int, listed.split(","))) if listed else []
            rows_by_term[term] = cache[term]
            if len(cache) > _MOST_CACHED_TERMS:
                cache.pop(next(iter(cache)))  # the first that was looked up
            read += len(rows_by_term[term])
    return rows_by_term


def _rows_with_two_rarest(common: dict[str, list[int]], parsed: ParsedQuery) -> dict[str, list[int]]:
    """Return the newest rows with the two rarest terms, or with the only one: for a query without rare terms."""
    rarest = sorted(common, key=lambda term: (-parsed.weights[term], term))[:2]
    both = set.intersection(*(set(common[term]) for term in rarest)) if rarest else set()
    return {term: sorted(both or common[term]) for term in rarest}


def _estimated_count(with_term: list[int], rows: int, newest_row: int) -> int:
    """Return the number of rows with a term, estimated from the newest rows where there are too many to read."""
    if len(with_term) < _MOST_ROWS:
        return len(with_term)
    return min(rows, round(_MOST_ROWS * newest_row / (newest_row - with_term[-1] + 1)))
