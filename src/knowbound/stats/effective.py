"""Effective confidence: a stored confidence adjusted by measured use and contradiction (specification 2, section 4).

    effective = max(0, stored · (1 + α · usage − β · contradiction))

Usage and contradiction are exponential moving averages over the injections of an item, in the order of turns, from 0
on. So one use makes × 1.15, one contradiction × 0.40 and two make 0: wrong information costs more than missing
information. Not being used is never punished by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from knowbound.core.quality import CONTRACT, DayRollup, QualityScores, QualityTurn, Weights


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
                known = found.get(item.id) or before.get(item.id, QualityScores())
                said, time = item.verdict, turn.timestamp
                spans = (dismissed or {}).get(item.id, ())
                contradicted = said.contradicted and not any(first <= time < last for first, last in spans)
                found[item.id] = known.after(said.used, contradicted, gamma, last=time, sha=item.content_sha)
    return found


def scores_by_day(before: dict[str, QualityScores], day: DayRollup, gamma: float) -> dict[str, QualityScores]:
    """Return the averages after a day whose turns are gone: the shares of the day count as one injection."""
    return {
        item: before.get(item, QualityScores()).after(
            counts.used / counts.judged, counts.contradicted / counts.judged, gamma, last=day.date
        )
        for item, counts in day.by_item.items()
        if counts.judged
    }
