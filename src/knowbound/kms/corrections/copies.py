"""What belongs to an item: the same id in other backends, its copies and parts, and whoever says the very same.

A corrective tool reaches all of it. In the system specification 2 comes from, three flagged entries were served on
through eleven derived copies in another backend.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from knowbound.core.item import Item
from knowbound.kms.backends.protocol import Backend
from knowbound.kms.index.database import Index


class Holding(NamedTuple):
    """An item as one backend holds it."""

    backend: Backend
    item: Item


class Family(NamedTuple):
    """The item that was named or what it is a copy of, and everything that must follow it."""

    head: Holding
    holdings: list[Holding]  # with the head


def holdings_of(backends: Mapping[str, Backend], id_: str) -> list[Holding]:
    """The item in every backend that holds it, in the order of the backends."""
    found = ((backend, backend.get(id_)) for backend in backends.values())
    return [Holding(backend, item) for backend, item in found if item is not None]


def family_of(backends: Mapping[str, Backend], index: Index, id_: str) -> Family | None:
    """The family of an item, read from the backends themselves; None where no backend holds the id."""
    named = holdings_of(backends, id_)
    if not named:
        return None
    top, head = id_, named[0]
    passed = {id_}
    while head.item.copy_of and head.item.copy_of not in passed:
        top = head.item.copy_of
        passed.add(top)
        above = holdings_of(backends, top)
        if not above:
            break  # copies of what is no longer, or never was, in these backends
        head = above[0]
    return Family(head, _below(backends, index, top))


def _below(backends: Mapping[str, Backend], index: Index, top: str) -> list[Holding]:
    found: dict[tuple[str, str], Holding] = {}
    seen, waiting = set[str](), [top]
    while waiting:
        id_ = waiting.pop()
        if id_ in seen:
            continue
        seen.add(id_)
        for backend in backends.values():
            for item in backend.copies(id_):
                found[backend.name, item.id] = Holding(backend, item)
                waiting.append(item.id)
                waiting += [twin.item.id for twin in index.same_content(item.content_sha)]
    return list(found.values())
