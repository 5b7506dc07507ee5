"""The knowledge store: every write to items goes through it, whatever the backends (specification 2, "Items").

Every call checks first, then writes the backends, then the index. It does all of it or changes nothing, also when it is
killed (changes.py). Repeating a call changes nothing more. A corrective call reaches every copy of the item
(corrections.py) and is logged.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from knowbound.core.item import Anchor, Flag, FlagKind, Item, Relationship, content_hashes, content_sha
from knowbound.errors import InputError
from knowbound.kms import validation
from knowbound.kms.backends.protocol import Backend, pages
from knowbound.kms.changes import ItemChange, StoreWriter, retried
from knowbound.kms.corrections import (
    Chains,
    ItemCopies,
    Reaped,
    copies_of,
    flag_all,
    flagged,
    flags_for_late_copies,
    is_same_call,
    reaping,
    stored_items,
    unflagged,
)
from knowbound.kms.index.database import Correction, Index, Synced
from knowbound.kms.index.entry import effective_of, with_effective
from knowbound.kms.refusals import (
    NearCopy,
    NearDuplicate,
    Refusals,
    WithdrawnItems,
    near_copies,
    near_duplicates,
    quoted,
)
from knowbound.kms.validation import ItemEdit, NewItem

_STEP_ITEMS = 500  # written at once
_ID_LETTERS = "abcdefghijkmnpqrstuvwxyz23456789"  # no letters that look alike: people and models cite ids


class Added(NamedTuple):
    """A new item, with stored items that say nearly the same."""

    item: Item
    near: list[NearDuplicate]


class AnchorState(NamedTuple):
    """The place that an item comes from, and whether that place has changed since."""

    anchor: Anchor | None
    stale: bool


class ItemDetails(msgspec.Struct, frozen=True):
    """An item with its copies, its chain and its corrections."""

    item: Item
    backends: list[str]
    served: bool
    copies: list[str]
    supersedes: list[str]
    in_force: str  # the end of the item's chain; its own id where it is not superseded
    corrections: list[Correction]


class KnowledgeStore(StoreWriter):
    """Items of all backends in use; new items go to the first. The log of corrections names author and place."""

    def __init__(
        self,
        backends: Sequence[Backend],
        index: Index,
        *,
        by: str = "",
        session: str = "",
        turn: str = "",
        call: str = "",
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        super().__init__(backends, index)
        self._by, self._session, self._clock = by, session, clock
        self._place_in_trace = {name: value for name, value in (("turn", turn), ("call", call)) if value}
        self._chains = Chains(self.backends, index)
        self._refuse = Refusals(self.backends, index, self._chains)
        if not index.is_current(backends) or any(index.unfinished()):
            self.sync()

    def close(self) -> None:
        """Close the backends and the index."""
        for backend in self.backends.values():
            backend.close()
        self.index.close()

    # Adding and reading

    @retried
    def add(self, new: NewItem, backend: str = "", *, again: bool = False) -> Added:
        """Store a new item. The same content is refused; near duplicates are shown.

        Withdrawn content is refused, in other words too, unless the caller insists that it is true `again`.
        """
        item = validation.checked(new, _new_id(), self._time())
        target = self._backend_named(backend)
        with self.index.reading() as index:
            near = near_duplicates(index, item.content)
        with self._locked():
            if holders := stored_items(self.backends, item.id):
                raise InputError("item-duplicate", f"The id {item.id} is taken: {quoted(holders[0].item.content)}")
            self._refuse.duplicates(item.content)
            if not again:
                self._refuse.withdrawn(item.content, verb="add")
            changes, log = self._reinstated(item)
            self._write([ItemChange(target, None, item), *changes], log, restored=content_hashes(item.content))
        return Added(item, near)

    def add_many(self, news: Sequence[NewItem], backend: str = "") -> list[Item | InputError]:
        """Store new items in a few large steps; return each as an item or as the error that refused it.

        Withdrawn content does not come back this way: nobody has confirmed that it is true again.
        """
        target = self._backend_named(backend)
        outcomes: list[Item | InputError] = []
        with self._locked():
            for step in pages(news, _STEP_ITEMS):
                outcomes += self._add_step(target, step)
        return outcomes

    @retried
    def _add_step(self, target: Backend, news: Sequence[NewItem]) -> list[Item | InputError]:
        items: dict[str, Item] = {}
        withdrawn = WithdrawnItems(self.index)
        outcomes = [self._item_or_reason(new, items, withdrawn) for new in news]  # it adds to `items`, too
        self._write([ItemChange(target, None, item) for item in items.values()])
        return outcomes

    def _item_or_reason(self, new: NewItem, items: dict[str, Item], withdrawn: WithdrawnItems) -> Item | InputError:
        """Check a new item against the stored items and against `items` (by content), and add it there."""
        try:
            item = validation.checked(new, _new_id(), self._time())
            sha = item.content_sha
            if sha in items:
                raise InputError("item-duplicate", f"Another new item has the same content: {quoted(item.content)}")
            is_taken = new.id and any(item.id == other.id for other in items.values())
            if is_taken or stored_items(self.backends, item.id):
                raise InputError("item-duplicate", f"The id {item.id} is taken. Try: another id, or none")
            self._refuse.duplicates(item.content)
            self._refuse.withdrawn(item.content, items=withdrawn)
        except InputError as error:
            return error
        items[sha] = item
        return item

    def get(self, id_: str) -> Item | None:
        """Return the item as its first backend holds it, flagged or not."""
        found = stored_items(self.backends, validation.checked_id(id_))
        return found[0].item if found else None

    def show(self, id_: str) -> ItemDetails:
        """Return the item with its copies, its chain and its corrections."""
        copies = self._copies_or_refuse(id_)
        found = stored_items(self.backends, id_)
        return ItemDetails(
            item=found[0].item,
            backends=[stored.backend.name for stored in found],
            served=any(indexed.served for indexed in self.index.known(id_)),
            copies=sorted(copies.ids - {id_}),
            supersedes=self._chains.predecessors(id_),
            in_force=self._chains.end(id_),
            corrections=self.index.corrections(id_),
        )

    # Corrective tools

    @retried
    def update(self, id_: str, edit: ItemEdit, *, note: str = "", again: bool = False) -> Item:
        """kms_update: change the content or the fields of an item. It supersedes copies with the old content.

        An item that is held back is injected again with new content.
        """
        with self._locked():
            copies = self._copies_or_refuse(id_)
            old = copies.original
            if not old.is_held_back:  # new content repairs it
                self._refuse.not_served(old)
            item = next(item for _, item in copies.all if item.id == id_)  # the named one, maybe a copy
            if item.content_sha != old.content_sha and edit.content is not None:
                raise InputError("flag-refused", f"{id_} is a part of {old.id}. Try: knowbound kms update {old.id}")
            new = self._edited(old, edit)
            new = unflagged(new) if old.is_held_back and new.content_sha != old.content_sha else new
            reinstated: list[ItemChange] = []
            log: list[Correction] = []
            if new.content_sha != old.content_sha:
                self._refuse.duplicates(new.content, copies.ids)
                if not again:
                    self._refuse.withdrawn(new.content, verb="update", but=copies.ids)
                reinstated, log = self._reinstated(new, but=copies.ids)
            changes = [ItemChange(backend, item, self._copy_updated(item, old, new)) for backend, item in copies.all]
            changes = [change for change in changes if change.after != change.before]
            # Repeating an update confirms the item, which sets its time, and corrects nothing.
            corrects = any(_without_time(change.before) != _without_time(change.after) for change in changes)
            detail = _given_fields(edit) | ({"note": validation.checked_note(note)} if note else {})
            log += [self._log(new.id, "kms_update", detail)] if corrects else []
            self._write([*changes, *reinstated], log, restored=content_hashes(new.content))
        return new

    def delete(self, id_: str, note: str = "") -> Item:
        """kms_delete: stop serving an item. `unflag` brings it back until it is reaped."""
        return self.flag(id_, FlagKind.DELETED, note)

    @retried
    def flag(self, id_: str, kind: str, note: str = "", *, automatic: bool = False) -> Item:
        """kms_flag: set RETRACTED, DELETED, or UNVERIFIED (still served, ranked lower and marked).

        An `automatic` flag, which no person set, closes no warranted correction.
        """
        flag = Flag(validation.checked_flag(kind), validation.checked_note(note), self._time(), self._by)
        if flag.kind is FlagKind.SUPERSEDED:
            raise InputError("flag-refused", f"Superseding needs a successor. Try: knowbound kms supersede {id_}")
        with self._locked():
            copies = self._copies_or_refuse(id_)
            item = copies.original
            if flag.kind is FlagKind.UNVERIFIED:
                self._refuse.not_served(item)
            is_deleted = flag.kind is FlagKind.DELETED
            if item.flag and item.flag.kind is flag.kind and (is_deleted or item.flag.note == flag.note):
                return item  # flagged like this already
            detail = {"flag": flag.kind, "note": flag.note} | ({"automatic": True} if automatic else {})
            log = self._log(item.id, _tool(flag), detail)
            self._write(flag_all(copies, flag), [log])
        return flagged(item, flag)

    @retried
    def unflag(self, id_: str, *, only_own: bool = False) -> Item:
        """Remove the newest flag, with `only_own` unless another party set it, from all that the same call flagged."""
        with self._locked():
            copies = self._copies_or_refuse(id_)
            item = copies.original
            flag = self._refuse.unflagging(item, self._by if only_own else None)
            flagged_together = [stored for stored in copies.all if is_same_call(stored.item.flag, flag)]
            changes = [ItemChange(backend, copy, unflagged(copy)) for backend, copy in flagged_together]
            log = self._log(item.id, _tool(flag), {"removed": flag.kind})
            self._write(changes, [log], restored=[*content_hashes(item.content), item.id, item.copy_of])
        return unflagged(item)

    @retried
    def supersede(
        self,
        id_: str,
        *,
        by_id: str = "",
        by: ItemEdit | None = None,
        note: str = "",
        also: Sequence[str] = (),
        again: bool = False,
    ) -> Item:
        """kms_supersede: replace an item by another item, or by new content that keeps the fields which are not given.

        `also` are items that say the same as the old one: the successor replaces them in the same step.
        """
        if bool(by_id) == (by is not None):
            raise InputError("item-invalid", "Superseding needs the new content or the id of the successor.")
        note = validation.checked_note(note)
        with self._locked():
            copies = self._copies_or_refuse(id_)
            followers = [self._copies_or_refuse(other) for other in also if other not in copies.ids]
            old = copies.original
            replaced = [copies]
            successor = None
            if old.flag and old.flag.kind in (FlagKind.SUPERSEDED, FlagKind.DELETED):
                if (successor := self._same_successor(old, by_id, by)) is None:
                    self._refuse.not_served(old)
                replaced = []  # the same call was made before: followers are left
            if successor is None:
                successor = (
                    self._successor_by_id(copies, by_id)
                    if by is None
                    else self._successor_by_content(copies, by, again=again)
                )
            for other in followers:
                self._refuse.circle(other, successor.id)
                if other.original.flag is None or self._chains.end(other.original.id) != successor.id:
                    self._refuse.not_served(other.original)
                    replaced.append(other)
            if not replaced:
                return successor  # the same call was made before
            stored = stored_items(self.backends, successor.id)
            changes, log = ([], []) if stored else self._reinstated(successor)
            changes += [] if stored else [ItemChange(copies.backend, None, successor)]
            # Written again unchanged: another machine may be replacing the successor now, even by this item.
            changes += [ItemChange(copy.backend, successor, successor) for copy in stored[:1] if copy.backend.is_shared]
            flag = Flag(FlagKind.SUPERSEDED, note, self._time(), self._by, superseded_by=successor.id)
            for old_copies in replaced:
                old_id = old_copies.original.id
                changes += [*self._chains.shortened(old_id, successor.id), *flag_all(old_copies, flag)]
                log.append(self._log(old_id, "kms_supersede", {"superseded_by": successor.id, "note": note}))
            self._write(changes, log, restored=content_hashes(successor.content))
        return successor

    def note_answer(self, item: str, tool: str, detail: Mapping[str, str]) -> None:
        """Log the answer to a suggestion, once. No item changes."""
        with self._locked():
            logged = [call.detail for call in self.index.corrections(item) if call.tool == tool]
            if not any(detail.items() <= msgspec.json.decode(text or "{}").items() for text in logged):  # logged before
                self._write([], [self._log(item, tool, dict(detail))])

    def near_copies(self, id_: str) -> list[NearCopy]:
        """Return served items that say nearly the same as a superseded item."""
        copies = self._copies_or_refuse(id_)
        after = self.get(self._chains.end(id_))
        left_out = copies.ids | ({after.id} if after else set())
        with self.index.reading() as index:
            return near_copies(index, copies.original.content, after.content if after else "", left_out)

    @retried
    def reap(self, older_than: timedelta, *, dry_run: bool = False) -> Reaped:
        """kms_reap: remove items for good that were deleted or superseded longer ago, and compact chains."""
        with self._locked():
            self._flag_late_copies()
            reaped, changes = reaping(self.backends, self.index, self._clock() - older_than)
            log = [self._log(id_, "kms_reap", {"removed": True}) for id_ in reaped.removed]
            log += [self._log(id_, "kms_reap", {"superseded_by": end}) for id_, end in reaped.compacted.items()]
            gone = [(change.id, change.before.content_sha) for change in changes if change.before and not change.after]
            self._write([] if dry_run else changes, [] if dry_run else log, gone)
        return reaped

    # Synchronisation

    @retried
    def sync(self, *, everything: bool = False) -> dict[str, Synced]:
        """Bring the index up to date with the backends, and flag late copies of flagged items."""
        with self._locked(is_refreshed=False):
            backends = list(self.backends.values())
            done = {backend.name: self.index.sync(backend, everything=everything) for backend in backends}
            self.index.complete_sync(backends)
            self._flag_late_copies()
        return done

    @retried
    def mark(self, states: Mapping[str, AnchorState]) -> None:
        """Write anchors and staleness that a check found. This is no correction."""
        with self._locked():
            changes = [
                ItemChange(backend, item, replace(item, anchor=state.anchor, stale=state.stale))
                for id_, state in states.items()
                for backend, item in stored_items(self.backends, id_)
                if (item.anchor, item.stale) != state
            ]
            self._write(sorted(changes, key=lambda change: change.backend.name))

    @retried
    def set_quality(self, effective: Mapping[tuple[str, str], float | None]) -> int:
        """Write effective confidences by backend and id (None removes one), and return how many changed.

        This is no correction: a write through `update` would close warranted corrections (specification 2, section 4).
        """
        with self._locked():
            changes = []
            for (name, id_), value in effective.items():
                backend = self.backends.get(name)
                item = backend.get(id_) if backend else None
                if backend and item and (changed := with_effective(item, value)) is not item:  # it differs
                    changes.append(ItemChange(backend, item, changed))
            for step in pages(changes, _STEP_ITEMS):
                self._write(sorted(step, key=lambda change: change.backend.name))
        return len(changes)

    # Details

    def _flag_late_copies(self) -> None:
        while changes := flags_for_late_copies(self.backends, self.index, self._time()):
            self._write(changes)

    def _copy_updated(self, item: Item, old: Item, new: Item) -> Item:
        """Return a copy as it is after its original changed from old to new."""
        if item.id == new.id:
            return replace(new, flag=new.flag if item.is_held_back else item.flag, copy_of=item.copy_of)
        if new.content_sha == old.content_sha:
            is_same = item.content_sha == old.content_sha
            return replace(new, id=item.id, flag=item.flag, copy_of=item.copy_of) if is_same else item
        if item.content_sha == new.content_sha:  # an earlier update made the copy outdated; now it is right again
            return replace(item, flag=None)
        if not item.is_served and not item.is_held_back:  # withdrawn by itself
            return item
        return flagged(item, Flag(FlagKind.SUPERSEDED, "", self._time(), self._by, superseded_by=new.id))

    def _edited(self, old: Item, edit: ItemEdit) -> Item:
        """Return the item with the edit, checked; measured quality stays with its wording alone."""
        fields = _given_fields(edit)
        kept: dict[str, Any] = {name: getattr(old, name) for name in NewItem.__struct_fields__}
        changed = fields | {"metadata": old.metadata | fields.get("metadata", {})}
        if "content" in fields:
            changed["timestamp"] = ""  # `checked` sets the time of now
        item = validation.checked(NewItem(**kept | changed), old.id, self._time())
        item = replace(item, flag=old.flag, stale=old.stale and "content" not in fields)
        return with_effective(item, effective_of(old)) if item.content_sha == old.content_sha else item

    def _same_successor(self, old: Item, by_id: str, by: ItemEdit | None) -> Item | None:
        """Return the item's successor if it is the requested one: the call was made before."""
        found = stored_items(self.backends, old.flag.superseded_by) if old.flag else []
        if not found or not old.flag or old.flag.kind is not FlagKind.SUPERSEDED:
            return None
        successor = found[0].item
        requested_sha = content_sha(by.content) if by is not None and by.content is not None else ""
        return successor if successor.id == by_id or successor.content_sha == requested_sha else None

    def _successor_by_id(self, copies: ItemCopies, id_: str) -> Item:
        """Return the stored item of this id, or refuse it: it must be served, and not lead back to the old item."""
        found = stored_items(self.backends, validation.checked_id(id_))
        if not found:
            raise self._refuse.unknown(id_)
        successor = found[0].item
        self._refuse.circle(copies, successor.id)
        self._refuse.not_served(successor)
        return successor

    def _successor_by_content(self, copies: ItemCopies, by: ItemEdit, *, again: bool) -> Item:
        """Return a new item with this content, or the served item that has it already."""
        old = copies.original
        if by.content is None:
            raise InputError("item-invalid", "Superseding needs the new content or the id of the successor.")
        successor = replace(
            self._edited(old, by),
            id=_new_id(),
            flag=None,
            stale=False,
            anchor=None,
            copy_of="",
            relationships=(*(by.relationships or old.relationships), Relationship("supersedes", old.id)),
        )
        twins = self.index.same_content(successor.content_sha)
        for twin in twins:  # one may become the successor
            if twin.item.id in copies.ids or twin.item.is_served:
                self._refuse.circle(copies, twin.item.id)
        served = [stored for twin in twins if twin.served for stored in stored_items(self.backends, twin.item.id)]
        if served:
            return served[0].item
        self._refuse.duplicates(successor.content)
        if not again:
            self._refuse.withdrawn(successor.content, verb="supersede", but=copies.ids)
        return successor

    def _reinstated(self, item: Item, but: Collection[str] = ()) -> tuple[list[ItemChange], list[Correction]]:
        """Supersede withdrawn items with the item's content: what was wrong then is true again."""
        twins = {twin.item.id for twin in self.index.same_content(item.content_sha) if not twin.item.is_served}
        flag = Flag(FlagKind.SUPERSEDED, "true again", self._time(), self._by, superseded_by=item.id)
        stored = [twin for id_ in sorted(twins - {*but, item.id}) for twin in stored_items(self.backends, id_)]
        changes = [ItemChange(backend, twin, flagged(twin, flag)) for backend, twin in stored]
        detail = {"superseded_by": item.id, "note": flag.note}
        return changes, [self._log(id_, "kms_supersede", detail) for id_ in sorted({twin.item.id for twin in stored})]

    def _copies_or_refuse(self, id_: str) -> ItemCopies:
        copies = copies_of(self.backends, self.index, validation.checked_id(id_))
        if copies is None:
            raise self._refuse.unknown(id_)
        return copies

    def _backend_named(self, name: str) -> Backend:
        name = name or min(self.backends, key=lambda known: self.backends[known].is_read_only)  # the first writable
        if name not in self.backends:
            raise InputError("unknown-backend", f"No backend {name!r} in use. In use: {', '.join(self.backends)}.")
        return self.backends[name]

    def _log(self, item: str, tool: str, detail: dict[str, Any]) -> Correction:
        full_detail = msgspec.json.encode(detail | self._place_in_trace).decode()
        return Correction(item, tool, self._time(), self._by, self._session, full_detail)

    def _time(self) -> str:
        return validation.utc(self._clock())


def _without_time(item: Item | None) -> Item | None:
    return item and replace(item, timestamp="")


def _tool(flag: Flag) -> str:
    return "kms_delete" if flag.kind is FlagKind.DELETED else "kms_flag"


def _given_fields(edit: ItemEdit) -> dict[str, Any]:
    return {name: value for name, value in msgspec.structs.asdict(edit).items() if value is not None}


def _new_id() -> str:
    return "k" + "".join(secrets.choice(_ID_LETTERS) for _ in range(11))
