"""What an item is found by: the terms in its row, as text/specific_words.py and text/thesaurus.py split them today."""

from __future__ import annotations

import sqlite3

from knowbound.text import specific_words, thesaurus

SPLIT_BY = f"{specific_words.VERSION}.{thesaurus.VERSION}"  # terms that others made are made anew
_MOST = 5_000  # terms of one item


def terms_of(content: str, subject: str = "") -> str:
    """The specific words of an item, and the numbers of its terms in the thesaurus."""
    text = f"{content}\n{subject}"
    terms = [*specific_words.all_terms(text), *map(thesaurus.mark, thesaurus.terms_in(specific_words.readable(text)))]
    return " ".join(terms[:_MOST])


def make_terms(db: sqlite3.Connection) -> None:
    """Make the terms of every row anew, from the index alone: no backend has to answer."""
    rows = db.execute("SELECT rowid, content, subject FROM item").fetchall()
    changes = ((terms_of(content, subject), row) for row, content, subject in rows)
    db.executemany("UPDATE item SET terms = ?1 WHERE rowid = ?2 AND terms IS NOT ?1", changes)
