"""The terms of items, and the rows that share terms with a query: the candidates by words.

The terms in a row are made by text/specific_words.py and text/thesaurus.py. Every term of the query is looked up, as a
string and never as FTS5 syntax, also of a long prompt: a lookup of a term that no row has costs next to nothing. Terms
with few rows make candidates. Terms that are common, in text about software or in this store, only count when each
candidate is compared (query.py), unless all terms are. Of many candidates, those are compared whose shared words are
close together.
"""

from __future__ import annotations

from knowbound.kms.search.query import WINDOW
from knowbound.text import specific_words, thesaurus

TYPE_CHECKING = False
if TYPE_CHECKING:
    import sqlite3

    from knowbound.kms.search.query import ParsedQuery

SPLIT_BY = f"{specific_words.VERSION}.{thesaurus.VERSION}"  # terms of another version are made again
_MOST_OF_ITEM = 5_000  # terms of one item
_MOST_ROWS = 2_000  # a term in more rows is common
_MOST_TERMS = 2_000  # terms of a query that are looked up, rarest first
_MOST_USUAL = 12  # common terms that are looked up: reading their rows is what costs time
_USUAL = 0.6  # weight below which a term is common in text
_MOST_LINKS = 64
_COUNTED = "SELECT (SELECT count(*) FROM item), (SELECT max(rowid) FROM item)"  # rows may have been removed
_MOST_JOINED = 600  # rows whose shared words are placed in windows


def terms_of(content: str, subject: str = "") -> str:
    """Return the specific words of an item, and the numbers of its terms in the thesaurus."""
    text = f"{content}\n{subject}"
    terms = [*specific_words.all_terms(text), *map(thesaurus.mark, thesaurus.terms_in(specific_words.readable(text)))]
    return " ".join(terms[:_MOST_OF_ITEM])


def make_terms(db: sqlite3.Connection) -> None:
    """Make the terms of every row again, from the index alone: no backend has to answer."""
    rows = db.execute("SELECT rowid, content, subject FROM item").fetchall()
    changes = ((terms_of(content, subject), row) for row, content, subject in rows)
    db.executemany("UPDATE item SET terms = ?1 WHERE rowid = ?2 AND terms IS NOT ?1", changes)


def rows_with_words(
    index: sqlite3.Connection, parsed: ParsedQuery, links: dict[str, list[tuple[int, float]]], most: int
) -> dict[int, float]:
    """Return rows with words of the query, or words linked with them, and how much they share; at most `most`.

    Afterwards the query's words are weighed by the number of rows that have them.
    """
    rows, newest = index.execute(_COUNTED).fetchone()
    having: dict[str, int] = {}
    found: dict[str, list[int]] = {}
    common: dict[str, list[int]] = {}
    for term in _looked_up(parsed):
        with_term = _rows(index, term)
        having[term] = _estimated(with_term, rows, newest)
        (common if len(with_term) == _MOST_ROWS else found)[term] = with_term
    parsed.count(having, rows)
    if not any(found.values()):
        found = _with_two(common, parsed)
    best = _joined(found, parsed)
    for linked in sorted(links, key=lambda linked: -max(worth for _, worth in links[linked]))[:_MOST_LINKS]:
        worth = max(worth for _, worth in links[linked])
        with_term = _rows(index, linked)
        for row in with_term if len(with_term) < _MOST_ROWS else ():
            best[row] = best.get(row, 0.0) + worth / 2
    ranked = sorted([(shared, row) for row, shared in best.items()], reverse=True)[:most]
    return {row: shared for shared, row in ranked}


def _looked_up(parsed: ParsedQuery) -> list[str]:
    """Return the terms of the query, rarest first."""
    terms = sorted(parsed.weights, key=lambda term: (-parsed.weights[term], term))
    usual = [term for term in terms if parsed.weights[term] < _USUAL]
    return terms[: len(terms) - len(usual)][:_MOST_TERMS] + usual[:_MOST_USUAL]


def _joined(found: dict[str, list[int]], parsed: ParsedQuery) -> dict[int, float]:
    """Return the rows that share the most; of the best rows only words within one window of the query count."""
    shared: dict[int, float] = {}
    for term, rows in found.items():
        weight = parsed.weights[term]
        for row in rows:
            shared[row] = shared.get(row, 0.0) + weight
    if len(parsed.places) <= WINDOW:
        return shared
    ranked = sorted([(share, row) for row, share in shared.items()], reverse=True)[:_MOST_JOINED]
    best = {row for _, row in ranked}
    hits: dict[int, list[tuple[int, float]]] = {}
    for term, rows in found.items():
        weight, where = parsed.weights[term], parsed.where[term]
        for row in best.intersection(rows):
            hits.setdefault(row, []).extend([(place, weight) for place in where])
    return {row: _best_window(sorted(places)) for row, places in hits.items()}


def _best_window(hits: list[tuple[int, float]]) -> float:
    best = total = 0.0
    first = 0
    for place, weight in hits:
        total += weight
        while hits[first][0] <= place - WINDOW:
            total -= hits[first][1]
            first += 1
        best = max(best, total)
    return best


def _with_two(common: dict[str, list[int]], parsed: ParsedQuery) -> dict[str, list[int]]:
    """Return the newest rows with the two rarest terms, or with the only one: for a query without rare terms."""
    rarest = sorted(common, key=lambda term: (-parsed.weights[term], term))[:2]
    both = set.intersection(*(set(common[term]) for term in rarest)) if rarest else set()
    return {term: sorted(both or common[term]) for term in rarest}


def _rows(index: sqlite3.Connection, term: str) -> list[int]:
    """Return the rows with a term, newest first."""
    found = index.execute(
        "SELECT rowid FROM item_text WHERE item_text MATCH ? ORDER BY rowid DESC LIMIT ?", (f'"{term}"', _MOST_ROWS)
    )
    return [row for (row,) in found]


def _estimated(with_term: list[int], rows: int, newest: int) -> int:
    """Return the number of rows with a term, estimated from the newest rows where there are too many to read."""
    if len(with_term) < _MOST_ROWS:
        return len(with_term)
    return min(rows, round(_MOST_ROWS * newest / (newest - with_term[-1] + 1)))
