"""Stored items that say nearly the same as a text: near duplicates, and rewordings of superseded items.

The likeness of two texts is the mean of two values: the cosine of their embeddings (meaning), and Dice (words). Neither
is enough alone: contradicting statements mean nearly the same, and two facts about one subject share its words. The
threshold was calibrated on pairs, see docs/decisions/items.md; `python -m bench.near_duplicates` measures it
again. A pair that differs in a number or a "not" is above it on purpose: a person must look at it. Near duplicates are
shown to the caller who adds an item, not refused.

A rewording of a superseded item is near to it or has all of its words among others, and has what the old item says and
its successor does not: the wrong value. So a text that only shares the subject, has the new value, negates the old
statement, speaks of the past, or has a number or a name that the old item lacks, is another statement. The rule was
made on one part of `bench/returning_facts.jsonl`; docs/decisions/items.md has the figures of the others.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

from knowbound.core.same_content import folded
from knowbound.kms.search.retrieval import search
from knowbound.text.embedding import embed, plain_words, similarity
from knowbound.text.stems import stem
from knowbound.text.stop_words import STOP_WORDS

NEAR = 0.70
_CANDIDATES = 50
_SHOWN = 3  # near duplicates of a new item
_OFFERED = 10  # near copies of a superseded item
_MOST_OTHERS = 4  # times the words of the old statement: in a longer text it is one sentence of many
_NOT = "not "
_NEGATIONS = frozenset(
    "not no never without nor neither none avoid nicht kein keine nie ohne ne pas jamais sans nunca sin не нет никогда "
    "без 不 没 無 未".split()
)
_NEGATING_PAIRS = frozenset({("rather", "than"), ("instead", "of")})
_PAST = frozenset(
    "was were until formerly previously originally once früher bisher autrefois avant antes раньше".split()
)
_PAST_PHRASES = ("used to", "no longer", "any more", "anymore", "nicht mehr", "ne plus")
# Verbs and nouns that one statement is reworded with; any other word that takes the place of one is another subject.
_COMMON = frozenset(
    map(
        stem,
        "listen bind bound run live store keep hold define use make call name set put place find locate serve own "
        "have get require need like prefer see give go come take start begin end stop contain include write read "
        "load save send post push build create provide show say mean work handle manage reach reachable available "
        "configure enable apply return expire happen belong allow permit let accept grant emit output print produce "
        "generate fetch receive perform execute launch trigger wait last stay remain exist sit reside expose "
        "publish install point map refer mount equal amount offer support ensure must should please currently "
        "always port folder file directory path value version default new".split(),
    )
)


class NearDuplicate(NamedTuple):
    """A stored item that says nearly the same."""

    id: str
    content: str
    similarity: float


class NearCopy(NamedTuple):
    """A stored item that says nearly what another item said before it was superseded."""

    id: str
    content: str
    similarity: float
    restates: bool  # rules find the wrong value in it


def near_duplicates(index: sqlite3.Connection, content: str, *, most: int = _SHOWN) -> list[NearDuplicate]:
    """Return the served items most like this content, best first."""
    words = stems(content)
    found = [
        NearDuplicate(item.id, item.content, likeness(item.meaning, words, stems(item.content)))
        for item in search(index, content, limit=_CANDIDATES, as_a_whole=True).items
    ]
    near = [one for one in found if one.similarity >= NEAR]
    return sorted(near, key=lambda one: -one.similarity)[:most]


def near_copies(index: sqlite3.Connection, old: str, new: str, left_out: Collection[str]) -> list[NearCopy]:
    """Return the served items more like the old content than like the new content that replaces it, best first."""
    near = [one for one in near_duplicates(index, old, most=_OFFERED + len(left_out)) if one.id not in left_out]
    return [
        NearCopy(*one, restates(one.content, old, new))
        for one in near[:_OFFERED]
        if _statement_likeness(one.content, old) > _statement_likeness(one.content, new)
    ]


def likeness(cosine: float, words: frozenset[str], other: frozenset[str]) -> float:
    """Return the likeness of two texts, 0 to 1."""
    shared = 2 * len(words & other) / max(1, len(words) + len(other))
    return (max(0.0, cosine) + shared) / 2


@lru_cache(maxsize=4096)
def stems(text: str) -> frozenset[str]:
    """Return the stems of the words that are no stop words; ideographs count one by one."""
    words = {word.lower() for word in plain_words(text)}
    return frozenset(map(stem, words - STOP_WORDS or words))


def restates(text: str, old: str, new: str) -> bool:
    """Report whether the text says what `old` says and `new`, its successor, does not."""
    said, before, after = _statement(text), _statement(old), _statement(new)
    if _literals(said) - before:
        return False
    if any(_NOT + word in said for word in before - said) or any(_NOT + word in before for word in said - before):
        return False
    if said - before - after - _COMMON and (before & after) - said - _COMMON:
        return False  # about something else
    near = _statement_likeness(text, old)
    if (near < NEAR and not _has_all(said, before, after)) or (_is_past(text) and not _is_past(old)):
        return False
    wrong, right = before - after, after - before
    if not wrong:
        return near > _statement_likeness(text, new)
    if _literals(wrong) - said:
        return False
    return len(said & wrong) / len(wrong) > (len(said & right) / len(right) if right else 0.0)


def _has_all(said: frozenset[str], before: frozenset[str], after: frozenset[str]) -> bool:
    """Report whether all words of the old statement are there, with at most three others each and none of the new."""
    needed = before - _COMMON
    return (
        len(needed) > 1 and needed <= said and len(said) <= _MOST_OTHERS * len(before) and not said & (after - before)
    )


def _statement_likeness(one: str, other: str) -> float:
    return likeness(similarity(_vector(one), _vector(other)), _statement(one), _statement(other))


@lru_cache(maxsize=4096)
def _vector(text: str) -> bytes:
    return embed(text)


@lru_cache(maxsize=4096)
def _statement(text: str) -> frozenset[str]:
    """Return stems and literals (numbers, names, paths) of a text; a negation goes with the word after it."""
    said: set[str] = set()
    is_negated = False
    before = ""
    for token in folded(text).split():
        word = token.lower().removesuffix("'s")
        if word in _NEGATIONS or word.endswith("n't") or (before, word) in _NEGATING_PAIRS:
            is_negated = True
        elif word not in STOP_WORDS and any(map(str.isalnum, word)):
            said.add((_NOT if is_negated else "") + (stem(word) if word.isalpha() else word))
            is_negated = False
        before = word
    return frozenset(said)


def _literals(said: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in said if not word.removeprefix(_NOT).replace("-", "").replace("'", "").isalpha())


def _is_past(text: str) -> bool:
    plain = folded(text)
    return not _PAST.isdisjoint(plain.split()) or any(phrase in plain for phrase in _PAST_PHRASES)
