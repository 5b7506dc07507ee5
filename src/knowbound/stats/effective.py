"""Effective confidence: a stored confidence adjusted by measured use and contradiction (specification 2, section 4).

    effective = max(0, stored · (1 + ALPHA · usage − BETA · contradiction))

Usage and contradiction are exponential moving averages over the days on which an item was injected, from 0 on. So one
day of use makes × 1.15, one day of contradiction × 0.40: wrong information costs more than missing information. A day
without an injection changes nothing, and not being used is never punished by itself.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from knowbound.core.quality import Counts, DayRollup

ALPHA = 0.5  # how much use raises
BETA = 2.0  # how much contradiction lowers
GAMMA = 0.3  # the weight of the newest day in both averages


class QualityScores(msgspec.Struct, frozen=True):
    """The two averages of an item, each from 0 to 1."""

    usage: float = 0.0
    contradiction: float = 0.0

    def after(self, day: Counts) -> QualityScores:
        """Return the averages after one more day. A day without verdicts changes nothing."""
        if not day.judged:
            return self
        return QualityScores(
            _averaged(self.usage, day.used / day.judged), _averaged(self.contradiction, day.contradicted / day.judged)
        )

    @property
    def factor(self) -> float:
        """Quotient of effective and stored confidence."""
        return max(0.0, 1 + ALPHA * self.usage - BETA * self.contradiction)


def _averaged(before: float, now: float) -> float:
    return (1 - GAMMA) * before + GAMMA * now


def effective_confidence(stored: float, scores: QualityScores) -> float:
    """Return the confidence that ranks an item. It is never below 0: a badly contradicted item ranks last."""
    return stored * scores.factor


def scores_of(days: Iterable[DayRollup]) -> dict[str, QualityScores]:
    """Return the averages of every injected item over its days, oldest first."""
    found: dict[str, QualityScores] = {}
    for day in sorted(days, key=lambda day: day.date):
        for item, counts in day.by_item.items():
            found[item] = found.get(item, QualityScores()).after(counts)
    return found
