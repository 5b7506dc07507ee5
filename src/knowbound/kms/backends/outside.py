"""Items of a store that somebody else keeps, and the notes about them in the data folder.

Nothing of ours is put into such a store, so nothing says what changed there: it is read whole, and the stamp is a
digest of the items. What the store has no field for, or what may not be written there, is noted beside it: a flag,
staleness, measured quality. The notes are one small file per store, `.knowbound/notes-NAME.json`. A note counts while
the item has the content and the flag that it had when the note was made: a correction in the store itself wins.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from knowbound.core.item import Anchor, Flag, Item
from knowbound.errors import InputError
from knowbound.files import replacing
from knowbound.kms.backends.protocol import Backend, Swap
from knowbound.kms.backends.remote import refuse_changed, whole
from knowbound.kms.index.entry import effective_of, with_effective


class OutsideNote(msgspec.Struct, frozen=True, omit_defaults=True):
    """The fields of an item that its store does not hold."""

    about: str  # digest of the content and the flag in the store
    flag: Flag | None = None
    stale: bool = False
    anchor: Anchor | None = None
    effective: float | None = None


class Planned(NamedTuple):
    """A change of one item in the store: the item as the store will show it, and the write."""

    shown: Item | None
    write: Callable[[], None] | None = None


class OutsideBackend(Backend):
    """Items of one store of somebody else. A subclass reads the store and plans a write."""

    is_shared = True
    is_whole = True

    def __init__(self, home: Path) -> None:
        self._file = home / f"notes-{self.name}.json"

    def stored(self, id_: str = "") -> Iterator[Item]:
        """Yield the items as the store has them: one of this id, or all."""
        raise NotImplementedError

    def planned(self, swap: Swap, note: str) -> Planned:
        """Plan a change of an item; `note` is the reason that the item it supersedes is given. Raises InputError."""
        raise NotImplementedError

    def refusal(self, item: Item | None) -> InputError:
        """Return the error for a change of an item or its successor that the store does not take; None: a new item."""
        raise NotImplementedError

    def get(self, id_: str) -> Item | None:
        notes = self._notes()
        return next((_noted(item, notes) for item in self.stored(id_)), None)

    def copies(self, id_: str) -> list[Item]:
        notes = self._notes()
        return [_noted(item, notes) for item in self.stored() if id_ in (item.id, item.copy_of)]

    def changed_since(self, stamp: str) -> tuple[Iterator[Item], str]:
        """Return every item, or none if nothing changed since."""
        notes = self._notes()
        return whole((_noted(item, notes) for item in self.stored()), stamp)

    def swap(self, swaps: Sequence[Swap]) -> None:
        """Plan every change, then write the store, then the notes. The write lock keeps other writers of notes out."""
        reasons = {flag.superseded_by: flag.note for swap in swaps if swap.after and (flag := swap.after.flag)}
        notes, plans = self._notes(), list[Planned]()
        for swap in swaps:
            now = next(self.stored(swap.id), None)
            refuse_changed(swap, now and _noted(now, notes))
            plan = self.planned(Swap(now, swap.after), reasons.get(swap.id, ""))
            plans.append(plan)
            notes.pop(swap.id, None)
            if swap.after and plan.shown and (note := _note(plan.shown, swap.after)):
                notes[swap.id] = note
            if not _is_held(swap.after, plan.shown):
                related = swap.after.relationships if swap.after else ()
                replaced = (self.get(one.target) for one in reversed(related) if one.kind == "supersedes")
                raise self.refusal(now or next(replaced, None))
        for plan in plans:
            if plan.write:
                plan.write()
        if notes != self._notes():
            with replacing(self._file, private=True) as file:
                file.write(msgspec.json.encode(notes))

    def close(self) -> None:
        return

    def _notes(self) -> dict[str, OutsideNote]:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=dict[str, OutsideNote])
        except (OSError, msgspec.DecodeError):  # none yet; a damaged file costs measured quality, which is made again
            return {}


def _noted(item: Item, notes: dict[str, OutsideNote]) -> Item:
    note = notes.get(item.id)
    if note is None or note.about != _about(item):
        return item
    item = replace(item, flag=note.flag or item.flag, stale=note.stale, anchor=note.anchor or item.anchor)
    return item if note.effective is None else with_effective(item, note.effective)


def _note(shown: Item, wanted: Item) -> OutsideNote | None:
    note = OutsideNote(
        _about(shown),
        flag=wanted.flag if wanted.flag != shown.flag else None,
        stale=wanted.stale,
        anchor=wanted.anchor if wanted.anchor != shown.anchor else None,
        effective=effective_of(wanted) if effective_of(wanted) != effective_of(shown) else None,
    )
    return None if note == OutsideNote(note.about) else note


def _about(item: Item) -> str:
    flag = item.flag
    known = [item.content_sha, *((flag.kind, flag.date, flag.superseded_by) if flag else ())]
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:16]


def _is_held(wanted: Item | None, shown: Item | None) -> bool:
    """Report whether the store and a note hold all of the item; the order of relationships does not count."""
    if wanted is None or shown is None:
        return wanted is shown
    return _bare(wanted) == _bare(shown) and (wanted.flag is not None or shown.flag is None)


def _bare(item: Item) -> Item:
    related = tuple(sorted(item.relationships, key=lambda one: (one.kind, one.target)))
    return replace(with_effective(item, None), flag=None, stale=False, anchor=None, relationships=related)
