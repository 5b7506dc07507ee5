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


_FEWEST = 100  # items: in a smaller store words weigh as in a store of this size
_SHORT = 3  # places: a shorter sentence belongs to the next one
_END = re.compile(r"[.!?;:](?=\s)|[\n。！？；]")
# The constants that BM25 has nearly everywhere. The usual length of an item is fixed: counting it would read all rows.
_SATURATION, _BY_LENGTH, _USUAL_LENGTH = 1.2, 0.75, 20
_MOST_OF_WHOLE = 3  # times the best sentence: what a pasted log shares by chance does not count without limit


class ParsedQuery:
    """A query. Its terms have weights after `count`."""

    def __init__(self, query: str) -> None:
        self.text = readable(query)
        self.places = places(self.text)
        self.sentences = self._sentences()  # the first place of each sentence
        self.where: dict[str, dict[int, None]] = {}  # the sentences of each term
        for place, (_, terms) in enumerate(self.places):
            for term in terms:
                self.where.setdefault(term, {})[bisect_right(self.sentences, place) - 1] = None
        self.weights: dict[str, float] = {}
        self.rows = 0  # rows of the store, known after `count`

    def count(self, having: dict[str, int], rows: int) -> None:
        """Weigh the terms by the number of the store's rows that have them."""
        self.rows = rows
        most = max(_FEWEST, rows)
        self.weights = {term: math.log(1 + (most - count + 0.5) / (count + 0.5)) for term, count in having.items()}

    def text_of(self, first: int, last: int) -> str:
        """Return the part of the query from one place to before another."""
        end = self.places[last][0] if last < len(self.places) else len(self.text)
        return self.text[self.places[first][0] : end]

    def end_of(self, sentence: int) -> int:
        """Return the place after the last of a sentence."""
        return self.sentences[sentence + 1] if sentence + 1 < len(self.sentences) else len(self.places)

    def words(self, terms: Collection[str]) -> tuple[float, int]:
        """Return how much an item with these terms shares with the query, and the sentence that it shares most with."""
        whole = 0.0
        sentences: dict[int, float] = {}
        for term in self.weights.keys() & terms:
            weight = self.weights[term]
            whole += weight
            for sentence in self.where[term]:
                sentences[sentence] = sentences.get(sentence, 0.0) + weight
        if not sentences:
            return 0.0, -1
        best = min(sentences, key=lambda sentence: (-sentences[sentence], sentence))
        length = 1 - _BY_LENGTH + _BY_LENGTH * len(terms) / _USUAL_LENGTH
        shared = (sentences[best] + min(whole, _MOST_OF_WHOLE * sentences[best])) / 2
        return shared * (1 + _SATURATION) / (1 + _SATURATION * length), best

    def _sentences(self) -> list[int]:
        starts = [start for start, _ in self.places]
        firsts = dict.fromkeys(bisect_left(starts, end.end()) for end in _END.finditer(self.text))
        found = [0]
        for first in firsts:
            if first - found[-1] >= _SHORT and first < len(starts):
                found.append(first)
        return found


SPLIT_BY = f"{specific_words.VERSION}.2"  # terms of another version are made again
_MOST_OF_ITEM = 5_000  # terms of one item
_MOST_ROWS = 2_000  # a term in more rows is common
_MOST_TERMS = 2_000  # terms of a query that are looked up
_MOST_READ = 40_000  # rows that are read for all terms: what costs time in a large store
_MOST_KEPT = 500  # terms that an open connection keeps the rows of: 10 MB where all are common
_NEWEST = (
    "SELECT group_concat(rowid) FROM (SELECT rowid FROM item_text WHERE item_text MATCH ? ORDER BY rowid DESC LIMIT ?)"
)
_COUNTED = "SELECT (SELECT count(*) FROM item), (SELECT max(rowid) FROM item)"  # rows may have been removed


def terms_of(content: str, subject: str = "") -> str:
    """Return the specific words of an item."""
    return " ".join([*specific_words.all_terms(f"{content}\n{subject}")][:_MOST_OF_ITEM])


def make_terms(db: sqlite3.Connection) -> None:
    """Make the terms of every row again, from the index alone: no backend has to answer."""
    rows = db.execute("SELECT rowid, content, subject FROM item").fetchall()
    changes = ((terms_of(content, subject), row) for row, content, subject in rows)
    db.executemany("UPDATE item SET terms = ?1 WHERE rowid = ?2 AND terms IS NOT ?1", changes)


def rows_with_words(index: sqlite3.Connection, parsed: ParsedQuery, most: int) -> dict[int, float]:
    """Return rows with words of the query and how much they share, at most `most`; weigh the query's words by rows."""
    kept = kept_of(index)
    known = {} if kept is None else kept  # what an open connection has looked up before
    if "counted" not in known:
        known["counted"], known["terms"] = index.execute(_COUNTED).fetchone(), {}
    rows, newest = known["counted"]
    having: dict[str, int] = {}
    found: dict[str, list[int]] = {}
    common: dict[str, list[int]] = {}
    read = 0
    for term in sorted(parsed.where, key=lambda term: (-len(term), term))[:_MOST_TERMS]:  # long words are rare ones
        if read < _MOST_READ:
            with_term = known["terms"].get(term) or _rows(index, term)
            known["terms"][term] = with_term
            if len(known["terms"]) > _MOST_KEPT:
                known["terms"].pop(next(iter(known["terms"])))
            read += len(with_term)
            having[term] = _estimated(with_term, rows, newest)
            (common if len(with_term) == _MOST_ROWS else found)[term] = with_term
    parsed.count(having, rows)
    if not any(found.values()):
        found = _with_two(common, parsed)
    shared: defaultdict[int, float] = defaultdict(float)
    for term, with_term in found.items():
        weight = parsed.weights[term]
        for row in with_term:
            shared[row] += weight
    least = sorted(shared.values(), reverse=True)[:most][-1] if shared else 0.0  # quicker than to sort the pairs
    ranked = sorted(((share, row) for row, share in shared.items() if share >= least), reverse=True)[:most]
    return {row: share for share, row in ranked}


def _with_two(common: dict[str, list[int]], parsed: ParsedQuery) -> dict[str, list[int]]:
    """Return the newest rows with the two rarest terms, or with the only one: for a query without rare terms."""
    rarest = sorted(common, key=lambda term: (-parsed.weights[term], term))[:2]
    both = set.intersection(*(set(common[term]) for term in rarest)) if rarest else set()
    return {term: sorted(both or common[term]) for term in rarest}


def _rows(index: sqlite3.Connection, term: str) -> list[int]:
    """Return the rows with a term, newest first."""
    (listed,) = index.execute(_NEWEST, (f'"{term}"', _MOST_ROWS)).fetchone()  # quicker than row by row
    return list(map(int, listed.split(","))) if listed else []


def _estimated(with_term: list[int], rows: int, newest: int) -> int:
    """Return the number of rows with a term, estimated from the newest rows where there are too many to read."""
    if len(with_term) < _MOST_ROWS:
        return len(with_term)
    return min(rows, round(_MOST_ROWS * newest / (newest - with_term[-1] + 1)))
