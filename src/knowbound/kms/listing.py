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
from typing import NamedTuple

import msgspec

from knowbound.core.item import Item
from knowbound.kms.corrections import end_of_chain
from knowbound.kms.index.database import Index, IndexedItem
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
    for indexed in index.all_items():
        item = indexed.item
        if item.id in found:
            found[item.id].backends.append(indexed.backend)
            continue
        kind, source = _source(item, indexed.backend)
        found[item.id] = ListedItem(
            id=item.id,
            content=item.content,
            kind=kind,
            source=source,
            backends=[indexed.backend],
            type=item.type,
            subject=item.subject,
            flag=item.flag.kind if item.flag else "",
            stale=item.stale,
            served=indexed.served,
            timestamp=item.timestamp,
            injections=injections.get(item.id, 0),
        )
    return sorted(
        found.values(),
        key=lambda item: (not item.served, not item.stale, item.flag != "UNVERIFIED", -item.injections, item.id),
    )


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
    return sorted(sources, key=lambda listed: (-listed.items, listed.source))


def _source(item: Item, backend: str) -> tuple[SourceKind, str]:
    """Return the kind and the name of the place that an item comes from."""
    if item.anchor and item.anchor.file:
        file = item.anchor.file
        if _MEMORY.search(file):
            return SourceKind.MEMORY, str(PurePosixPath(file).parent)
        return SourceKind.FILE, file
    if _OWN_ID.fullmatch(item.id):
        return SourceKind.ADDED, "added"
    return SourceKind.BACKEND, backend


class ShownItem(msgspec.Struct, frozen=True):
    """An item as the index has it; if it is not served, with the served item that replaced it."""

    item: Item
    backends: tuple[str, ...]
    served: bool
    content_sha: str  # as the backend has it, secrets included: a context knows the item by this hash
    screened: str  # why screening withholds the item, or an empty string
    in_force: ShownItem | None = None  # the served item that replaced this one


def shown_item(index: sqlite3.Connection, id_: str) -> ShownItem | None:
    """Return the item with this id; None where the index has none."""
    shown = _shown(index, id_)
    if shown is None or shown.served:
        return shown
    successor = end_of_chain(id_, lambda replaced: _successor(index, replaced))
    in_force = _shown(index, successor) if successor != id_ else None  # the end of its chain
    return msgspec.structs.replace(shown, in_force=in_force if in_force and in_force.served else None)


def _shown(index: sqlite3.Connection, id_: str) -> ShownItem | None:
    query = "SELECT record, backend, served, content_sha, screened FROM item WHERE id = ? ORDER BY served DESC, backend"
    rows = index.execute(query, (id_,)).fetchall()  # a served row first
    if not rows:
        return None
    record, _, served, sha, screened = rows[0]
    return ShownItem(item_of(record), tuple(row[1] for row in rows), bool(served), sha, screened)


def _successor(index: sqlite3.Connection, id_: str) -> str:
    query = "SELECT superseded_by FROM item WHERE id = ? AND superseded_by <> '' ORDER BY backend"
    row = index.execute(query, (id_,)).fetchone()
    return str(row[0]) if row else ""


class ItemFilter(StrEnum):
    """Items of a page, by what needs doing."""

    ALL = "all"
    HELD_BACK = "held back"  # disproved by the tree or by a turn
    UNVERIFIED = "unverified"
    STALE = "stale"  # the place that it comes from has changed
    SILENCED = "silenced"  # contradicted so often that its effective confidence is 0
    WITHDRAWN = "withdrawn"  # retracted, superseded or deleted


_WHERE = {  # each with the condition of its partial index
    ItemFilter.ALL: "",
    ItemFilter.HELD_BACK: "flag <> '' AND flag = 'HELD_BACK'",
    ItemFilter.UNVERIFIED: "flag <> '' AND flag = 'UNVERIFIED'",
    ItemFilter.STALE: "stale = 1 AND served = 1",
    ItemFilter.SILENCED: "quality <> 1.0 AND quality = 0 AND served = 1",
    ItemFilter.WITHDRAWN: "flag <> '' AND flag IN ('RETRACTED', 'SUPERSEDED', 'DELETED')",
}


class ItemPage(NamedTuple):
    """Some items, newest first, and the cursor of those that follow; "" after the last."""

    items: list[IndexedItem]
    after: str


def items_page(index: sqlite3.Connection, filter_: ItemFilter, text: str, after: str, most: int) -> ItemPage:
    """Return a page of items, with all of these words if there are any."""
    where, values = [_WHERE[filter_]], list[str | int]()
    if after.isdecimal():
        where.append("item.rowid < ?")
        values.append(int(after))
    if words := re.findall(r"\w+", text):
        where.append("item.rowid IN (SELECT rowid FROM item_text WHERE item_text MATCH ?)")
        values.append(" ".join(f'"{word}"' for word in words))
    condition = " AND ".join(filter(None, where)) or "1"
    query = f"SELECT rowid, record, backend, served FROM item WHERE {condition} ORDER BY rowid DESC LIMIT ?"
    rows = index.execute(query, (*values, most + 1)).fetchall()  # one more says that a page follows
    items = [IndexedItem(item_of(record), backend, bool(served)) for _, record, backend, served in rows[:most]]
    return ItemPage(items, str(rows[most - 1][0]) if len(rows) > most else "")


def predecessors_of(index: sqlite3.Connection, id_: str) -> list[str]:
    """Return the ids of the items that this one supersedes."""
    return [
        row[0]
        for row in index.execute("SELECT DISTINCT id FROM item WHERE superseded_by <> '' AND superseded_by = ?", (id_,))
    ]
