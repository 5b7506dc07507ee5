"""Several writes to several backends and to the index as one step: all of them or none.

There is no transaction over four kinds of database. So the whole step is noted in the index first, as an intent. The
process that opens the store next completes what a killed writer left. Completing a step twice changes nothing: a change
is made only where its item still is as the writer found it. Where another machine has changed the item that the call
was about, the step is given up: its caller never got an answer.
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
from knowbound.kms.backends.protocol import Backend, ContendedError, Swap


class Correction(msgspec.Struct, frozen=True):
    """One corrective call (specification 2, "The corrective loop")."""

    item: str
    tool: str  # kms_update, kms_delete, kms_flag, kms_supersede, kms_reap
    time: str
    by: str
    session: str
    detail: str  # JSON


class ItemChange(NamedTuple):
    """The item that a backend holds under an id, before and after a write."""

    backend: Backend
    before: Item | None
    after: Item | None

    @property
    def id(self) -> str:
        """Return the id that changes."""
        return Swap(self.before, self.after).id


class StoreWrite(NamedTuple):
    """One step: changes to items, and the entries of the index that go with them."""

    changes: Sequence[ItemChange]
    log: Sequence[Correction] = ()
    reaped: Sequence[tuple[str, str]] = ()  # id and content hash of items that are removed for good
    restored: Sequence[str] = ()  # reaped contents and ids that are brought back on purpose

    @property
    def touched(self) -> list[tuple[Backend, str]]:
        """Return the backend and id of every change."""
        return [(change.backend, change.id) for change in self.changes]

    def intent(self) -> str:
        """Encode the step. Unchanged fields are left out: other programs may have put secrets into them."""
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


NO_WRITE = StoreWrite(())


def remaining_of(intent: str, backends: Mapping[str, Backend]) -> tuple[StoreWrite, list[tuple[Backend, str]]]:
    """Return the rest of a step that was begun, and the items that the index has to read again.

    The changes are those still to make; of a step that is given up, they remove what it added. A backend that is no
    longer in use is left out.
    """
    noted = json.loads(intent)
    log = msgspec.convert(noted["log"], list[Correction])
    changes, touched, added, overtaken = [], [], [], set()
    for name, id_, digest, difference in noted["changes"]:
        if (backend := backends.get(name)) is None:
            continue
        touched.append((backend, id_))
        now = backend.get(id_)
        if _is_made(now, difference):
            if not digest:  # the step added the item
                added.append(ItemChange(backend, now, None))
        elif _digest(now) == digest:
            changes.append(ItemChange(backend, now, _changed(now, difference)))
        else:
            overtaken.add(id_)
    if log and {correction.item for correction in log} <= overtaken:
        return StoreWrite(added), touched
    log = [correction for correction in log if correction.item not in overtaken]
    reaped = [(id_, sha) for id_, sha in noted["reaped"] if id_ not in overtaken]
    return StoreWrite(changes, log, reaped, noted["restored"]), touched


def apply(changes: Iterable[ItemChange]) -> None:
    """Write the changes in order; raise ContendedError where an item is no longer as it was read."""
    for backend, group in groupby(changes, key=lambda change: change.backend):
        swaps: dict[str, Swap] = {}
        for change in group:
            first = swaps.get(change.id)
            # Several changes of one item are one: from before the first to after the last.
            swaps[change.id] = Swap(first.before if first else change.before, change.after)
        backend.swap(list(swaps.values()))


def undo(changes: Sequence[ItemChange]) -> bool:
    """Write back the earlier items; report whether all of them are known to be back."""
    undone = [_is_undone(change) for change in reversed(changes)]  # a list: undo every change
    return all(undone)


def _is_undone(change: ItemChange) -> bool:
    """Write the earlier item back; report whether it is back, or another machine has changed the item since."""
    try:
        now = change.backend.get(change.id)
        is_another = change.backend.is_shared and _digest(now) != _digest(change.after)
        if _digest(now) != _digest(change.before) and not is_another:
            change.backend.swap([Swap(before=now, after=change.before)])
    except ContendedError:
        return True
    except StoreError:
        return False
    return True


def _digest(item: Item | None) -> str:
    """Return a hash of the whole item; "" for none."""
    if item is None:
        return ""
    return hashlib.sha256(json.dumps(msgspec.to_builtins(item), sort_keys=True).encode()).hexdigest()


def _difference(change: ItemChange) -> dict[str, Any] | None:
    """Return the fields of the item that change; None where it is removed."""
    if change.after is None:
        return None
    fields = Item.__struct_fields__
    new = {name: getattr(change.after, name) for name in fields}
    old = {name: getattr(change.before, name) for name in fields} if change.before else {}
    return {name: msgspec.to_builtins(value) for name, value in new.items() if not old or old[name] != value}


def _is_made(item: Item | None, difference: dict[str, Any] | None) -> bool:
    """Report whether the item is already as the noted difference makes it."""
    if item is None or difference is None:
        return item is None and difference is None
    now = {name: getattr(item, name) for name in difference}
    return bool(json.loads(json.dumps(msgspec.to_builtins(now))) == difference)


def _changed(item: Item | None, difference: dict[str, Any] | None) -> Item | None:
    """Return the item with the noted difference; None where it is removed."""
    if difference is None:
        return None
    kept = {name: getattr(item, name) for name in Item.__struct_fields__} if item else {}
    return msgspec.convert(msgspec.to_builtins(kept) | difference, Item)
