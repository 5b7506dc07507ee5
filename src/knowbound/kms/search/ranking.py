"""The score of a found item, and the order of several, whatever their backends.

    relevance = LEXICAL · lexical + SEMANTIC · semantic
    score     = relevance · (1 - RECENCY + RECENCY · recency) · confidence · quality · mark

    lexical     the share of the query's words that the item has, rare words weighing more, 0 to 1 (lexical.py)
    semantic    the cosine of query and item in the static embedding, 0 to 1 (less than 0 counts as 0)
    recency     1 for an item of today, halved every HALF_LIFE_DAYS; UNKNOWN_RECENCY where no date is known
    confidence  as stored, 0 to 1
    quality     the factor that measured use puts on the confidence (specification 2, "Effective confidence"):
                effective over stored confidence, per item and backend; 1 until something sets it, and 1 for all
                with KMS_QUALITY_RANKING_ENABLED=false
    mark        UNVERIFIED for an unverified item, times STALE for one whose source has changed

Confidence and quality multiply the whole score. As one part of a sum they move next to nothing where stored confidence
is 1 for almost every item. Recency can only order items that are about equally relevant: "newest wins" destroys
confirmed facts.

LEXICAL and SEMANTIC are the best of 0, 0.1, … 1 on five LoCoMo conversations; `python -m bench.retrieval` measures them
on the other five. Recency and marks are choices: no data here show how much they should weigh. Rankers are compared by
replay: the pool that is kept with an injection has every part of every score.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

LEXICAL = 0.6
SEMANTIC = 0.4
RECENCY = 0.1
HALF_LIFE_DAYS = 90.0
UNKNOWN_RECENCY = 0.5
UNVERIFIED = 0.5
STALE = 0.8
RANKER = "1"  # raise it when the formula, a constant of it or what its parts mean changes: records name it
_DIGITS = 4  # of the parts: enough to order items, few enough to keep pools small

# Below this relevance an item is not injected. Best F0.5 on half of the labelled turns; on the other half 42 of the 55
# items above it were on topic (42 of 49 with a label), of 154 that were (bench/retrieval.py).
RELEVANCE_FLOOR = 0.33


class FoundItem:
    """An item of the index that a query may be about, with every part of its score: from the search to the bundle.

    A plain class, because the hook cannot afford to import what makes better ones.
    """

    def __init__(
        self,
        id_: str,
        backend: str,
        content_sha: str,
        lexical: float = 0.0,
        semantic: float = 0.0,
        recency: float | None = None,
        confidence: float = 1.0,
        quality: float = 1.0,
        flag: str = "",
        stale: bool = False,
        *,
        content: str = "",
        type: str = "",
        subject: str = "",
        timestamp: str = "",
        anchor_file: str = "",
    ) -> None:
        self.id = id_
        self.backend = backend
        self.content_sha = content_sha[:16]
        self.lexical = round(lexical, _DIGITS)
        self.semantic = round(max(0.0, semantic), _DIGITS)
        self.recency = None if recency is None else round(recency, _DIGITS)
        self.confidence = confidence
        self.quality = quality
        self.flag = flag  # "" or UNVERIFIED: nothing else is served
        self.stale = bool(stale)
        self.content = content
        self.type = type
        self.subject = subject
        self.timestamp = timestamp
        self.anchor_file = anchor_file  # the file it comes from, relative to the project where it is inside
        self.score = 0.0  # set by `rank`, as is
        self.rank = 0  # from 1

    @property
    def relevance(self) -> float:
        """How much the item is about the query, whatever is known about the item itself."""
        return LEXICAL * self.lexical + SEMANTIC * self.semantic

    def computed_score(self, *, with_quality: bool = True) -> float:
        """The score of the module's description."""
        recency = UNKNOWN_RECENCY if self.recency is None else self.recency
        mark = (UNVERIFIED if self.flag else 1.0) * (STALE if self.stale else 1.0)
        quality = self.quality if with_quality else 1.0
        return self.relevance * (1 - RECENCY + RECENCY * recency) * self.confidence * quality * mark

    def pool_row(self) -> list[str | float | bool | None]:
        """What is kept of it with an injection, as JSON; `FoundItem(*row)` has the same score again."""
        identity = [self.id, self.backend, self.content_sha]
        parts = [self.lexical, self.semantic, self.recency, self.confidence, self.quality]
        return [*identity, *parts, self.flag, self.stale]


def rank(pool: Sequence[FoundItem], limit: int, *, with_quality: bool | None = None) -> list[FoundItem]:
    """The best items, best first, each content once. Equal scores are in the order of their ids."""
    quality = quality_is_on() if with_quality is None else with_quality
    for item in pool:
        item.score = item.computed_score(with_quality=quality)
    best: dict[str, FoundItem] = {}
    for item in sorted(pool, key=lambda item: (-item.score, item.id, item.backend)):
        best.setdefault(item.content_sha, item)
    ranked = list(best.values())[: max(0, limit)]
    for place, item in enumerate(ranked, 1):
        item.rank = place
    return ranked


def recency_of(age_days: float | None) -> float | None:
    """1 for now or later, halved with every half-life, None where the age is not known."""
    return None if age_days is None else 0.5 ** (max(0.0, age_days) / HALF_LIFE_DAYS)


def quality_is_on() -> bool:
    """Whether measured quality counts: the off switch of specification 2."""
    return os.environ.get("KMS_QUALITY_RANKING_ENABLED", "").strip().lower() not in ("false", "0", "no", "off")
