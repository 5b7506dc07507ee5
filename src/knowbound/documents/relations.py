"""Common relations of workaday English and Chinese: words that name the same thing, and words that exclude each other.

A question and a section may use other words for the same thing (a paraphrase), or the same words for another thing
(exports where imports were asked for). The lists in `relations_data/` are general: everyday words of work, software and
trade. What is not there is left to spelling and to the embedding.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache

from knowbound.text.stems import stem

_FEW_MEANINGS = 3  # a word in more lines than these could stand for many things


def _lines(name: str) -> list[str]:
    """The lines of a list, without its comments."""
    path = os.path.join(os.path.dirname(__file__), "relations_data", name)
    with open(path, encoding="utf-8") as file:
        return [line.strip() for line in file if line.strip() and not line.startswith("#")]


def _concepts() -> dict[tuple[str, ...], frozenset[str]]:
    """The phrases (as roots) and the concepts that each can stand for; a concept is called by its line's first word."""
    found: dict[tuple[str, ...], set[str]] = {}
    for line in _lines("same.txt"):
        words, *phrases = line.split(",")
        concept = f"={words.split()[0]}"
        for phrase in [*((word,) for word in words.split()), *(tuple(part.split()) for part in phrases)]:
            found.setdefault(tuple(stem(word) for word in phrase), set()).add(concept)
    for line in _lines("kinds.txt"):
        kind, _, things = line.partition(":")
        for word in (kind, *things.split()):
            found.setdefault((stem(word),), set()).add(f"={kind}:")
    return {phrase: frozenset(concepts) for phrase, concepts in found.items()}


def _sides() -> dict[str, list[tuple[int, int]]]:
    """By root: the lines of words that exclude each other, and on which side of them it stands."""
    found: dict[str, list[tuple[int, int]]] = {}
    for number, line in enumerate(_lines("apart.txt")):
        for side, words in enumerate(line.split(",")):
            for word in words.split():
                found.setdefault(stem(word), []).append((number, side))
    return found


CONCEPTS = _concepts()
CHINESE_CONCEPTS = {word: f"={line.split()[0]}" for line in _lines("same_chinese.txt") for word in line.split()}
_APART = _sides()
_SIZES: dict[str, set[int]] = {}  # by the first word: how long the phrases are that begin with it
for _phrase in CONCEPTS:
    _SIZES.setdefault(_phrase[0], set()).add(len(_phrase))


def meant_by(phrase: tuple[str, ...]) -> frozenset[str]:
    """What a phrase of a question stands for: a question about one thing of a kind is not met by another of it."""
    return frozenset(
        concept for concept in CONCEPTS.get(phrase, ()) if not concept.endswith(":") or (stem(concept[1:-1]),) == phrase
    )


def concepts_in(roots: Sequence[str]) -> Iterator[str]:
    """What the words of a text stand for, singly and as phrases; `~` where a word could stand for many things."""
    for at, first in enumerate(roots):
        for size in _SIZES.get(first, ()):
            found = CONCEPTS.get(tuple(roots[at : at + size]), frozenset())
            if len(found) > _FEW_MEANINGS:
                yield from (f"~{concept[1:]}" for concept in found)
            else:
                yield from found


@lru_cache(maxsize=20_000)
def exclude_each_other(one: str, other: str) -> bool:
    """Whether two roots are different members of one set: exports are no imports."""
    return any(
        line == other_line and side != other_side
        for line, side in _APART.get(one, ())
        for other_line, other_side in _APART.get(other, ())
    )
