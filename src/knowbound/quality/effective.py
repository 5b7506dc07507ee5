"""Writes effective confidences on items after the rollup (specification 2, section 4).

Only for the backends whose leg is on; from others they are taken away, so a reverted leg leaves nothing behind. An item
that was never injected keeps its stored confidence, and so does one that was only not used. What was said about an
earlier wording counts no more: after `kms_update` changed what an item says, its days before that are left out.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing

from msgspec.structs import replace

from knowbound.config import Settings
from knowbound.core.quality import DayRollup
from knowbound.kms.corrections.changes import Correction
from knowbound.kms.index.database import Index
from knowbound.kms.index.entry import effective_of, with_effective
from knowbound.kms.opening import open_knowledge_store
from knowbound.stats.effective import QualityScores, effective_confidence, scores_of

_BY = "knowbound"


def write_effective(settings: Settings, index: Index, days: Sequence[DayRollup], backends: Collection[str]) -> int:
    """Bring the items up to the days, for these backends; how many changed. Where none does, no backend is asked."""
    scores = scores_of(without_outdated(days, index.corrections()))
    wanted = _changed(index, scores, backends)
    if not wanted:
        return 0
    with closing(open_knowledge_store(settings, by=_BY)) as store:
        return store.set_quality(wanted)


def without_outdated(days: Iterable[DayRollup], corrections: Iterable[Correction]) -> list[DayRollup]:
    """The days without what they say about items as they were worded before an update."""
    reworded = _reworded(corrections)
    return [
        replace(day, by_item={id_: counts for id_, counts in day.by_item.items() if day.date > reworded.get(id_, "")})
        for day in days
    ]


def _reworded(corrections: Iterable[Correction]) -> dict[str, str]:
    """Item → the day on which its content was changed last; that day itself has turns with either wording."""
    found: dict[str, str] = {}
    for one in corrections:
        if one.tool == "kms_update" and "content" in json.loads(one.detail or "{}"):
            found[one.item] = max(found.get(one.item, ""), one.time[:10])
    return found


def _changed(
    index: Index, scores: Mapping[str, QualityScores], backends: Collection[str]
) -> dict[tuple[str, str], float | None]:
    """What is to be written, by backend and id; None takes it away."""
    wanted: dict[tuple[str, str], float | None] = {}
    measured = [one for id_ in scores for one in index.known(id_)]
    for one in (*measured, *index.with_quality()):
        item, found = one.item, scores.get(one.item.id, QualityScores())
        is_ranked = one.backend in backends and item.is_served and found.factor != 1.0
        value = effective_confidence(item.confidence, found) if is_ranked else None
        if (value is not None or effective_of(item) is not None) and with_effective(item, value) is not item:
            wanted[one.backend, item.id] = value
    return wanted
