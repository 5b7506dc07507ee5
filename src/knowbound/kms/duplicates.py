"""What is stored already and says nearly the same as a new item: shown, not refused.

Alike is the mean of two likenesses: of meaning (the cosine of the embeddings) and of words (Dice). Neither is enough
alone: contradicting statements mean nearly the same, and two facts about one subject share its words. The threshold was
calibrated on pairs, see docs/decisions/near-duplicates.md; `python -m bench.near_duplicates` measures it again.
A pair that differs in a number or a "not" is above it on purpose: that is when someone must look.
"""

from __future__ import annotations

import re
from functools import lru_cache

import msgspec

from knowbound.kms.index.database import Index
from knowbound.text.embedding import code_of, embed, similarity
from knowbound.text.stems import stem
from knowbound.text.stop_words import STOP_WORDS

NEAR = 0.70
_CANDIDATES = 50
_SHOWN = 3
_QUERY_WORDS = 24  # the longest words of a long text are enough to find what is like it
_IDEOGRAPH = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_WORD = re.compile(rf"{_IDEOGRAPH.pattern}|[^\W_]+")


class Near(msgspec.Struct, frozen=True):
    """An entry that says nearly the same."""

    id: str
    backend: str
    content: str
    similarity: float


def near_duplicates(index: Index, content: str) -> list[Near]:
    """The entries most like this content, served ones only, best first."""
    vector, words = embed(content), words_of(content)
    candidates = index.near(_query(content), _CANDIDATES) if words else []
    if _IDEOGRAPH.search(content):  # FTS5 takes a run of them for one word
        candidates += index.near_code(code_of(vector), _CANDIDATES)
    found: dict[str, Near] = {}
    for known, other in candidates:
        alike = likeness(similarity(vector, other), words, words_of(known.item.content))
        if known.served and alike >= NEAR and known.item.content_sha not in found:
            found[known.item.content_sha] = Near(known.item.id, known.backend, known.item.content, alike)
    return sorted(found.values(), key=lambda near: -near.similarity)[:_SHOWN]


def likeness(cosine: float, words: frozenset[str], other: frozenset[str]) -> float:
    """How much alike two texts are, 0 to 1."""
    shared = 2 * len(words & other) / max(1, len(words) + len(other))
    return (max(0.0, cosine) + shared) / 2


@lru_cache(maxsize=4096)
def words_of(text: str) -> frozenset[str]:
    """The words that say something, without their endings; ideographs one by one."""
    found = frozenset(_WORD.findall(text.lower()))
    return frozenset(map(stem, found - STOP_WORDS or found))


def _query(content: str) -> str:
    """Any of the words, as FTS5 asks for them."""
    found = set(re.findall(r"[^\W_]+", content.lower()))
    words = found - STOP_WORDS or found
    longest = sorted(words, key=lambda word: (-len(word), word))[:_QUERY_WORDS]
    return " OR ".join(f'"{word}"' for word in longest)
