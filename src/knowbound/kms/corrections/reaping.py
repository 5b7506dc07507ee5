"""Reaping: items that were deleted or superseded long enough ago are removed for good, and chains compacted.

Specification 2. Retracted items are kept: they keep the same wrong statement from being added again.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import msgspec

from knowbound.core.item import Flag, FlagKind, Item
from knowbound.kms.backends.protocol import Backend
from knowbound.kms.corrections.changes import ItemChange
from knowbound.kms.corrections.copies import stored_items
from knowbound.kms.corrections.flags import end_of_chain, flagged, pointing_to
from knowbound.kms.index.database import Index, IndexedItem

_REAPED = (FlagKind.DELETED, FlagKind.SUPERSEDED)


class Reaped(msgspec.Struct, frozen=True):
    """The items that a reaping removed, and the chains it shortened: id → the item at the end."""

    removed: list[str]
    compacted: dict[str, str]


def reaping(backends: Mapping[str, Backend], index: Index, before: datetime) -> tuple[Reaped, list[ItemChange]]:
    """Return the changes to write. An item whose flag has no date is of unknown age, and is kept."""
    known = [one for one in index.flagged(_REAPED) if one.backend in backends]
    successors = {one.item.id: one.item.flag.superseded_by for one in index.superseded() if one.item.flag}
    removed: dict[tuple[str, str], ItemChange] = {}
    for one in known:
        item = backends[one.backend].get(one.item.id)
        if item is not None and _is_over(item, before):
            removed[one.backend, item.id] = ItemChange(backends[one.backend], item, None)
    compacted: dict[str, str] = {}
    changes = list(removed.values())
    for one in index.superseded():
        if (one.backend, one.item.id) in removed or one.backend not in backends or one.item.flag is None:
            continue
        end = end_of_chain(one.item.id, lambda id_: successors.get(id_, ""))
        item = backends[one.backend].get(one.item.id)
        if end not in (one.item.id, one.item.flag.superseded_by) and item is not None and item.flag is not None:
            changes.append(ItemChange(backends[one.backend], item, pointing_to(item, end)))
            compacted[item.id] = end
    changes.sort(key=lambda change: change.backend.name)
    return Reaped(sorted({id_ for _, id_ in removed}), compacted), changes


def _is_over(item: Item, before: datetime) -> bool:
    if item.flag is None or item.flag.kind not in _REAPED:
        return False
    try:
        since = datetime.fromisoformat(item.flag.date)
    except ValueError:
        return False
    return (since if since.tzinfo else since.replace(tzinfo=UTC)) <= before


def flags_for_late_copies(backends: Mapping[str, Backend], index: Index, now: str) -> list[ItemChange]:
    """Flag copies that reached a backend after their original was flagged.

    This is one step: a copy of a copy needs another one.
    """
    changes = []
    for one in index.blocked_copies():
        backend = backends.get(one.backend)
        item = backend.get(one.item.id) if backend else None
        if backend is None or item is None or not item.is_served:
            continue
        flag = _reason(backends, index, one)
        if flag is None and index.is_reaped(one.item):
            flag = Flag(FlagKind.DELETED, "a copy of what was reaped", now, "knowbound")
        if flag is not None:
            changes.append(ItemChange(backend, item, flagged(item, flag)))
    return changes


def _reason(backends: Mapping[str, Backend], index: Index, one: IndexedItem) -> Flag | None:
    """Return the flag of the same item elsewhere, of the same content, or of the original."""
    items = [twin.item for twin in index.same_content(one.item.content_sha)]
    items += [stored.item for stored in stored_items(backends, one.item.id)]
    if one.item.copy_of:
        items += [stored.item for stored in stored_items(backends, one.item.copy_of)]
    return next((item.flag for item in items if item.flag and not item.is_served), None)
