"""How far an item's words are found in another text: in all of it, and in its best sentences.

A word that hardly any text about software has counts more than one that many have (`text/specific_words.py`); a name
counts whole, or partly by the words in it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence, Set
from functools import lru_cache
from itertools import pairwise
from operator import mul
from typing import NamedTuple

from knowbound.judge.turns.passages import Passage, Passages, weight_of
from knowbound.text.embedding import embed, values
from knowbound.text.specific_words import readable

_LENGTH = 400 * 400  # of vectors made by `embed`
_PART_OF_A_NAME = 0.7  # what the words of a name count where the name itself is missing
_UNLIKE = 0.35  # the cosine of words that have nothing in common
_MOST_SOFT = 24  # words that are compared by meaning
_SURFACE = re.compile(r"[^\W_]+")
WINDOW = 3  # neighbouring passages that are taken together


class ItemWord(NamedTuple):
    """A word of an item: its terms, how much it says, and whether it is a value or a name."""

    terms: tuple[str, ...]
    weight: float
    start: int
    surface: str  # as it is spelled


@lru_cache(maxsize=100)
def words_of(passages: Passages) -> list[ItemWord]:
    """The words of an item, each once."""
    seen: dict[tuple[str, ...], ItemWord] = {}
    for passage in passages.all:
        for word in words_of_passage(passage):
            seen.setdefault(word.terms, word)
    return list(seen.values())


@lru_cache(maxsize=500)
def words_of_passage(passage: Passage) -> list[ItemWord]:
    """The words of a passage in their order."""
    text = readable(passage.text)
    return [
        ItemWord(terms, weight_of(terms), start, found[0] if (found := _SURFACE.match(text, start)) else terms[0])
        for start, terms in passage.places
    ]


def hit(word: ItemWord, terms: Set[str]) -> float:
    """How far a word is found among terms, from 0 to 1."""
    if word.terms[0] in terms:
        return 1.0
    if len(word.terms) == 1:
        return 0.0
    return _PART_OF_A_NAME * sum(term in terms for term in word.terms[1:]) / (len(word.terms) - 1)


def coverage(words: Collection[ItemWord], terms: Set[str]) -> float:
    """The share of what the words say that is found among terms."""
    total = sum(word.weight for word in words)
    return sum(word.weight * hit(word, terms) for word in words) / total if total else 0.0


def shared_weight(words: Collection[ItemWord], terms: Set[str]) -> float:
    """How much the words say that are found among terms."""
    return sum(word.weight * hit(word, terms) for word in words)


def rarest(words: Collection[ItemWord], terms: Set[str]) -> float:
    """How much the most telling word says that is found among terms."""
    return max((word.weight * hit(word, terms) for word in words), default=0.0)


class Window(NamedTuple):
    """Neighbouring passages, by the first and the number of them, and how much of the words they have."""

    start: int
    size: int
    share: float


def best_window(words: Sequence[ItemWord], passages: Passages, size: int) -> Window:
    """The neighbouring passages that have most of the words; the first of several."""
    total = sum(word.weight for word in words)
    if not total or not passages.all:
        return Window(0, 0, 0.0)
    size = min(size, len(passages.all))
    last = len(passages.all) - size
    found: dict[int, float] = {}
    for word in words:
        best: dict[int, float] = {}
        for at, share in passages.hits(word.terms).items():
            for start in range(max(0, at - size + 1), min(at, last) + 1):
                if share > best.get(start, 0.0):
                    best[start] = share
        for start, share in best.items():
            found[start] = found.get(start, 0.0) + word.weight * share
    most = max(found.values(), default=0.0)
    start = min((at for at, weight in found.items() if weight > most - 1e-9), default=0)
    return Window(start, size, min(1.0, most / total))


def shares_of(words: Sequence[ItemWord], passages: Passages) -> list[float]:
    """How much of the words every passage has, as a weight."""
    found = [0.0] * len(passages.all)
    for word in words:
        for at, share in passages.hits(word.terms).items():
            found[at] += word.weight * share
    return found


def cosine(one: Sequence[int], other: Sequence[int]) -> float:
    """The cosine of two vectors made by `embed`."""
    product: int = sum(map(mul, one, other))
    return max(-1.0, min(1.0, product / _LENGTH))


def nearest(item: Passage, passages: Sequence[Passage]) -> float:
    """The cosine of an item with the nearest of the passages."""
    return max((cosine(item.numbers, one.numbers) for one in passages), default=0.0)


def nearest_two(item: Passage, passages: Sequence[Passage]) -> tuple[float, float]:
    """The cosine of an item with the nearest passage, and with the nearest two neighbours taken together."""
    alone = [cosine(item.numbers, one.numbers) for one in passages]
    together = [
        (alone[at] + alone[at + 1]) / max(0.1, 2 + 2 * a.likeness_to(b)) ** 0.5
        for at, (a, b) in enumerate(pairwise(passages))
    ]
    return max(alone, default=0.0), max(together, default=max(alone, default=0.0))


def soft_coverage(words: Sequence[ItemWord], others: Sequence[ItemWord]) -> float:
    """The share of what the words say that is found among others, or something of a similar meaning is."""
    total = sum(word.weight for word in words)
    if not total:
        return 0.0
    terms = frozenset(term for other in others for term in other.terms)
    surfaces = tuple(dict.fromkeys(other.surface.lower() for other in others))[:_MOST_SOFT]
    found = 0.0
    for word in words[:_MOST_SOFT]:
        exact = hit(word, terms)
        if exact < 1 and word.surface[:1].isascii() and not word.surface.isdigit():
            alike = _most_alike(word.surface.lower(), surfaces)
            exact = max(exact, (alike - _UNLIKE) / (1 - _UNLIKE))
        found += word.weight * exact
    return found / total


@lru_cache(maxsize=8_000)
def _most_alike(word: str, others: tuple[str, ...]) -> float:
    """The cosine of a word with the nearest of others: the items of a turn share words."""
    return max((_alike(word, one) if word < one else _alike(one, word) for one in others), default=0.0)


@lru_cache(maxsize=20_000)
def _alike(one: str, other: str) -> float:
    """The cosine of two words."""
    return cosine(_vector(one), _vector(other))


@lru_cache(maxsize=4_000)
def _vector(word: str) -> tuple[int, ...]:
    return values(embed(word))
