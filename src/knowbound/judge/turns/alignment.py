"""How far an item's words are found in another text: in all of it, and in its best sentences.

A word that hardly any text about software has counts more than one that many have (`text/specific_words.py`); a name
counts whole, or partly by the words in it. What means the same counts half (`text/thesaurus.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Sequence, Set
from functools import lru_cache
from operator import mul
from typing import NamedTuple

from knowbound.judge.turns.passages import Passage, Passages, weight_of
from knowbound.text.thesaurus import links_of, terms_in

_LENGTH = 400 * 400  # of vectors made by `embed`
_PART_OF_A_NAME = 0.7  # what the words of a name count where the name itself is missing
WINDOW = 3  # neighbouring passages that are taken together


class Word(NamedTuple):
    """A word of an item: its terms, how much it says, and whether it is a value or a name."""

    terms: tuple[str, ...]
    weight: float
    start: int


def words_of(passages: Passages) -> list[Word]:
    """The words of an item, each once."""
    seen: dict[tuple[str, ...], Word] = {}
    for passage in passages.all:
        for start, terms in passage.places:
            seen.setdefault(terms, Word(terms, weight_of(terms), start))
    return list(seen.values())


def hit(word: Word, terms: Set[str]) -> float:
    """How far a word is found among terms, from 0 to 1."""
    if word.terms[0] in terms:
        return 1.0
    if len(word.terms) == 1:
        return 0.0
    return _PART_OF_A_NAME * sum(term in terms for term in word.terms[1:]) / (len(word.terms) - 1)


def coverage(words: Collection[Word], terms: Set[str]) -> float:
    """The share of what the words say that is found among terms."""
    total = sum(word.weight for word in words)
    return sum(word.weight * hit(word, terms) for word in words) / total if total else 0.0


def shared_weight(words: Collection[Word], terms: Set[str]) -> float:
    """How much the words say that are found among terms."""
    return sum(word.weight * hit(word, terms) for word in words)


class Window(NamedTuple):
    """Neighbouring passages, by the first and the number of them, and how much of the words they have."""

    start: int
    size: int
    share: float


def best_window(words: Sequence[Word], passages: Sequence[Passage], size: int) -> Window:
    """The neighbouring passages that have most of the words; the first of several."""
    total = sum(word.weight for word in words)
    if not total or not passages:
        return Window(0, 0, 0.0)
    hits = [[hit(word, passage.terms) for word in words] for passage in passages]
    weights = [word.weight for word in words]
    best = Window(0, min(size, len(passages)), 0.0)
    for start in range(max(1, len(passages) - size + 1)):
        window = hits[start : start + size]
        found = map(max, *window) if len(window) > 1 else window[0]
        share = sum(map(mul, weights, found)) / total
        if share > best.share + 1e-9:
            best = Window(start, len(window), share)
    return best


def nearest(item: Passage, passages: Sequence[Passage]) -> float:
    """The cosine of an item with the nearest of the passages."""
    own = item.numbers
    product = max((sum(map(mul, own, one.numbers)) for one in passages), default=0)
    return max(-1.0, min(1.0, product / _LENGTH))


@lru_cache(maxsize=4096)
def concepts(text: str) -> frozenset[int]:
    """The terms of the thesaurus that a text has."""
    return frozenset(terms_in(text[:4000]))


@lru_cache(maxsize=8192)
def _linked(number: int) -> frozenset[int]:
    return frozenset(other for other, _ in links_of(number))


def related(item: str, other: str) -> float:
    """The share of the item's concepts that the other text has, by the same term or a linked one."""
    ours, theirs = concepts(item), concepts(other)
    if not ours:
        return 0.0
    return sum(1.0 if one in theirs else 0.5 if _linked(one) & theirs else 0.0 for one in ours) / len(ours)
