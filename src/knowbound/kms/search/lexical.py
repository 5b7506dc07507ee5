"""The terms of items, and the rows that share terms with a query: the candidates by words.

The terms in a row are made by text/specific_words.py. Every term of the query is looked up, as a string and never as
FTS5 syntax, also of a long prompt: a lookup of a term that no row has costs next to nothing. Terms with few rows make
candidates. Terms that are common in this store only count when each candidate is compared (query.py), unless all are.
"""

from __future__ import annotations

from collections import defaultdict

from knowbound.store.read_only import kept_of
from knowbound.text import specific_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    from knowbound.kms.search.query import ParsedQuery

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
