"""Items that lose and regain their confidence, and items that are used because they rank high.

Specification 2, section 7. Both follow the effective confidence of items over days (stats/effective.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from statistics import median

import msgspec

from knowbound.core.quality import CONTRACT, DayRollup, QualityScores, Weights
from knowbound.stats.effective import effective_confidence
from knowbound.stats.rate import Rate

REVERSED_DAYS = 7  # "demoted, then promoted again within 7 days"
MOST_REVERSED = 0.10  # "above 10%: raise α, lower β"
MOST_RATIO = 3.0  # "usage of items above against below the median confidence; ratio > 3"
FEWEST_VERDICTS = 20  # in each half, before their ratio says anything


class Demotion(msgspec.Struct, frozen=True):
    """An item whose factor fell below 1, and the first day on which the factor was 1 or more again."""

    item: str
    date: str
    back: str = ""

    @property
    def is_reversed(self) -> bool:
        """Report whether the item was back within seven days."""
        return bool(self.back) and self.back <= _later(self.date)


def demotions(days: Iterable[DayRollup], weights: Weights = CONTRACT) -> list[Demotion]:
    """Return every fall of an item's factor below 1, oldest first, by the averages at the end of each day.

    An item that was reworded was not promoted: its demotion belongs to the wording before.
    """
    scores: dict[str, QualityScores] = {}
    found: list[Demotion] = []
    open_: dict[str, int] = {}  # item → index of its demotion
    for day in sorted(days, key=lambda one: one.date):
        for item, after in day.scores.items():
            before = scores.get(item, QualityScores())
            scores[item] = after
            if before.sha and after.sha and before.sha != after.sha:
                open_.pop(item, None)
                before = QualityScores()
            if before.factor(weights) >= 1 > after.factor(weights):
                open_[item] = len(found)
                found.append(Demotion(item, day.date))
            elif after.factor(weights) >= 1 and item in open_:
                at = open_.pop(item)
                found[at] = msgspec.structs.replace(found[at], back=day.date)
    return found


def false_demotions(found: Iterable[Demotion], first: str, last: str) -> Rate:
    """Return the share of the demotions since `first` that were reversed within seven days.

    Only demotions whose seven days are over by the last day count: a younger one may still be reversed.
    """
    settled = [one for one in found if one.date >= first and _later(one.date) <= last]
    return Rate(sum(one.is_reversed for one in settled), len(settled))


class Reinforcement(msgspec.Struct, frozen=True):
    """Usage of the items above the median effective confidence, and of the other items."""

    above: Rate = Rate()
    below: Rate = Rate()

    @property
    def ratio(self) -> float | None:
        """Ratio of the usage above to the usage below; None with too few verdicts or without usage below."""
        if not self.is_known or not self.below.k:
            return None
        return (self.above.k / self.above.n) / (self.below.k / self.below.n)

    @property
    def is_known(self) -> bool:
        """Report whether both sides have enough verdicts."""
        return min(self.above.n, self.below.n) >= FEWEST_VERDICTS

    @property
    def is_tripped(self) -> bool:
        """Report whether the ranking reinforces itself: only items that rank high are used."""
        if not self.is_known:
            return False
        return self.above.k * self.below.n > MOST_RATIO * self.below.k * self.above.n


def reinforcement(
    window: DayRollup, scores: Mapping[str, QualityScores], stored: Mapping[str, float], weights: Weights = CONTRACT
) -> Reinforcement:
    """Return the usage in a window by the effective confidence before it, so that use does not explain itself."""
    judged = {item: counts for item, counts in window.by_item.items() if counts.judged}
    ranked = {
        item: effective_confidence(stored.get(item, 1.0), scores.get(item, QualityScores()), weights) for item in judged
    }
    if len(set(ranked.values())) < 2:
        return Reinforcement()
    middle = median(ranked.values())
    halves = [Rate(), Rate()]
    for item, counts in judged.items():
        halves[ranked[item] > middle] += Rate(counts.used, counts.judged)
    return Reinforcement(above=halves[True], below=halves[False])


def _later(day: str) -> str:
    return (date.fromisoformat(day) + timedelta(days=REVERSED_DAYS)).isoformat()
