"""Several writes to several backends and to the index as one step: all of them, or none is left behind.

There is no transaction over four kinds of database. So the whole step is noted in the index first, as an intent; what a
killed writer left is completed by whoever opens the store next. Doing so again changes nothing: a change is made only
where its item still is as the writer found it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import msgspec

from knowbound.core.item import Item
from knowbound.errors import StoreError
from knowbound.kms.backends.protocol import Backend


class Correction(msgspec.Struct, frozen=True):
    """One corrective call (specification 2, "The corrective loop")."""

    item: str
    tool: str  # kms_update, kms_delete, kms_flag, kms_supersede, kms_reap
    time: str
    by: str
    session: str
    detail: str  # JSON


class ItemChange(NamedTuple):
    """What a backend holds under an id before and after."""

    backend: Backend
    before: Item | None
    after: Item | None

    @property
    def id(self) -> str:
        """The id that changes."""
        item = self.after or self.before
        assert item is not None
        return item.id


class StoreWrite(NamedTuple):
    """One step: changes to items, and what the index notes with them."""

    changes: Sequence[ItemChange]
    log: Sequence[Correction] = ()
    reaped: Sequence[tuple[str, str]] = ()  # id and content hash of what is removed for good
    restored: Sequence[str] = ()  # contents and ids that were reaped once and are brought back on purpose

    @property
    def held(self) -> list[tuple[Backend, str]]:
        """What changes where."""
        return [(change.backend, change.id) for change in self.changes]

    def intent(self) -> str:
        """The step as text. Of an item only what changes: others may have put secrets into the rest of it."""
        return json.dumps(
            {
                "changes": [
                    (change.backend.name, change.id, _digest(change.before), _difference(change))
                    for change in self.changes
                ],
                "log": msgspec.to_builtins(self.log),
                "reaped": self.reaped,
                "restored": self.restored,
            }
        )


class LeftWrite(NamedTuple):
    """What is left to do of a step that was begun."""

    changes: list[ItemChange]  # those that were not made
    held: list[tuple[Backend, str]]  # what the index has to read again
    log: list[Correction]
    reaped: list[tuple[str, str]]
    restored: list[str]


def left_of(intent: str, backends: Mapping[str, Backend]) -> LeftWrite:
    """Read the intent, and look what was done. A backend that is no longer in use is left out, as in the index."""
    noted = json.loads(intent)
    changes, held = [], []
    for name, id_, digest, difference in noted["changes"]:
        if (backend := backends.get(name)) is None:
            continue
        held.append((backend, id_))
        now = backend.get(id_)
        if _digest(now) == digest:
            changes.append(ItemChange(backend, now, _changed(now, difference)))
    log = msgspec.convert(noted["log"], list[Correction])
    return LeftWrite(changes, held, log, [(id_, sha) for id_, sha in noted["reaped"]], noted["restored"])


def apply(changes: Iterable[ItemChange]) -> None:
    """Write the changes, in their order."""
    for backend, group in groupby(changes, key=lambda change: change.backend):
        of_backend = list(group)
        kept = [change.after for change in of_backend if change.after is not None]
        if kept:
            backend.put_many(kept)
        for change in of_backend:
            if change.after is None:
                backend.remove(change.id)


def undo(changes: Sequence[ItemChange]) -> bool:
    """Write back what was there, wherever it is not; whether all of it is known to be back."""
    undone = [_is_undone(change) for change in reversed(changes)]  # each of them, whatever the others gave
    return all(undone)


def _is_undone(change: ItemChange) -> bool:
    try:
        if change.backend.get(change.id) != change.before:
            if change.before is None:
                change.backend.remove(change.id)
            else:
                change.backend.put(change.before)
    except StoreError:
        return False
    return True


def _digest(item: Item | None) -> str:
    if item is None:
        return ""
    return hashlib.sha256(json.dumps(msgspec.to_builtins(item), sort_keys=True).encode()).hexdigest()


def _difference(change: ItemChange) -> dict[str, Any] | None:
    """The fields of the item that get other values; None where it is removed."""
    if change.after is None:
        return None
    fields = Item.__struct_fields__
    new = {name: getattr(change.after, name) for name in fields}
    old = {name: getattr(change.before, name) for name in fields} if change.before else {}
    return {name: msgspec.to_builtins(value) for name, value in new.items() if not old or old[name] != value}


def _changed(item: Item | None, difference: dict[str, Any] | None) -> Item | None:
    if difference is None:
        return None
    kept = {name: getattr(item, name) for name in Item.__struct_fields__} if item else {}
    return msgspec.convert(msgspec.to_builtins(kept) | difference, Item)
