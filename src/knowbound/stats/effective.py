"""Effective confidence: a stored confidence adjusted by measured use and contradiction (specification 2, section 4).

    effective = max(0, stored · (1 + α · usage − β · contradiction))

Usage and contradiction are exponential moving averages over the injections of an item, in the order of turns, from 0
on. So one use makes × 1.15, one contradiction × 0.40 and two make 0: wrong information costs more than missing
information. Not being used is never punished by itself.

Items that lose and regain their confidence, and items that are used because they rank high, follow it over days
(section 7).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from statistics import median

import msgspec

from knowbound.core.quality import CONTRACT, DayRollup, QualityScores, QualityTurn, Weights
from knowbound.stats.rate import Rate


def effective_confidence(stored: float, scores: QualityScores, weights: Weights = CONTRACT) -> float:
    """Return the confidence that ranks an item. It is never below 0: a badly contradicted item ranks last."""
    return stored * scores.factor(weights)


def scores_of(days: Iterable[DayRollup]) -> dict[str, QualityScores]:
    """Return the newest averages of every injected item."""
    found: dict[str, QualityScores] = {}
    for day in sorted(days, key=lambda day: day.date):
        found |= day.scores
    return found


def scores_by_turns(
    before: dict[str, QualityScores],
    turns: Iterable[QualityTurn],
    gamma: float,
    dismissed: Mapping[str, Sequence[tuple[str, str]]] | None = None,
) -> dict[str, QualityScores]:
    """Return the averages of the items of these turns, which are in order. Without a verdict nothing changes.

    `dismissed` has spans of time, by item: a contradiction in one of them was answered as none, and counts as none.
    """
    found: dict[str, QualityScores] = {}
    for turn in turns:
        for item in turn.injected_items:
            if item.verdict:
                scores = found.get(item.id) or before.get(item.id, QualityScores())
                verdict, time = item.verdict, turn.timestamp
                spans = (dismissed or {}).get(item.id, ())
                contradicted = verdict.contradicted and not any(first <= time < last for first, last in spans)
                found[item.id] = scores.after(verdict.used, contradicted, gamma, last=time, sha=item.content_sha)
    return found


def scores_by_day(before: dict[str, QualityScores], day: DayRollup, gamma: float) -> dict[str, QualityScores]:
    """Return the averages after a day whose turns are gone: the shares of the day count as one injection."""
    found = {}
    for item, counts in day.by_item.items():
        if counts.judged:
            used, contradicted = counts.used / counts.judged, counts.contradicted / counts.judged
            found[item] = before.get(item, QualityScores()).after(used, contradicted, gamma, last=day.date)
    return found


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
        return bool(self.back) and self.back <= _last_reversal_day(self.date)


def demotions(days: Iterable[DayRollup], weights: Weights = CONTRACT) -> list[Demotion]:
    """Return every fall of an item's factor below 1, oldest first, by the averages at the end of each day.

    An item that was reworded was not promoted: its demotion belongs to the wording before.
    """
    scores: dict[str, QualityScores] = {}
    found: list[Demotion] = []
    open_: dict[str, int] = {}  # item → index of its demotion
    for day in sorted(days, key=lambda day: day.date):
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
    settled = [demotion for demotion in found if demotion.date >= first and _last_reversal_day(demotion.date) <= last]
    return Rate(sum(demotion.is_reversed for demotion in settled), len(settled))


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
        # As `ratio`, but multiplied out: without any use below, the ratio does not exist.
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


def _last_reversal_day(day: str) -> str:
    """Return the last day on which a demotion of this day can be reversed."""
    return (date.fromisoformat(day) + timedelta(days=REVERSED_DAYS)).isoformat()
