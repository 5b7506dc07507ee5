"""Writes effective confidences on items after the rollup (specification 2, section 4).

Only for the backends whose leg is on; from others they are taken away, so a reverted leg leaves nothing behind, except
that an item that contradictions had silenced stays held back until somebody corrects or dismisses it. An item
that was never injected keeps its stored confidence, and so does one that was only not used. What was said about an
earlier wording counts no more: averages belong to the wording that was injected.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing

from knowbound.config import Settings
from knowbound.core.item import Item
from knowbound.core.quality import DayRollup, QualityScores, Weights
from knowbound.core.same_content import is_version_of
from knowbound.kms.corrections.changes import Correction
from knowbound.kms.index.database import Index
from knowbound.kms.index.entry import effective_of, with_effective
from knowbound.kms.opening import open_knowledge_store
from knowbound.stats.effective import effective_confidence, scores_of

_BY = "knowbound"


def weights_of(settings: Settings) -> Weights:
    """Return the constants of effective confidence that the settings have."""
    return Weights(settings.quality_alpha, settings.quality_beta, settings.quality_gamma)


def write_effective(settings: Settings, index: Index, days: Sequence[DayRollup], backends: Collection[str]) -> int:
    """Bring the items up to the days, for these backends; how many changed. Where none does, no backend is asked."""
    wanted = _changed(index, scores_of(days), backends, weights_of(settings))
    if not wanted:
        return 0
    with closing(open_knowledge_store(settings, by=_BY)) as store:
        return store.set_quality(wanted)


def _reworded(corrections: Iterable[Correction]) -> dict[str, str]:
    """Item → when its content was changed last."""
    found: dict[str, str] = {}
    for one in corrections:
        if one.tool == "kms_update" and "content" in json.loads(one.detail or "{}"):
            found[one.item] = max(found.get(one.item, ""), one.time)
    return found


def _is_outdated(scores: QualityScores, item: Item, reworded: Mapping[str, str]) -> bool:
    """Report whether averages are about an earlier wording. Days of an earlier version do not know which one."""
    if scores.sha:
        return not is_version_of(scores.sha, item.content_sha)
    return scores.last[:10] <= reworded.get(item.id, "")[:10]


def _changed(
    index: Index, scores: Mapping[str, QualityScores], backends: Collection[str], weights: Weights
) -> dict[tuple[str, str], float | None]:
    """What is to be written, by backend and id; None takes it away."""
    wanted: dict[tuple[str, str], float | None] = {}
    reworded = _reworded(index.corrections())
    measured = [one for id_ in scores for one in index.known(id_)]
    for one in (*measured, *index.with_quality()):
        item, found = one.item, scores.get(one.item.id, QualityScores())
        is_measured = item.is_served and not _is_outdated(found, item, reworded) and found.factor(weights) != 1.0
        is_silenced = effective_of(item) == 0.0 and found.factor(weights) == 0.0
        is_ranked = is_measured and (one.backend in backends or is_silenced)
        value = effective_confidence(item.confidence, found, weights) if is_ranked else None
        if (value is not None or effective_of(item) is not None) and with_effective(item, value) is not item:
            wanted[one.backend, item.id] = value
    return wanted
