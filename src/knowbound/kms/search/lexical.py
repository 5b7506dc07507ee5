"""What share of a query's words an item has; the rarer a word is in the store, the more it weighs.

This is BM25 in its binary form (k1 = 0: a word counts once, however long the item), over the most a query could get
(and at least what three of the rarest words would give, so that "run tests" is no perfect match for half the store).
On the development half of LoCoMo it finds more than FTS5's BM25 (recall@5 0.58 against 0.56), it means the same for
every query, and it needs no look at each row's length, which is what costs FTS5 most of its time in a large store.

A query is data, never FTS5 syntax: its words are looked up one by one, as strings. Words with few rows make
candidates; a common word only adds to rows that have a rarer one, or another common one if nothing is rare.
"""

from __future__ import annotations

import math
import re

from knowbound.text.stop_words import SEARCH_STOP_WORDS
from knowbound.text.terms import split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

_MOST_WORDS = 32  # of a long query: half at its beginning, half at its end, where the question often is
_MOST_ROWS = 2_000  # a word in more rows is common
_NO_LIMIT = -1
_WHOLE_WORDS = 3  # a query of fewer rare words than this cannot get the full share
_MOST_CHARACTERS = 20_000
_LONGEST_WORD = 64
_WORD = re.compile(r"[^\W_]+")


def shared_words(index: sqlite3.Connection, query: str) -> dict[int, float]:
    """Rows of the index with words of the query, and the share of the query's weight that they have, up to 1."""
    words = query_words(query)
    count = index.execute("SELECT max(rowid) FROM item").fetchone()[0]
    if not words or not count:
        return {}
    rare: dict[str, list[int]] = {}
    weights: dict[str, float] = {}
    for word in words:
        rows = _rows(index, _quoted(word), _MOST_ROWS)
        weights[word] = _weight(rows, count)
        if len(rows) < _MOST_ROWS:
            rare[word] = rows
    found = {word: rows for word, rows in rare.items() if rows}
    found |= _common(index, sorted(set(words) - set(rare), key=lambda word: (-weights[word], word)), list(found))
    most = max(sum(weights.values()), _WHOLE_WORDS * math.log(1 + count))
    share: dict[int, float] = {}
    for word, rows in found.items():
        part = weights[word] / most
        for row in rows:
            share[row] = share.get(row, 0.0) + part
    return share


def query_words(query: str) -> list[str]:
    """The words that are looked up, in the order of the query: whole names and the words in them, no stop words."""
    if len(query) > _MOST_CHARACTERS:
        query = f"{query[: _MOST_CHARACTERS // 2]} {query[-_MOST_CHARACTERS // 2 :]}"
    words: dict[str, None] = {}
    for name in _WORD.findall(query):
        for word in (name.lower(), *split_words(name)):
            if word not in SEARCH_STOP_WORDS and 1 < len(word) <= _LONGEST_WORD:
                words[word] = None
    chosen = list(words)
    half = _MOST_WORDS // 2
    return chosen if len(chosen) <= _MOST_WORDS else chosen[:half] + chosen[-half:]


def _common(index: sqlite3.Connection, common: list[str], rare: list[str]) -> dict[str, list[int]]:
    """For each common word the rows to look at that have it: those with a rare word, or with the two rarest of them."""
    if rare:
        with_rare = " OR ".join(map(_quoted, rare))
        return {word: _rows(index, f"{_quoted(word)} AND ({with_rare})", _NO_LIMIT) for word in common}
    both = _rows(index, " AND ".join(map(_quoted, common[:2])), _MOST_ROWS) if common else []
    return dict.fromkeys(common[:2], both)


def _rows(index: sqlite3.Connection, expression: str, most: int) -> list[int]:
    """The rows that match, newest first."""
    found = index.execute(
        "SELECT rowid FROM item_text WHERE item_text MATCH ? ORDER BY rowid DESC LIMIT ?", (expression, most)
    )
    return [row for (row,) in found]


def _weight(rows: list[int], count: int) -> float:
    """Inverse document frequency. A word with too many rows to read is as frequent as it is among the newest."""
    having = len(rows)
    if having == _MOST_ROWS:
        having = round(having * count / (count - rows[-1] + 1))
    return math.log(1 + (count - having + 0.5) / (having + 0.5))


def _quoted(word: str) -> str:
    return f'"{word}"'
