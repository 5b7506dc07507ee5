"""One item for an agent that asks for it by its id: read from the index alone, as everything that agents are given.

What is not served is not given on request either: its flag says why, and the item that replaced it is shown instead.
"""

from __future__ import annotations

import sqlite3

import msgspec

from knowbound.core.item import Item
from knowbound.kms.corrections.flags import end_of_chain
from knowbound.kms.index.entry import item_of


class ShownItem(msgspec.Struct, frozen=True):
    """An item as the index has it, and what is in force instead where it is not served."""

    item: Item
    backends: tuple[str, ...]
    served: bool
    content_sha: str  # as the backend has it, secrets included: by it a context knows the item
    screened: str  # why screening keeps it back; "" where it does not
    in_force: ShownItem | None = None  # the item that replaced it, where that is served


def shown_item(index: sqlite3.Connection, id_: str) -> ShownItem | None:
    """The item with this id; None where the index has none."""
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
