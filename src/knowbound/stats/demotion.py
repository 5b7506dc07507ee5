"""Items that lose and regain their confidence, and items that are used because they rank high.

Specification 2, section 7. Both follow the effective confidence of items over days (stats/effective.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from statistics import median

import msgspec

from knowbound.core.quality_log import DayRollup
from knowbound.stats.effective import QualityScores, effective_confidence
from knowbound.stats.rate import Rate

REVERSED_DAYS = 7  # "demoted, then promoted again within 7 days"
MOST_REVERSED = 0.10  # "above 10%: raise α, lower β"
MOST_RATIO = 3.0  # "usage of items above against below the median confidence; ratio > 3"
FEWEST_VERDICTS = 20  # in each half, before their ratio says anything


class Demotion(msgspec.Struct, frozen=True):
    """An item whose factor fell below 1, and the first day on which it was back."""

    item: str
    date: str
    back: str = ""

    @property
    def is_reversed(self) -> bool:
        """Whether it was back soon."""
        return bool(self.back) and self.back <= _later(self.date)


def demotions(days: Iterable[DayRollup]) -> list[Demotion]:
    """Every fall of an item's factor below 1, in the order of time."""
    scores: dict[str, QualityScores] = {}
    found: list[Demotion] = []
    open_: dict[str, int] = {}  # item → where its demotion is
    for day in sorted(days, key=lambda one: one.date):
        for item, counts in day.by_item.items():
            before = scores.get(item, QualityScores())
            scores[item] = after = before.after(counts)
            if before.factor >= 1 > after.factor:
                open_[item] = len(found)
                found.append(Demotion(item, day.date))
            elif after.factor >= 1 and item in open_:
                at = open_.pop(item)
                found[at] = msgspec.structs.replace(found[at], back=day.date)
    return found


def false_demotions(found: Iterable[Demotion], first: str, last: str) -> Rate:
    """Of the items that were demoted from one day on, those that were back within seven days.

    Only demotions whose seven days are over by the last day count: a younger one may still be reversed.
    """
    settled = [one for one in found if one.date >= first and _later(one.date) <= last]
    return Rate(sum(one.is_reversed for one in settled), len(settled))


class Reinforcement(msgspec.Struct, frozen=True):
    """Usage of the items above the median effective confidence, and of the others."""

    above: Rate = Rate()
    below: Rate = Rate()

    @property
    def ratio(self) -> float | None:
        """How many times as often those above are used; None where too few were judged, or nothing is used below."""
        if not self.is_known or not self.below.k:
            return None
        return (self.above.k / self.above.n) / (self.below.k / self.below.n)

    @property
    def is_known(self) -> bool:
        """Whether enough was judged on both sides."""
        return min(self.above.n, self.below.n) >= FEWEST_VERDICTS

    @property
    def is_tripped(self) -> bool:
        """Whether the store feeds on itself: what is ranked high is used, and nothing else gets a chance."""
        if not self.is_known:
            return False
        return self.above.k * self.below.n > MOST_RATIO * self.below.k * self.above.n


def reinforcement(window: DayRollup, scores: Mapping[str, QualityScores], stored: Mapping[str, float]) -> Reinforcement:
    """Usage in a window by the effective confidence that items had before it, so that use does not explain itself."""
    judged = {item: counts for item, counts in window.by_item.items() if counts.judged}
    ranked = {item: effective_confidence(stored.get(item, 1.0), scores.get(item, QualityScores())) for item in judged}
    if len(set(ranked.values())) < 2:
        return Reinforcement()
    middle = median(ranked.values())
    halves = [Rate(), Rate()]
    for item, counts in judged.items():
        halves[ranked[item] > middle] += Rate(counts.used, counts.judged)
    return Reinforcement(above=halves[True], below=halves[False])


def _later(day: str) -> str:
    return (date.fromisoformat(day) + timedelta(days=REVERSED_DAYS)).isoformat()
