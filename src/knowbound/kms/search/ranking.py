"""One score for every item of every backend, and the order it gives.

    relevance = 0.6 · lexical + 0.4 · semantic
    score     = relevance · (0.9 + 0.1 · recency) · confidence · quality · mark

    lexical     the share of the query's words that the item has, rare words weighing more, 0 to 1 (lexical.py)
    semantic    the cosine of query and item in the static embedding, 0 to 1 (less than 0 counts as 0)
    recency     1 for an item said now, 0.5 after 90 days, 0.25 after 180; 0.5 where no date is known
    confidence  as stored, 0 to 1
    quality     the factor that measured use puts on the confidence (specification 2, "Effective confidence"):
                effective over stored confidence, per item and backend; 1 until something sets it, and 1 for all
                with KMS_QUALITY_RANKING_ENABLED=false
    mark        0.5 for an UNVERIFIED item, 0.8 for a stale one (its source has changed), 0.4 for both

Confidence and quality multiply the whole score. As one part of a sum they move next to nothing: where others built
this, stored confidence was 1 for almost every item and had a share of 5% (notes from the field). Recency can only
tell items apart that are about equally relevant: "newest wins" destroys confirmed facts.

The weights of the relevance are the best of 0, 0.1, … 1 on five LoCoMo conversations; `python -m bench.retrieval`
measures them on the other five. Recency and marks are choices: no data here tell how much they should weigh. Rankers
are compared by replay: the pool that is kept with an injection has every part.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

LEXICAL = 0.6
SEMANTIC = 0.4
RECENCY = 0.1
HALF_LIFE_DAYS = 90.0
UNVERIFIED = 0.5
STALE = 0.8
_UNKNOWN_RECENCY = 0.5
_DIGITS = 4  # of the parts: enough to tell items apart, few enough to keep pools small

# Below this relevance an item is not told unasked. Best F0.5 on half of the labelled turns; on the other half 42 of the
# 55 items it told were on topic (42 of 49 with a label), and it told 42 of the 154 that were (bench/retrieval.py).
RELEVANCE_FLOOR = 0.33


class Candidate:
    """An item that may be an answer, with every part of its score. `as_row` is what is kept of it in a pool."""

    __slots__ = (
        "backend",
        "confidence",
        "content_sha",
        "flag",
        "id",
        "lexical",
        "quality",
        "recency",
        "semantic",
        "stale",
    )

    def __init__(
        self,
        id_: str,
        backend: str,
        content_sha: str,
        lexical: float,
        semantic: float,
        recency: float | None,
        confidence: float,
        quality: float,
        flag: str = "",
        stale: bool = False,
    ) -> None:
        self.id = id_
        self.backend = backend
        self.content_sha = content_sha[:16]
        self.lexical = round(lexical, _DIGITS)
        self.semantic = round(max(0.0, semantic), _DIGITS)
        self.recency = None if recency is None else round(recency, _DIGITS)
        self.confidence = confidence
        self.quality = quality
        self.flag = flag
        self.stale = stale

    @property
    def relevance(self) -> float:
        """How much the item is about the query, whatever is known about the item itself."""
        return LEXICAL * self.lexical + SEMANTIC * self.semantic

    def score(self, *, with_quality: bool = True) -> float:
        """The score of the module's description."""
        recency = _UNKNOWN_RECENCY if self.recency is None else self.recency
        mark = (UNVERIFIED if self.flag else 1.0) * (STALE if self.stale else 1.0)
        quality = self.quality if with_quality else 1.0
        return self.relevance * (1 - RECENCY + RECENCY * recency) * self.confidence * quality * mark

    def as_row(self) -> list[str | float | bool | None]:
        """For JSON; `Candidate(*row)` is equal again."""
        return [
            self.id,
            self.backend,
            self.content_sha,
            self.lexical,
            self.semantic,
            self.recency,
            self.confidence,
            self.quality,
            self.flag,
            self.stale,
        ]


class Ranked:
    """A candidate in its place."""

    __slots__ = ("also_in", "candidate", "rank", "score")

    def __init__(self, candidate: Candidate, rank: int, score: float, also_in: tuple[str, ...]) -> None:
        self.candidate = candidate
        self.rank = rank  # from 1
        self.score = score
        self.also_in = also_in  # other backends that hold the same content


def rank(pool: Iterable[Candidate], limit: int, *, with_quality: bool | None = None) -> list[Ranked]:
    """The best candidates, best first, each content once. Equal scores stand in the order of their ids."""
    quality = quality_is_on() if with_quality is None else with_quality
    scored = [(candidate.score(with_quality=quality), candidate) for candidate in pool]
    scored.sort(key=lambda entry: (-entry[0], entry[1].id, entry[1].backend))
    backends: dict[str, list[str]] = {}
    best = []
    for score, candidate in scored:
        if candidate.content_sha not in backends:
            backends[candidate.content_sha] = []
            best.append((score, candidate))
        elif candidate.backend not in backends[candidate.content_sha]:
            backends[candidate.content_sha].append(candidate.backend)
    return [
        Ranked(candidate, place, score, _others(candidate, backends[candidate.content_sha]))
        for place, (score, candidate) in enumerate(best[: max(0, limit)], 1)
    ]


def _others(candidate: Candidate, backends: list[str]) -> tuple[str, ...]:
    return tuple(sorted(backend for backend in backends if backend != candidate.backend))


def recency_of(age_days: float | None) -> float | None:
    """1 for now or later, halved every 90 days, None where the age is not known."""
    return None if age_days is None else 0.5 ** (max(0.0, age_days) / HALF_LIFE_DAYS)


def quality_is_on() -> bool:
    """The off switch of the contract's failure modes: without it ranking is as if nothing had been measured."""
    return os.environ.get("KMS_QUALITY_RANKING_ENABLED", "").strip().lower() not in ("false", "0", "no", "off")
