"""A query taken apart, the terms of items, and the rows that share terms with a query: the candidates by words.

A query has its terms by sentence, weighed by the number of items that have them, as BM25 does. A prompt is judged by
its best sentence and by the whole, in equal parts: a task of three sentences with a log pasted below is about an item
where one of its sentences is.

The terms in a row are made by text/specific_words.py. Every term of the query is looked up, as a string and never as
FTS5 syntax, also of a long prompt: a lookup of a term that no row has costs next to nothing. Terms with few rows make
candidates. Terms that are common in this store only count when each candidate is compared, unless all are.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict

from knowbound.store.read_only import kept_of
from knowbound.text import specific_words
from knowbound.text.specific_words import places, readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Collection


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
        self.places = places(self.text)
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
            cache[term] = rows_by_term[term] = cache.get(term) or _rows(index, term)
            if len(cache) > _MOST_CACHED_TERMS:
                cache.pop(next(iter(cache)))
            read += len(rows_by_term[term])
    return rows_by_term


def _rows_with_two_rarest(common: dict[str, list[int]], parsed: ParsedQuery) -> dict[str, list[int]]:
    """Return the newest rows with the two rarest terms, or with the only one: for a query without rare terms."""
    rarest = sorted(common, key=lambda term: (-parsed.weights[term], term))[:2]
    both = set.intersection(*(set(common[term]) for term in rarest)) if rarest else set()
    return {term: sorted(both or common[term]) for term in rarest}


def _rows(index: sqlite3.Connection, term: str) -> list[int]:
    """Return the rows with a term, newest first."""
    (listed,) = index.execute(_NEWEST, (f'"{term}"', _MOST_ROWS)).fetchone()  # quicker than row by row
    return list(map(int, listed.split(","))) if listed else []


def _estimated_count(with_term: list[int], rows: int, newest_row: int) -> int:
    """Return the number of rows with a term, estimated from the newest rows where there are too many to read."""
    if len(with_term) < _MOST_ROWS:
        return len(with_term)
    return min(rows, round(_MOST_ROWS * newest_row / (newest_row - with_term[-1] + 1)))
