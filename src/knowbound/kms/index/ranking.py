"""The score of a found item, and the order of several, whatever their backends.

    relevance = 1 / (1 + e^-z),  z = INTERCEPT + WORDS · words + MEANING · meaning + prior
    score     = relevance · (1 - RECENCY + RECENCY · recency) · confidence · quality · mark

    relevance   how likely the item is on topic, 0 to 1
    words       BM25 of the item, the mean of the query's best sentence and of the whole query (search.py)
    meaning     the cosine of the item in the static embedding, the mean of the nearest part and of the whole query
    prior       -ITEMS · ln(items / 100), the same for all items of a search: a large store fits by chance more often
    recency     1 for an item of today, halved every HALF_LIFE_DAYS; UNKNOWN_RECENCY where no date is known
    confidence  as stored, 0 to 1
    quality     the factor that measured use puts on the confidence (specification 2, "Effective confidence"):
                effective over stored confidence, per item and backend; 1 until something sets it, and 1 for all
                with quality.ranking = false or KMS_QUALITY_RANKING_ENABLED=false
    mark        UNVERIFIED for an unverified item, times STALE for one whose source has changed

Confidence and quality multiply the whole score. As one part of a sum they move next to nothing where stored confidence
is 1 for almost every item. Recency can only order items that are about equally relevant: "newest wins" destroys
confirmed facts.

An item is injected from 23 points on in a store of a hundred, where a point is a unit of `words` and meaning counts for
30. The constants come from labelled prompts (`bench.fit_relevance`); `bench.injection`, `bench.choices` and
`bench.retrieval` measure them: docs/decisions/items.md. Recency and marks are choices: no data here show how much
they should weigh. Rankers are compared by replay: the pool that is kept with an injection has every part of every
score.
"""

from __future__ import annotations

import math
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

INTERCEPT = -8.56
WORDS = 0.34
MEANING = 10.2
ITEMS = 1.16
_FEWEST_ITEMS = 50  # a smaller store counts as a store of this size
RECENCY = 0.1
HALF_LIFE_DAYS = 90.0
UNKNOWN_RECENCY = 0.5
UNVERIFIED = 0.5
STALE = 0.8
RANKER = "3"  # raise it when the formula, a constant or the meaning of a part changes: records name it
_DIGITS = 4  # of the parts: enough to order items, few enough to keep pools small

_OFF_VALUES = ("false", "0", "no", "off")

# An item below this relevance is not injected. Nor is an item where the odds of another are MOST_ODDS times as high:
# what ranks beside the right item is mostly its neighbour.
RELEVANCE_FLOOR = 0.3
MOST_ODDS = 1.7


class FoundItem:
    """An item of the index with every part of its score, from the search to the bundle.

    A plain class, because the hook cannot afford to import what makes better ones.
    """

    def __init__(
        self,
        id_: str,
        backend: str,
        content_sha: str,
        words: float = 0.0,
        meaning: float = 0.0,
        prior: float = 0.0,
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
        self.words = round(words, _DIGITS)
        self.meaning = round(max(0.0, meaning), _DIGITS)
        self.prior = round(prior, _DIGITS)
        self.recency = None if recency is None else round(recency, _DIGITS)
        self.confidence = confidence
        self.quality = quality
        self.flag = flag  # "" or UNVERIFIED: nothing else is served
        self.stale = bool(stale)
        self.content = content
        self.type = type
        self.subject = subject
        self.timestamp = timestamp
        self.anchor_file = anchor_file  # the file the item comes from, relative to the project where it is inside
        self._relevance: float | None = None
        self.score = 0.0  # set by `rank`
        self.rank = 0  # from 1; set by `rank`
        self.is_explored = False  # injected as a trial in place of a higher-ranked item

    @property
    def is_found(self) -> bool:
        """Report whether the item has anything in common with the query."""
        return bool(self.words or self.meaning)

    @property
    def relevance(self) -> float:
        """Return the probability that the item is about the query, whatever is known about the item itself."""
        if self._relevance is None:
            z = INTERCEPT + WORDS * self.words + MEANING * self.meaning + self.prior
            self._relevance = 1 / (1 + math.exp(-z)) if self.is_found else 0.0
        return self._relevance

    def computed_score(self, *, with_quality: bool = True) -> float:
        """Return the score that the module's description defines."""
        recency = UNKNOWN_RECENCY if self.recency is None else self.recency
        mark = (UNVERIFIED if self.flag else 1.0) * (STALE if self.stale else 1.0)
        quality = self.quality if with_quality else 1.0
        return self.relevance * (1 - RECENCY + RECENCY * recency) * self.confidence * quality * mark

    def pool_row(self) -> list[str | float | bool | None]:
        """Return what is kept with an injection, as JSON; `FoundItem(*row)` has the same score again."""
        identity = [self.id, self.backend, self.content_sha]
        parts = [self.words, self.meaning, self.prior, self.recency, self.confidence, self.quality]
        return [*identity, *parts, self.flag, self.stale]


def rank(pool: Sequence[FoundItem], limit: int, *, with_quality: bool | None = None) -> list[FoundItem]:
    """Return the best items, best first, each content once. Equal scores are in the order of their ids."""
    quality = quality_is_on() if with_quality is None else with_quality
    for item in pool:
        item.score = item.computed_score(with_quality=quality)
    best: dict[str, FoundItem] = {}
    for item in sorted(pool, key=lambda item: (-item.score, item.id, item.backend)):
        best.setdefault(item.content_sha, item)
    ranked = list(best.values())[: max(0, limit)]
    for position, item in enumerate(ranked, 1):
        item.rank = position
    return ranked


def relevant(ranked: Sequence[FoundItem], floor: float, *, with_quality: bool | None = None) -> list[FoundItem]:
    """Return the items that may be injected: above the floor, and not far below another.

    An item that was contradicted until its effective confidence is 0 is not injected: it is only shown as a correction.
    """
    quality = quality_is_on() if with_quality is None else with_quality
    not_silenced = [(item, item.relevance) for item in ranked if item.quality > 0 or not quality]
    above_floor = [(item, _odds(relevance)) for item, relevance in not_silenced if relevance >= floor]
    best_odds = max((odds for _, odds in above_floor), default=0.0)
    return [item for item, odds in above_floor if odds * MOST_ODDS >= best_odds]


def _odds(relevance: float) -> float:
    return relevance / (1 - min(relevance, 1 - 1e-9))  # a relevance of 1 has no finite odds


def prior_of(items: int) -> float:
    """Return the log odds before any item is compared, by the number of items in the store."""
    return -ITEMS * math.log(max(_FEWEST_ITEMS, items) / 100)


def recency_of(age_days: float | None) -> float | None:
    """Return 1 for now or later, halved with every half-life; None where the age is not known."""
    return None if age_days is None else 0.5 ** (max(0.0, age_days) / HALF_LIFE_DAYS)


def quality_is_on(is_allowed: bool = True) -> bool:
    """Report whether measured quality counts: the setting, and the off switch of specification 2."""
    return is_allowed and os.environ.get("KMS_QUALITY_RANKING_ENABLED", "").strip().lower() not in _OFF_VALUES
