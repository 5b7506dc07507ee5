"""Items as the index shows them: a list with sources and counts for `kms list`, and one item for an agent.

An item comes from a file of the project or elsewhere, from Claude Code's memory folder, from a person or an agent who
added it, or from another program that wrote to a backend.

An agent asks for an item by its id, and gets only what is served. Otherwise the flag says why, and the item that
replaced it is shown instead.
"""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import PurePosixPath

import msgspec

from knowbound.core.item import Item
from knowbound.kms.corrections.flags import end_of_chain
from knowbound.kms.index.database import Index
from knowbound.kms.index.entry import item_of

_OWN_ID = re.compile(r"k[a-z2-9]{11}")  # the form of ids that knowledge_store.py makes
_MEMORY = re.compile(r"/projects/[^/]+/memory/")


class SourceKind(StrEnum):
    """The kinds of places that items come from."""

    FILE = "file"
    MEMORY = "memory"  # Claude Code's memory folder
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
    injections: int  # number of injections in the log


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
    """List every item once: stale and unverified items first, then the most injected, withdrawn items last."""
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
    """Return the items of a source (its kind, its name, or a folder of files), of a subject, with a flag."""
    folder = source.rstrip("/") + "/"
    return [
        item
        for item in items
        if (not source or source in (item.kind, item.source, *item.backends) or item.source.startswith(folder))
        and (not subject or item.subject == subject)
        and (not flag or item.flag == flag)
    ]


def listed_sources(items: Iterable[ListedItem]) -> list[ListedSource]:
    """Return the sources of these items, largest first."""
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


class ShownItem(msgspec.Struct, frozen=True):
    """An item as the index has it, with the item in force where it is not served."""

    item: Item
    backends: tuple[str, ...]
    served: bool
    content_sha: str  # as the backend has it, secrets included: a context knows the item by this hash
    screened: str  # why screening withholds the item, or an empty string
    in_force: ShownItem | None = None  # the served item that replaced this one


def shown_item(index: sqlite3.Connection, id_: str) -> ShownItem | None:
    """Return the item with this id; None where the index has none."""
    shown = _read(index, id_)
    if shown is None or shown.served:
        return shown
    successor = end_of_chain(id_, lambda one: _successor(index, one))
    in_force = _read(index, successor) if successor != id_ else None
    return msgspec.structs.replace(shown, in_force=in_force if in_force and in_force.served else None)


def _read(index: sqlite3.Connection, id_: str) -> ShownItem | None:
    query = "SELECT record, backend, served, content_sha, screened FROM item WHERE id = ? ORDER BY served DESC, backend"
    rows = index.execute(query, (id_,)).fetchall()
    if not rows:
        return None
    record, _, served, sha, screened = rows[0]
    return ShownItem(item_of(record), tuple(row[1] for row in rows), bool(served), sha, screened)


def _successor(index: sqlite3.Connection, id_: str) -> str:
    query = "SELECT superseded_by FROM item WHERE id = ? AND superseded_by <> '' ORDER BY backend"
    row = index.execute(query, (id_,)).fetchone()
    return str(row[0]) if row else ""
