"""What bench/injection.py compares with: simple ways to choose, and the relevance that knowbound had before.

Each gives every item a score for a prompt and injects the best above its floor. Floors were chosen on the development
sets, in stores as they are, by the objective of `knowbound quality calibrate`, and are fixed here.
"""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Callable, Sequence
from typing import NamedTuple

from knowbound.core.item import Item
from knowbound.stats.floor import Injecting
from knowbound.text.embedding import embed, similarity
from knowbound.text.stop_words import SEARCH_STOP_WORDS
from knowbound.text.terms import split_words

_WORD = re.compile(r"[^\W_]+")
_LONG = 1_200  # characters that `before` searched for; of a longer prompt the paragraphs at its ends
_MOST_WORDS = 32  # that `before` looked up
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


def _before(items: Sequence[Item]) -> Scoring:
    """0.6 · share of the prompt's words, weighted by rarity, + 0.4 · cosine of the whole prompt."""
    index = _text_index(items)
    vectors = {item.id: embed(item.content) for item in items}

    def score(prompt: str) -> dict[str, float]:
        searched = _searched_part(prompt)
        words = _named_words(searched)
        rows = {
            word: index.execute("SELECT id FROM item WHERE item MATCH ?", (f'"{word}"',)).fetchall() for word in words
        }
        weights = {
            word: math.log(1 + (len(items) - len(found) + 0.5) / (len(found) + 0.5)) for word, found in rows.items()
        }
        most = max(sum(weights.values()), 3 * math.log(1 + len(items)))
        lexical: dict[str, float] = {}
        for word, found in rows.items():
            for (id_,) in found:
                lexical[id_] = lexical.get(id_, 0.0) + weights[word] / most
        vector = embed(searched)
        return {
            id_: 0.6 * lexical.get(id_, 0.0) + 0.4 * max(0.0, similarity(vector, other))
            for id_, other in vectors.items()
        }

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


def _named_words(text: str) -> list[str]:
    """Whole names and the words in them: 32 at most, half at the beginning, half at the end."""
    found = (word for name in _WORD.findall(text) for word in (name.lower(), *split_words(name)))
    words = list(dict.fromkeys(word for word in found if word not in SEARCH_STOP_WORDS and 1 < len(word) <= 64))
    half = _MOST_WORDS // 2
    return words if len(words) <= _MOST_WORDS else words[:half] + words[-half:]


def _searched_part(prompt: str) -> str:
    if len(prompt) <= _LONG:
        return prompt
    paragraphs = [part for part in prompt.replace("\r\n", "\n").split("\n\n") if part.strip()]
    ends = [paragraphs[0], paragraphs[-1]] if len(paragraphs) > 1 else [prompt]
    short = [part for part in ends if len(part) <= _LONG // 2]
    return "\n".join(short) if short else f"{prompt[: _LONG // 2]}\n{prompt[-_LONG // 2 :]}"


BASELINES = (
    Baseline("before", _before, 0.33, 6),  # as it was released
    Baseline("refitted", _before, 0.32, 1),  # the same with its best floor
    Baseline("BM25", _bm25, 0.61, 1),
    Baseline("overlap", _overlap, 0.34, 1),  # no floor leaves 95% alone: the best F0.5
    Baseline("BM25, the first always", _bm25, 0.0, 1),
    Baseline("always nothing", _nothing, 1.0, 0),
)
