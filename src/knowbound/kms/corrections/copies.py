"""The copies of an item: the same id in other backends, its copies and parts, and items with the same content.

A corrective tool reaches all of them. In the system that specification 2 comes from, three flagged entries were still
served through eleven derived copies in another backend.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from knowbound.core.item import Item
from knowbound.kms.backends.protocol import Backend
from knowbound.kms.index.database import Index


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
    named = stored_items(backends, id_)
    if not named:
        return None
    top, (backend, original) = id_, named[0]
    passed = {id_}
    while original.copy_of and original.copy_of not in passed:
        top = original.copy_of
        passed.add(top)
        above = stored_items(backends, top)
        if not above:
            break  # the original is not in these backends
        backend, original = above[0]
    everything = _below(backends, index, top)
    # Read once: a write replaces exactly the state that it was made from.
    same = (one.item for one in everything if one.backend is backend and one.item.id == original.id)
    return ItemCopies(next(same, original), backend, everything)


def _below(backends: Mapping[str, Backend], index: Index, top: str) -> list[StoredItem]:
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
