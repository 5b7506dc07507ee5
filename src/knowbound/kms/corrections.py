"""Copies of an item, flags that cover each other, chains of superseded items, and their reaping (specification 2).

A copy is the same id in another backend, a copy or part of the item, or an item with the same content. A corrective
tool reaches all of them. In the system that specification 2 comes from, three flagged entries were still served through
eleven derived copies in another backend.

A flag covers the flag before it, which is back when the newer flag is removed: deleting and restoring a retracted item
leaves it retracted. Items that were deleted or superseded long enough ago are removed for good. Retracted items are
kept: they keep the same wrong statement from being added again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from knowbound.core.item import Flag, FlagKind, Item
from knowbound.kms.backends.protocol import Backend
from knowbound.kms.changes import ItemChange
from knowbound.kms.index.database import Index, IndexedItem


class StoredItem(NamedTuple):
    """An item as one backend holds it."""

    backend: Backend
    item: Item


class ItemCopies(NamedTuple):
    """The original of a named item, and every item that must follow it."""

    original: Item
    backend: Backend  # of the original
    all: list[StoredItem]  # including the original

    @property
    def ids(self) -> set[str]:
        """Return the ids of the original and its copies."""
        return {stored.item.id for stored in self.all}


def stored_items(backends: Mapping[str, Backend], id_: str) -> list[StoredItem]:
    """Return the item from every backend that holds it, in the order of the backends."""
    found = ((backend, backend.get(id_)) for backend in backends.values())
    return [StoredItem(backend, item) for backend, item in found if item is not None]


def copies_of(backends: Mapping[str, Backend], index: Index, id_: str) -> ItemCopies | None:
    """Read the copies of an item from the backends; None where no backend holds the id."""
    with_id = stored_items(backends, id_)
    if not with_id:
        return None
    top_id, (backend, original) = id_, with_id[0]
    visited = {id_}
    while original.copy_of and original.copy_of not in visited:  # a circle of copies ends
        top_id = original.copy_of
        visited.add(top_id)
        originals = stored_items(backends, top_id)
        if not originals:
            break  # the original is not in these backends
        backend, original = originals[0]
    copies = _all_below(backends, index, top_id)
    # Read once: a write replaces exactly the state that it was made from.
    reread = (copy.item for copy in copies if copy.backend is backend and copy.item.id == original.id)
    return ItemCopies(next(reread, original), backend, copies)


def _all_below(backends: Mapping[str, Backend], index: Index, top: str) -> list[StoredItem]:
    """Return the item, its copies and theirs, and all items with the same content as one of these."""
    found: dict[tuple[str, str], StoredItem] = {}
    seen, waiting = set[str](), [top]
    while waiting:
        id_ = waiting.pop()
        if id_ in seen:
            continue
        seen.add(id_)
        for backend in backends.values():
            for item in backend.copies(id_):
                found[backend.name, item.id] = StoredItem(backend, item)
                waiting.append(item.id)
                waiting += [twin.item.id for twin in index.same_content(item.content_sha)]
    return list(found.values())


_REAPED = (FlagKind.DELETED, FlagKind.SUPERSEDED)
MAX_CHAIN = 5  # "supersede chains grow: cap at 5; the reaper compacts"


def flagged(item: Item, flag: Flag) -> Item:
    """Put a flag over those that the item has; its place in a chain stays."""
    covered = item.flag
    if covered is None:
        return replace(item, flag=flag)
    successor = flag.superseded_by or covered.superseded_by
    return replace(item, flag=replace(flag, superseded_by=successor, covers=_without_kind(covered, flag.kind)))


def unflagged(item: Item) -> Item:
    """Remove the newest flag of the item."""
    return replace(item, flag=item.flag.covers if item.flag else None)


def flag_all(copies: ItemCopies, flag: Flag) -> list[ItemChange]:
    """Flag the original and its copies; a copy that another call flagged as not served keeps its own flag."""
    return [
        ItemChange(backend, item, flagged(item, flag))
        for backend, item in copies.all
        if item.id == copies.original.id or item.is_served or is_same_call(item.flag, copies.original.flag)
    ]


def is_same_call(flag: Flag | None, other: Flag | None) -> bool:
    """Report whether one call set both flags."""
    if flag is None or other is None:
        return False
    return (flag.kind, flag.date, flag.by, flag.note) == (other.kind, other.date, other.by, other.note)


def pointing_to(item: Item, successor: str) -> Item:
    """Give a superseded item another successor."""
    assert item.flag is not None
    return replace(item, flag=_pointing_to(item.flag, successor))


def end_of_chain(id_: str, successor_of: Callable[[str], str]) -> str:
    """Return the last item that replaces this item, or its own id. A circle ends where it began."""
    seen = {id_}
    while (after := successor_of(id_)) and after not in seen:
        seen.add(after)
        id_ = after
    return id_


class Chains:
    """Chains of superseded items over all backends. The backends know successors, the index finds predecessors."""

    def __init__(self, backends: Mapping[str, Backend], index: Index) -> None:
        self._backends, self._index = backends, index

    def successor(self, id_: str) -> str:
        """Return the item that replaced this item, or an empty string."""
        flags = [stored.item.flag for stored in stored_items(self._backends, id_)]
        return next((flag.superseded_by for flag in flags if flag and flag.superseded_by), "")

    def end(self, id_: str) -> str:
        """Return the last item in the chain of replacements; the item's own id if nothing replaced it."""
        return end_of_chain(id_, self.successor)

    def predecessors(self, id_: str) -> list[str]:
        """Return the items that this item replaced."""
        return sorted({old.item.id for old in self._index.predecessors(id_)})

    def shortened(self, old: str, new: str) -> list[ItemChange]:
        """Compact a chain that would grow over the limit: everything before points to the new end."""
        earlier, links, waiting = set[str](), 0, {old}
        while waiting := {before for id_ in waiting for before in self.predecessors(id_)} - earlier - {old}:
            earlier, links = earlier | waiting, links + 1  # an item has one successor: each step is one link more
        if links < MAX_CHAIN:
            return []
        return [
            ItemChange(backend, item, pointing_to(item, new))
            for id_ in sorted(earlier)
            for backend, item in stored_items(self._backends, id_)
            if item.flag and item.flag.superseded_by
        ]


def _without_kind(flag: Flag | None, kind: FlagKind) -> Flag | None:
    """Remove flags of the new flag's kind from the covered flags: they do not pile up."""
    if flag is None:
        return None
    below = _without_kind(flag.covers, kind)
    return below if flag.kind == kind else replace(flag, covers=below)


def _pointing_to(flag: Flag, successor: str) -> Flag:
    """Give the flag and those it covers another successor, where they have one."""
    return replace(
        flag,
        superseded_by=successor if flag.superseded_by else "",
        covers=_pointing_to(flag.covers, successor) if flag.covers else None,
    )


class Reaped(msgspec.Struct, frozen=True):
    """The items that a reaping removed, and the chains it shortened: id → the item at the end."""

    removed: list[str]
    compacted: dict[str, str]


def reaping(backends: Mapping[str, Backend], index: Index, before: datetime) -> tuple[Reaped, list[ItemChange]]:
    """Return the changes to write. An item whose flag has no date is of unknown age, and is kept."""
    writable = {name for name, backend in backends.items() if not backend.is_read_only}
    successors = {old.item.id: old.item.flag.superseded_by for old in index.superseded() if old.item.flag}
    removed: dict[tuple[str, str], ItemChange] = {}
    for candidate in (found for found in index.flagged(_REAPED) if found.backend in writable):
        backend = backends[candidate.backend]
        item = backend.get(candidate.item.id)
        if item is not None and _may_be_reaped(item, before):  # the index may be outdated
            removed[candidate.backend, item.id] = ItemChange(backend, before=item, after=None)
    compacted: dict[str, str] = {}
    changes = list(removed.values())
    for old in index.superseded():
        if (old.backend, old.item.id) in removed or old.backend not in backends or old.item.flag is None:
            continue
        last = end_of_chain(old.item.id, lambda id_: successors.get(id_, ""))
        item = backends[old.backend].get(old.item.id)
        if last not in (old.item.id, old.item.flag.superseded_by) and item is not None and item.flag is not None:
            changes.append(ItemChange(backends[old.backend], item, pointing_to(item, last)))
            compacted[item.id] = last
    changes.sort(key=lambda change: change.backend.name)
    return Reaped(sorted({id_ for _, id_ in removed}), compacted), changes


def _may_be_reaped(item: Item, before: datetime) -> bool:
    """Report whether the item was deleted or superseded before this time; unknown where its flag has no date."""
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
    for copy in index.blocked_copies():
        backend = backends.get(copy.backend)
        item = backend.get(copy.item.id) if backend else None
        if backend is None or item is None or not item.is_served:
            continue
        flag = _withdrawing_flag(backends, index, copy)
        if flag is None and index.is_reaped(copy.item):
            flag = Flag(FlagKind.DELETED, "a copy of what was reaped", now, "knowbound")
        if flag is not None:
            changes.append(ItemChange(backend, item, flagged(item, flag)))
    return changes


def _withdrawing_flag(backends: Mapping[str, Backend], index: Index, copy: IndexedItem) -> Flag | None:
    """Return the flag that withdraws the same content, the same item elsewhere, or the original; None if none does."""
    items = [twin.item for twin in index.same_content(copy.item.content_sha)]
    items += [stored.item for stored in stored_items(backends, copy.item.id)]
    if copy.item.copy_of:
        items += [stored.item for stored in stored_items(backends, copy.item.copy_of)]
    return next((item.flag for item in items if item.flag and not item.is_served), None)
