"""`kms list`: every item of the index with where it comes from, and the sources with their counts.

An item comes from a file of the project or another one, from Claude Code's memory folder, was added by a person or an
agent, or was put into a backend by others.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import PurePosixPath

import msgspec

from knowbound.core.item import Item
from knowbound.kms.index.database import Index

_OWN_ID = re.compile(r"k[a-z2-9]{11}")  # as knowledge_store.py makes them
_MEMORY = re.compile(r"/projects/[^/]+/memory/")


class SourceKind(StrEnum):
    """Where items come from."""

    FILE = "file"
    MEMORY = "memory"  # of Claude Code
    ADDED = "added"
    BACKEND = "backend"


class ListedItem(msgspec.Struct, frozen=True):
    """An item in a list."""

    id: str
    content: str
    kind: SourceKind
    source: str  # the file, the memory folder, "added", or the name of the backend
    backends: list[str]
    type: str
    subject: str
    flag: str  # "" or a FlagKind
    stale: bool
    served: bool
    timestamp: str
    injections: int  # how often it was injected, as far as the log goes back


class ListedSource(msgspec.Struct, frozen=True):
    """A source with its counts."""

    kind: SourceKind
    source: str
    items: int
    served: int
    stale: int
    injected: int  # items that were injected at least once
    flags: dict[str, int]


def listed_items(index: Index, injections: Mapping[str, int]) -> list[ListedItem]:
    """Every item once: what needs a look first, then what is injected most, last what is withdrawn."""
    found: dict[str, ListedItem] = {}
    for known in index.all_items():
        item = known.item
        if item.id in found:
            found[item.id].backends.append(known.backend)
            continue
        kind, source = _source(item, known.backend)
        found[item.id] = ListedItem(
            id=item.id,
            content=item.content,
            kind=kind,
            source=source,
            backends=[known.backend],
            type=item.type,
            subject=item.subject,
            flag=item.flag.kind if item.flag else "",
            stale=item.stale,
            served=known.served,
            timestamp=item.timestamp,
            injections=injections.get(item.id, 0),
        )
    return sorted(found.values(), key=_order)


def matching(items: Iterable[ListedItem], *, source: str = "", subject: str = "", flag: str = "") -> list[ListedItem]:
    """The items of a source (its kind, its name, or a folder of files), of a subject, with a flag."""
    folder = source.rstrip("/") + "/"
    return [
        item
        for item in items
        if (not source or source in (item.kind, item.source, *item.backends) or item.source.startswith(folder))
        and (not subject or item.subject == subject)
        and (not flag or item.flag == flag)
    ]


def listed_sources(items: Iterable[ListedItem]) -> list[ListedSource]:
    """The sources of these items, those with the most items first."""
    by_source: dict[tuple[SourceKind, str], list[ListedItem]] = {}
    for item in items:
        by_source.setdefault((item.kind, item.source), []).append(item)
    sources = [
        ListedSource(
            kind=kind,
            source=source,
            items=len(of_source),
            served=sum(item.served for item in of_source),
            stale=sum(item.stale and item.served for item in of_source),
            injected=sum(item.injections > 0 for item in of_source),
            flags=dict(Counter(item.flag for item in of_source if item.flag)),
        )
        for (kind, source), of_source in by_source.items()
    ]
    return sorted(sources, key=lambda one: (-one.items, one.source))


def _source(item: Item, backend: str) -> tuple[SourceKind, str]:
    if item.anchor and item.anchor.file:
        file = item.anchor.file
        if _MEMORY.search(file):
            return SourceKind.MEMORY, str(PurePosixPath(file).parent)
        return SourceKind.FILE, file
    if _OWN_ID.fullmatch(item.id):
        return SourceKind.ADDED, "added"
    return SourceKind.BACKEND, backend


def _order(item: ListedItem) -> tuple[bool, bool, bool, int, str]:
    return not item.served, not item.stale, item.flag != "UNVERIFIED", -item.injections, item.id
