"""The effective confidence on an item: `metadata.quality.effective_confidence` (specification 2, section 4)."""

from __future__ import annotations

import math

from msgspec.structs import replace

from knowbound.core.item import Item

QUALITY, EFFECTIVE = "quality", "effective_confidence"
_STEP = 0.005  # a smaller change orders nothing anew, and every write costs all machines a look


def effective_of(item: Item) -> float | None:
    """What the rollup wrote; None where it wrote nothing that can be used."""
    quality = item.metadata.get(QUALITY)
    value = quality.get(EFFECTIVE) if isinstance(quality, dict) else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return None
    return float(value)


def with_effective(item: Item, value: float | None) -> Item:
    """The item with this effective confidence, or without one; itself where that is hardly another."""
    known = effective_of(item)
    if known == value or (known is not None and value is not None and value and abs(known - value) < _STEP):
        return item
    kept = item.metadata.get(QUALITY)
    quality = {name: one for name, one in kept.items() if name != EFFECTIVE} if isinstance(kept, dict) else {}
    if value is not None:
        quality[EFFECTIVE] = round(value, 4)
    others = {name: one for name, one in item.metadata.items() if name != QUALITY}
    return replace(item, metadata=others | ({QUALITY: quality} if quality else {}))
