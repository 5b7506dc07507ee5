"""Items of a store that somebody else keeps: its records through a field map, and the notes about them.

Nothing of ours is put into such a store, so nothing says what changed there: it is read whole, and the stamp is a
digest of the items. What the store has no field for, or what may not be written there, is noted beside it: a flag,
staleness, measured quality. The notes are one small file per store, `.knowbound/notes-NAME.json`. A note counts while
the item has the content and the flag that it had when the note was made: a correction in the store itself wins.

Fields of a record that the field map does not know stay as they are. By default the map is the layout of the system
that specification 2 comes from: `unified_knowledge` in MongoDB, `:Knowledge` in Neo4j, memories with `kms_id` in Mem0.
There a superseded record keeps its content and gets `flag`, `flag_note`, `flag_date`, `flag_by` and `superseded_by`;
its successor names it in `metadata.supersedes`. The key `kms.fields` names other fields, as `OURS=THEIRS` or
`STORE.OURS=THEIRS`; a field inside another is written with a dot.

A store is only read unless the user allows writing (`kms.write`).
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import deepcopy
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from knowbound.config import Settings
from knowbound.core.item import Anchor, Flag, FlagKind, Item, ItemSource, ItemType, Relationship
from knowbound.errors import ConfigError, InputError
from knowbound.files import replacing
from knowbound.kms.backends.protocol import Backend, Swap, refuse_changed, whole
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
        return next((_with_note(item, notes) for item in self.stored(id_)), None)

    def copies(self, id_: str) -> list[Item]:
        notes = self._notes()
        return [_with_note(item, notes) for item in self.stored() if id_ in (item.id, item.copy_of)]

    def changed_since(self, stamp: str) -> tuple[Iterator[Item], str]:
        """Return every item, or none if nothing changed since."""
        notes = self._notes()
        return whole((_with_note(item, notes) for item in self.stored()), stamp)

    def swap(self, swaps: Sequence[Swap]) -> None:
        """Plan every change, then write the store, then the notes. The write lock keeps other writers of notes out."""
        reason_by_successor = {
            flag.superseded_by: flag.note for swap in swaps if swap.after and (flag := swap.after.flag)
        }
        notes, plans = self._notes(), list[Planned]()
        for swap in swaps:
            now = next(self.stored(swap.id), None)
            refuse_changed(swap, now and _with_note(now, notes))
            plan = self.planned(Swap(before=now, after=swap.after), reason_by_successor.get(swap.id, ""))
            plans.append(plan)
            notes.pop(swap.id, None)
            if swap.after and plan.shown and (note := _note_of(plan.shown, swap.after)):
                notes[swap.id] = note
            if not _is_stored_whole(swap.after, plan.shown):
                related = swap.after.relationships if swap.after else ()
                replaced = (self.get(edge.target) for edge in reversed(related) if edge.kind == "supersedes")
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


def _with_note(item: Item, notes: dict[str, OutsideNote]) -> Item:
    """Return the item with the fields of its note, if there is one and the store has changed neither text nor flag."""
    note = notes.get(item.id)
    if note is None or note.about != _fingerprint(item):
        return item
    item = replace(item, flag=note.flag or item.flag, stale=note.stale, anchor=note.anchor or item.anchor)
    return item if note.effective is None else with_effective(item, note.effective)


def _note_of(shown: Item, wanted: Item) -> OutsideNote | None:
    """Return a note of what the store does not show as it is wanted; None if it shows all."""
    note = OutsideNote(
        about=_fingerprint(shown),
        flag=wanted.flag if wanted.flag != shown.flag else None,
        stale=wanted.stale,
        anchor=wanted.anchor if wanted.anchor != shown.anchor else None,
        effective=effective_of(wanted) if effective_of(wanted) != effective_of(shown) else None,
    )
    return None if note == OutsideNote(about=note.about) else note


def _fingerprint(item: Item) -> str:
    """Return a digest of the content and the flag in the store: after a change of either, the item's note is void."""
    flag = item.flag
    fields = [item.content_sha, *((flag.kind, flag.date, flag.superseded_by) if flag else ())]
    return hashlib.sha256(json.dumps(fields).encode()).hexdigest()[:16]


def _is_stored_whole(wanted: Item | None, shown: Item | None) -> bool:
    """Report whether the store and a note hold all of the item; the order of relationships does not count."""
    if wanted is None or shown is None:
        return wanted is shown
    is_flag_kept = wanted.flag is not None or shown.flag is None  # a note cannot take a flag of the store away
    return _without_noted_fields(wanted) == _without_noted_fields(shown) and is_flag_kept


def _without_noted_fields(item: Item) -> Item:
    related = tuple(sorted(item.relationships, key=lambda edge: (edge.kind, edge.target)))
    return replace(with_effective(item, None), flag=None, stale=False, anchor=None, relationships=related)


Record = dict[str, Any]
FLAG = ("flag", "flag_note", "flag_date", "flag_by", "superseded_by")
DEFAULT_FIELDS = {
    **{name: name for name in ("id", "content", "source", "timestamp", "confidence", "relationships", *FLAG)},
    "type": "contentType",
    "user": "userId",
    "subject": "metadata.subject",
}
MEM0_FIELDS = {
    **{name: f"metadata.{name}" for name in ("source", "subject", "confidence", "relationships", *FLAG)},
    "id": "id",
    "content": "memory",
    "type": "metadata.content_type",
    "user": "user_id",
    "timestamp": "metadata.timestamp",
    "copy_of": "metadata.kms_id",
}
_METADATA = "metadata"
_SUPERSEDES, _REASON = "supersedes", "supersede_reason"
_NOT_IN_A_KIND = re.compile("[^a-z0-9_]")
_TIMES = ("timestamp", "flag_date")


class Records(Protocol):
    """The records of a store, one for each item; `metadata` is an object."""

    place: str  # for messages

    def read(self, field: str = "", value: str = "") -> Iterator[Record]:
        """Yield the records with this value in a field, or all."""

    def write(self, before: Record | None, after: Record | None) -> None:
        """Add, change or remove a record. Raises ContendedError if a field that changes is not as it was before."""

    def close(self) -> None:
        """Close connections."""


class RecordBackend(OutsideBackend):
    """Items of another program's database."""

    def __init__(
        self, name: str, home: Path, records: Records, fields: Mapping[str, str], *, may_write: bool = False
    ) -> None:
        self.name = name
        super().__init__(home)
        self._records, self._fields = records, FieldMap(fields)
        self.is_read_only = not may_write

    def stored(self, id_: str = "") -> Iterator[Item]:
        for record in self._records_with_id(id_):
            if item := self._fields.item(record):
                yield item

    def planned(self, swap: Swap, note: str) -> Planned:
        """Plan the write of one record; a store that is only read shows what it has."""
        if self.is_read_only:
            return Planned(swap.before)
        before = next(self._records_with_id(swap.id), None)
        after = self._fields.changed(before or {}, swap.before, swap.after, note) if swap.after else None
        write = partial(self._records.write, before, after) if after != before else None
        return Planned(self._fields.item(after) if after else None, write)

    def refusal(self, item: Item | None) -> InputError:
        what = f"{item.id} is kept in" if item else "A new item belongs in"
        words = f"{what} {self._records.place}, which knowbound "
        if self.is_read_only:
            return InputError("store-read-only", f"{words}only reads. Try: correct it there, or allow it: kms.write")
        return InputError("store-read-only", f"{words}cannot change like this: it has no such field.")

    def close(self) -> None:
        self._records.close()

    def _records_with_id(self, id_: str) -> Iterator[Record]:
        return self._records.read(self._fields.paths["id"], id_) if id_ else self._records.read()


def record_backend(
    name: str, records: Records, settings: Settings, default: Mapping[str, str] = DEFAULT_FIELDS
) -> RecordBackend:
    """Open the backend of another program's records as the settings say."""
    fields = fields_of(name, settings.kms_fields, default)
    return RecordBackend(name, settings.home, records, fields, may_write=settings.kms_write)


def fields_of(store: str, given: Sequence[str], default: Mapping[str, str] = DEFAULT_FIELDS) -> dict[str, str]:
    """Return the field map of a store, with the entries that the user gave. Raises ConfigError."""
    fields = dict(default)
    for entry in given:
        ours, sign, path = entry.replace(" ", "").partition("=")
        only_store, dot, field = ours.partition(".") if "." in ours else ("", "", ours)  # mongo.subject: of one store
        if field not in {*DEFAULT_FIELDS, "copy_of"} or not sign or not path:
            field_names = ", ".join(sorted({*DEFAULT_FIELDS, "copy_of"}))
            raise ConfigError("config-wrong-type", f"kms.fields: {entry!r} is not OURS=THEIRS. Ours: {field_names}.")
        if not dot or only_store == store:
            fields[field] = path
    return fields


class FieldMap:
    """The place of each field of an item in a record."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        self.paths = paths
        # Keys of the metadata that are fields of the item, or say what the record supersedes.
        inner = {path.split(".")[1] for path in paths.values() if path.startswith(f"{_METADATA}.")}
        self._inner = inner | {_SUPERSEDES, _REASON}

    def item(self, record: Record) -> Item | None:
        """Return the item of a record; None if the record has no id or no text."""
        values = {name: _value_at(record, path) for name, path in self.paths.items()}
        if values["id"] in (None, "") or not isinstance(values["content"], str) or not values["content"].strip():
            return None
        metadata = _dict_or_empty(record.get(_METADATA))
        superseded = metadata.get(_SUPERSEDES)
        related = [*map(relationship, values["relationships"] or ())]
        related += [Relationship(_SUPERSEDES, superseded)] if isinstance(superseded, str) and superseded else []
        return Item(
            id=str(values["id"]),
            content=values["content"],
            type=_member_or_default(ItemType, values["type"], ItemType.FACT),
            source=_member_or_default(ItemSource, values["source"], ItemSource.TECHNICAL),
            subject=_text(values["subject"]),
            user=_text(values["user"]),
            timestamp=_time(values["timestamp"]),
            confidence=_confidence(values["confidence"]),
            relationships=tuple(filter(None, related)),
            flag=_flag(values),
            copy_of=_text(values.get("copy_of")),
            metadata={name: value for name, value in metadata.items() if name not in self._inner},
        )

    def changed(self, record: Record, old: Item | None, item: Item, reason: str) -> Record:
        """Return the record with the changed fields of the item; all of them if it is new."""
        new = deepcopy(record)
        if old is None or old.metadata != item.metadata:
            kept = {name: value for name, value in _dict_or_empty(record.get(_METADATA)).items() if name in self._inner}
            new[_METADATA] = kept | item.metadata
        for name in ("id", "content", "type", "source", "subject", "user", "timestamp", "confidence", "copy_of"):
            value = getattr(item, name)
            if name in self.paths and (value if old is None else value != getattr(old, name)):  # new: no empty ones
                _put_value(new, self.paths[name], _stored_time(value) if name in _TIMES else value)
        if old is None or old.relationships != item.relationships:
            self._put_relationships(new, item.relationships, reason)
        flag = item.flag
        while flag and flag.kind is FlagKind.HELD_BACK:  # ours: that store has no such flag
            flag = flag.covers
        if flag != (old.flag if old else None):
            values = (flag.kind, flag.note, flag.date, flag.by, flag.superseded_by) if flag else ()
            for name, value in zip(FLAG, values or (None,) * len(FLAG), strict=True):
                text = _stored_time(value) if name in _TIMES and value else value and str(value)
                _put_value(new, self.paths[name], text or None)
        return new

    def _put_relationships(self, record: Record, related: Sequence[Relationship], reason: str) -> None:
        """Write relationships as that system does: a supersession into the metadata, the others as edges."""
        stored = {relationship(edge): edge for edge in _value_at(record, self.paths["relationships"]) or ()}
        if related and related[-1].kind == _SUPERSEDES:
            record.setdefault(_METADATA, {})[_SUPERSEDES] = related[-1].target
            if reason:
                record[_METADATA][_REASON] = reason
            related = related[:-1]
        edges = [stored.get(edge, {"targetId": edge.target, "type": edge.kind, "strength": 1.0}) for edge in related]
        _put_value(record, self.paths["relationships"], edges)


def _flag(values: Mapping[str, Any]) -> Flag | None:
    """Return the flag of a record; readers of that store hide an entry with any flag."""
    kind, note, date, by, successor = (values[name] for name in FLAG)
    if not kind:
        return None
    flag = _member_or_default(FlagKind, kind, FlagKind.RETRACTED)
    return Flag(flag, _text(note), _time(date), _text(by), _text(successor) if flag is FlagKind.SUPERSEDED else "")


def relationship(value: object) -> Relationship | None:
    """Return a relationship in the words of that system (`targetId`, `type`) or ours; None for any other value."""
    if not isinstance(value, dict):
        return None
    target, kind = value.get("targetId", value.get("target")), value.get("type", value.get("kind"))
    return Relationship(_NOT_IN_A_KIND.sub("_", str(kind).lower())[:50], str(target)) if target and kind else None


def _value_at(record: Record, path: str) -> Any:
    """Return the value at a path such as `metadata.title` of a record; None if there is none."""
    value: Any = record
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _put_value(record: Record, path: str, value: Any) -> None:
    """Set the value at a path of a record, with the objects on the way to it."""
    *above, last = path.split(".")
    for name in above:
        record = record.setdefault(name, {})
    record[last] = value


def _dict_or_empty(value: object) -> Record:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _confidence(value: object) -> float:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return min(1.0, max(0.0, float(value))) if is_number else 1.0  # type: ignore[arg-type]


def _member_or_default(kind: Any, value: object, default: Any) -> Any:
    return kind(value) if value in set(kind) else default


def _time(value: object) -> str:
    """Return a time as ISO in UTC; a text that is none stays."""
    try:
        time = value if isinstance(value, datetime) else datetime.fromisoformat(_text(value))
    except ValueError:
        return _text(value)
    time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    return time.isoformat(timespec="milliseconds" if time.microsecond else "seconds").replace("+00:00", "Z")


def _stored_time(value: str) -> object:
    """Return the text as a time for the store; a text that is none stays."""
    try:
        return datetime.fromisoformat(value)
    except ValueError:
        return value
