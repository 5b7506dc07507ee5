"""Finds what is stored already and says nearly the same as a new item: shown to whoever adds it, not refused.

The likeness of two texts is the mean of two: of meaning (the cosine of the embeddings) and of words (Dice). Neither is
enough alone: contradicting statements mean nearly the same, and two facts about one subject share its words. The
threshold was calibrated on pairs, see docs/decisions/near-duplicates.md; `python -m bench.near_duplicates` measures it
again. A pair that differs in a number or a "not" is above it on purpose: that is when someone must look.
"""

from __future__ import annotations

import sqlite3
from functools import lru_cache
from typing import NamedTuple

from knowbound.kms.search.retrieval import search
from knowbound.text.embedding import plain_words
from knowbound.text.stems import stem
from knowbound.text.stop_words import STOP_WORDS

NEAR = 0.70
_CANDIDATES = 50
_SHOWN = 3


class NearDuplicate(NamedTuple):
    """A stored item that says nearly the same."""

    id: str
    content: str
    similarity: float


def near_duplicates(index: sqlite3.Connection, content: str, *, most: int = _SHOWN) -> list[NearDuplicate]:
    """The served items most like this content, best first."""
    words = stems(content)
    found = [
        NearDuplicate(item.id, item.content, likeness(item.meaning, words, stems(item.content)))
        for item in search(index, content, limit=_CANDIDATES, as_a_whole=True).items
    ]
    near = [one for one in found if one.similarity >= NEAR]
    return sorted(near, key=lambda one: -one.similarity)[:most]


def likeness(cosine: float, words: frozenset[str], other: frozenset[str]) -> float:
    """How much alike two texts are, 0 to 1."""
    shared = 2 * len(words & other) / max(1, len(words) + len(other))
    return (max(0.0, cosine) + shared) / 2


@lru_cache(maxsize=4096)
def stems(text: str) -> frozenset[str]:
    """The words that are no stop words, without their endings; ideographs one by one."""
    words = {word.lower() for word in plain_words(text)}
    return frozenset(map(stem, words - STOP_WORDS or words))
