"""Flags that cover each other, and chains of superseded items (specification 2).

A flag covers the one before it, which is back when the newer one is removed: deleting and restoring a retracted item
leaves it retracted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec.structs import replace

from knowbound.core.item import Flag, FlagKind, Item

MAX_CHAIN = 5  # "supersede chains grow: cap at 5; the reaper compacts"


def flagged(item: Item, flag: Flag) -> Item:
    """The item with the flag over those it has; its place in a chain stays."""
    below = item.flag
    if below is None:
        return replace(item, flag=flag)
    successor = flag.superseded_by or below.superseded_by
    return replace(item, flag=replace(flag, superseded_by=successor, covers=_without(below, flag.kind)))


def unflagged(item: Item) -> Item:
    """The item without its newest flag."""
    return replace(item, flag=item.flag.covers if item.flag else None)


def same_call(one: Flag | None, other: Flag | None) -> bool:
    """Whether two items got their flags by the same call."""
    if one is None or other is None:
        return False
    return (one.kind, one.date, one.by, one.note) == (other.kind, other.date, other.by, other.note)


def pointing_to(item: Item, successor: str) -> Item:
    """The superseded item with another successor."""
    assert item.flag is not None
    return replace(item, flag=_pointing(item.flag, successor))


def end_of_chain(id_: str, successor_of: Callable[[str], str]) -> str:
    """The last item that replaces this one; itself where nothing does. A circle ends where it began."""
    seen = {id_}
    while (after := successor_of(id_)) and after not in seen:
        seen.add(after)
        id_ = after
    return id_


def links_before(id_: str, predecessors_of: Callable[[str], Iterable[str]]) -> int:
    """The length of the longest chain of superseded items that ends in this one."""
    return _links(id_, predecessors_of, frozenset())


def all_before(id_: str, predecessors_of: Callable[[str], Iterable[str]]) -> set[str]:
    """Every item that this one replaces, directly or through others."""
    found: set[str] = set()
    waiting = [id_]
    while waiting:
        new = set(predecessors_of(waiting.pop())) - found - {id_}
        found |= new
        waiting += new
    return found


def _links(id_: str, predecessors_of: Callable[[str], Iterable[str]], passed: frozenset[str]) -> int:
    passed |= {id_}
    return max(
        (1 + _links(one, predecessors_of, passed) for one in predecessors_of(id_) if one not in passed), default=0
    )


def _without(flag: Flag | None, kind: FlagKind) -> Flag | None:
    """The covered flags, less those of the kind of the new one: they do not pile up."""
    if flag is None:
        return None
    below = _without(flag.covers, kind)
    return below if flag.kind == kind else replace(flag, covers=below)


def _pointing(flag: Flag, successor: str) -> Flag:
    return replace(
        flag,
        superseded_by=successor if flag.superseded_by else "",
        covers=_pointing(flag.covers, successor) if flag.covers else None,
    )
