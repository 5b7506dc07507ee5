"""Simple ways to choose items, which bench/injection.py compares with.

Each gives every item a score for a prompt and injects the best above its floor. Floors were chosen on the development
sets, in stores as they are, by the objective of `knowbound quality calibrate`, and are fixed here.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Sequence
from typing import NamedTuple

from knowbound.core.item import Item
from knowbound.stats.floor import Injecting
from knowbound.text.english import SEARCH_STOP_WORDS

_WORD = re.compile(r"[^\W_]+")
_TABLE = (
    "CREATE VIRTUAL TABLE item USING fts5 (content, subject, id UNINDEXED,"
    ' tokenize="porter unicode61 remove_diacritics 2")'
)

Scoring = Callable[[str], dict[str, float]]  # prompt → score by item


class Baseline(NamedTuple):
    """A way to choose: how it scores the items of a store, and from which score on it injects how many."""

    name: str
    scoring: Callable[[Sequence[Item]], Scoring]
    floor: float
    most: int


def injecting(scores: dict[str, float]) -> Injecting:
    """What is injected above a floor by these scores, best first."""
    ranked = sorted(scores, key=lambda id_: (-scores[id_], id_))

    def inject(floor: float, most: int) -> Sequence[str]:
        return [id_ for id_ in ranked[:most] if scores[id_] >= floor]

    return inject


def _bm25(items: Sequence[Item]) -> Scoring:
    """FTS5's BM25 b as b / (b + 10), so that floors are below 1."""
    index = _text_index(items)

    def score(prompt: str) -> dict[str, float]:
        words = " OR ".join(f'"{word}"' for word in _words(prompt))
        rows = index.execute("SELECT id, -bm25(item) FROM item WHERE item MATCH ?", (words,)) if words else ()
        return {id_: max(0.0, value) / (max(0.0, value) + 10) for id_, value in rows}

    return score


def _overlap(items: Sequence[Item]) -> Scoring:
    """The share of the prompt's words that the item has."""
    words_of = {item.id: set(_words(f"{item.subject} {item.content}")) for item in items}

    def score(prompt: str) -> dict[str, float]:
        asked = set(_words(prompt))
        return {id_: len(asked & words) / len(asked) for id_, words in words_of.items()} if asked else {}

    return score


def _nothing(_items: Sequence[Item]) -> Scoring:
    return lambda _prompt: {}


def _text_index(items: Sequence[Item]) -> sqlite3.Connection:
    index = sqlite3.connect(":memory:")
    index.execute(_TABLE)
    index.executemany("INSERT INTO item VALUES (?, ?, ?)", ((item.content, item.subject, item.id) for item in items))
    return index


def _words(text: str) -> list[str]:
    found = (word.lower() for word in _WORD.findall(text))
    return list(dict.fromkeys(word for word in found if word not in SEARCH_STOP_WORDS and len(word) > 1))


BASELINES = (
    Baseline("BM25", _bm25, 0.61, 1),
    Baseline("overlap", _overlap, 0.34, 1),  # no floor leaves 95% alone: the best F0.5
    Baseline("BM25, the first always", _bm25, 0.0, 1),
    Baseline("always nothing", _nothing, 1.0, 0),
)
