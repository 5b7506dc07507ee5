"""The quality log in MongoDB, beside `kms_items` (specification 2, section 3).

    kms_quality_log        one document per turn
        _id                session_id/turn_id
        session_id, …      the fields of QualityTurn, those at their default left out
        date               the day that it counts for
        expires            when a TTL index removes it: KEPT_DAYS after its day
        origin             the name of the data folder that wrote it first: `forget` selects by it
    kms_quality_rollup     one document per day, `_id` its date, kept for ever
    kms_quality_discovery  one document per warranted correction, with `origin`, kept for ever
    kms_quality_answer     one document per answered suggestion, kept for ever
    kms_quality_note       one document per name: `document` is JSON as text, with any keys
    kms_quality_item       one document per item: `days`, the verdicts of each day, and their sums, made when asked for

A map of a rollup is an array of {key, value}: its keys are ids of items and names of files, which may hold dots, `$`
and NUL. BSON refuses some of these as field names; in an array they are values, and queries can use `by_item.key`.

One command reads and writes a turn, so a scored turn is never replaced by an unscored one, even by concurrent writers.
Every write is of single documents: the driver retries only such writes when the primary dies, and they change nothing
twice.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, get_origin

import msgspec

from knowbound.core.quality import KEPT_DAYS, Counts, DayRollup, Discovery, Durations, QualityTurn, SuggestionAnswer
from knowbound.errors import StoreError
from knowbound.kms.backends.mongo import DUPLICATE, Document, MongoConnection
from knowbound.kms.backends.protocol import missing, pages, printable_url
from knowbound.kms.quality_log import (
    ANSWER,
    COUNTS,
    DISCOVERY,
    ITEM,
    LOG,
    NOTE,
    ROLLUP,
    ErasedDocuments,
    KeptDocument,
    Logged,
    LoggedDay,
    QualityLog,
    note_text,
)

try:
    import bson
    import pymongo
    from bson.int64 import Int64
    from pymongo.collection import Collection as MongoCollection
    from pymongo.errors import BulkWriteError, DuplicateKeyError
except ImportError as error:
    raise missing("mongo") from error

_PAGE_IDS = 200
_OWN_FIELDS = ("_id", "date", "expires", "origin")  # fields of a document that are none of its value
_MAP_FIELDS = {
    field.name
    for struct in (DayRollup, Durations)
    for field in msgspec.structs.fields(struct)
    if get_origin(field.type) is dict
}
_IS_SCORED = {
    "$and": [
        {"$ne": [{"$type": "$session_id"}, "missing"]},  # missing: the document is new
        {"$eq": [{"$type": "$problem"}, "missing"]},
    ]
}
# Fields of turns that warranted corrections are made of, with the condition of their partial indexes.
_CORRECTIVE: dict[str, Any] = {
    "injected_items.verdict.contradicted": True,
    "other_items.verdict.contradicted": True,
    "tool_calls.corrected": {"$gt": ""},
}
_WRITTEN_AT = ("made_at", "turns", "newest")  # fields of a day; with other values it was written anew
_LISTED_DAYS_NOTE = "listed days"  # the note of the days that `kms_quality_item` has: date → when it was made
_Write = pymongo.ReplaceOne[Document] | pymongo.UpdateOne | pymongo.DeleteOne


class MongoQualityLog(QualityLog):
    """Turns, days and records in the database of a team. Threads may share it.

    `origin` is the name of the data folder that writes.
    """

    def __init__(self, url: str, origin: str = "") -> None:
        self._origin = origin
        self._server = MongoConnection(url, refusal="quality-invalid")
        database = self._server.database
        self._log, self._rollup, self._discovery = database[LOG], database[ROLLUP], database[DISCOVERY]
        self._answer = database[ANSWER]
        self._notes = database[NOTE]
        self._items = database[ITEM]
        with self._server.preparing():
            self._items.create_index("days.date")
            self._log.create_indexes(
                [
                    pymongo.IndexModel("expires", expireAfterSeconds=0),
                    pymongo.IndexModel(["date", "timestamp", "_id", "scored_at"]),
                    pymongo.IndexModel("session_id"),
                    *(
                        pymongo.IndexModel(["date", name], partialFilterExpression={name: value})
                        for name, value in _CORRECTIVE.items()
                    ),
                    pymongo.IndexModel(
                        ["date", "scored_at", "_id"],
                        name="unscored",
                        partialFilterExpression={"problem": {"$exists": True}},
                    ),
                ]
            )

    @property
    def place(self) -> str:
        """Return the address in a form that may be printed."""
        return f"MongoDB at {printable_url(self._server.url)}"

    def put(self, turn: QualityTurn) -> bool:
        """Write the turn in one command: a newer turn is never overwritten."""
        document = _document(turn) | {"_id": turn.id, "date": turn.date, "expires": _expires(turn.date)}
        written = self._with_origin(document)
        if not turn.is_scored:
            written = {"$cond": [_IS_SCORED, "$$ROOT", written]}  # a scored turn stays
        with self._server.recovering():
            self._server.refuse_too_large(document)
            while True:
                with suppress(DuplicateKeyError):  # another writer made the document meanwhile
                    after = self._log.find_one_and_update(  # one command: no writer comes between
                        {"_id": {"$eq": turn.id}},
                        [{"$replaceWith": written}],
                        {"problem": 1},
                        upsert=True,
                        return_document=pymongo.ReturnDocument.AFTER,
                    )
                    return turn.is_scored or "problem" in (after or ())  # only unscored turns have a problem

    def get(self, id_: str) -> QualityTurn | None:
        with self._server.recovering():
            found = self._log.find_one({"_id": {"$eq": id_}})
        return _value(found, QualityTurn) if found else None

    def known(self, ids: Collection[str]) -> set[str]:
        return {document["_id"] for document in self._server.found(self._log, ids, {"_id": 1})}

    def unscored(self, most: int = 1000) -> list[QualityTurn]:
        with self._server.recovering(most):
            found = self._log.find({"problem": {"$exists": True}}).sort(["date", "scored_at", "_id"]).limit(most)
            return [_value(document, QualityTurn) for document in found]

    def days(self) -> list[LoggedDay]:
        """Return the days that have turns, oldest first, from an index alone."""
        steps: list[Document] = [
            {"$sort": {"date": 1}},
            {"$group": {"_id": "$date", "turns": {"$sum": 1}, "newest": {"$max": "$scored_at"}}},
            {"$sort": {"_id": 1}},
        ]
        with self._server.recovering():
            return [LoggedDay(day["_id"], day["turns"], day["newest"] or "") for day in self._log.aggregate(steps)]

    def of_day(self, date: str) -> Iterator[QualityTurn]:
        """Yield the turns of a day, in the order of their time. No cursor is open while the caller works."""
        with self._server.recovering():
            found = self._log.find({"date": {"$eq": date}}, {"_id": 1}).sort(["timestamp", "_id"])
            ids = [document["_id"] for document in found]
        yield from self._turns(ids)

    def corrective(self, date: str) -> Iterator[QualityTurn]:
        """Yield the turns since a day that contradict an item or correct a call, oldest first."""
        order: dict[str, tuple[str, str]] = {}  # date and time by id
        for name, value in _CORRECTIVE.items():
            with self._server.recovering():
                for found in self._log.find({"date": {"$gte": date}, name: value}, {"date": 1, "timestamp": 1}):
                    order[found["_id"]] = (found["date"], found.get("timestamp", ""))
        yield from self._turns(sorted(order, key=lambda id_: (*order[id_], id_)))

    def verdicts_on(self, ids: Collection[str]) -> dict[str, Counts]:
        self._sum_unlisted_days()
        items = self._server.found(self._items, ids, {"days": 0})
        return {item["_id"]: Counts(*(int(item.get(name, 0)) for name in COUNTS)) for item in items}

    def _sum_unlisted_days(self) -> None:
        """Sum the verdicts of items again for the days written since the last sum; each write may be repeated."""
        listed = msgspec.json.decode(self.note(_LISTED_DAYS_NOTE) or b"{}", type=dict[str, str])
        with self._server.recovering():
            found = self._rollup.find({}, dict.fromkeys(_WRITTEN_AT, 1))
            days = {day["_id"]: " ".join(str(day.get(name, "")) for name in _WRITTEN_AT) for day in found}
        changed = sorted(date for date, written_at in days.items() if listed.get(date) != written_at)
        for date in changed:
            with self._server.recovering():
                day = self._rollup.find_one({"_id": date})
                items_before = {item["_id"] for item in self._items.find({"days.date": date}, {"_id": 1})}
            counts = _value(day, DayRollup).by_item if day else {}
            for page in pages(sorted(items_before | set(counts)), _PAGE_IDS):
                self._write(
                    self._items,
                    [
                        pymongo.UpdateOne({"_id": {"$eq": id_}}, _with_day(date, counts.get(id_)), upsert=True)
                        for id_ in page
                    ],
                )
        if changed:
            self.put_note(_LISTED_DAYS_NOTE, msgspec.json.encode(days))

    def prune(self, before: str) -> int:
        """Remove the turns of the days before this day, and return their number. The TTL index removes them, too."""
        old, gone = {"date": {"$lt": before}}, 0
        while True:
            with self._server.recovering(_PAGE_IDS):
                ids = [found["_id"] for found in self._log.find(old, {"_id": 1}).limit(_PAGE_IDS)]
            if not ids:
                return gone
            gone += self._write(self._log, [pymongo.DeleteOne({"_id": {"$eq": id_}} | old) for id_ in ids])

    def put_rollups(self, days: Iterable[DayRollup]) -> None:
        documents = [_document(day) | {"_id": day.date} for day in days]
        self._write(
            self._rollup,
            [pymongo.ReplaceOne({"_id": {"$eq": document["_id"]}}, document, upsert=True) for document in documents],
            documents,
        )

    def rollups(self, since: str = "") -> list[DayRollup]:
        with self._server.recovering():
            return [_value(found, DayRollup) for found in self._rollup.find({"_id": {"$gte": since}}).sort("_id")]

    def put_discoveries(self, records: Iterable[Discovery]) -> None:
        """Replace each record as a whole; it keeps the origin of its turn, wherever the contradiction was found."""
        records = list(records)
        turns = {f"{record.session_id}/{record.turn_id}" for record in records}
        found = self._server.found(self._log, turns, {"origin": 1})
        origins = {turn["_id"]: turn.get("origin", "") for turn in found}
        writes: list[_Write] = []
        documents = []
        for record in records:
            document = _document(record) | {"_id": record.id}
            origin = origins.get(f"{record.session_id}/{record.turn_id}", self._origin)
            replaced = [{"$replaceWith": self._with_origin(document, origin)}]
            writes.append(pymongo.UpdateOne({"_id": {"$eq": record.id}}, replaced, upsert=True))
            documents.append(document)
        self._write(self._discovery, writes, documents)

    def drop_discoveries(self, ids: Collection[str]) -> None:
        self._write(self._discovery, [pymongo.DeleteOne({"_id": {"$eq": id_}}) for id_ in ids])

    def put_answer(self, answer: SuggestionAnswer) -> bool:
        """Replace exactly the revision before, or insert the first: `_id` is unique."""
        document = _document(answer) | {"_id": answer.id, "revision": answer.revision}
        before = {"_id": {"$eq": answer.id}, "revision": {"$eq": answer.revision - 1}}
        with self._server.recovering():
            self._server.refuse_too_large(document)
            with suppress(DuplicateKeyError):
                if answer.revision == 1:
                    self._answer.insert_one(document)
                    return True
                if self._answer.find_one_and_replace(before, document):
                    return True
            found = self._answer.find_one({"_id": {"$eq": answer.id}})
        return found is not None and _value(found, SuggestionAnswer) == answer

    def put_note(self, name: str, document: bytes) -> None:
        """Keep the note as text: BSON refuses some field names and large numbers."""
        kept: Document = {"_id": name, "document": note_text(document)}
        self._write(self._notes, [pymongo.ReplaceOne({"_id": {"$eq": name}}, kept, upsert=True)], [kept])

    def note(self, name: str) -> bytes | None:
        with self._server.recovering():
            found = self._notes.find_one({"_id": {"$eq": name}})
        if found is None:
            return None
        if not isinstance(found.get("document"), str):
            raise StoreError(
                "store-corrupt",
                f"The note {name!r} in MongoDB has no text. Try: update knowbound",
            )
        return str(found["document"]).encode()

    def erase(self, is_gone: Callable[[KeptDocument], bool], *, preview: bool) -> ErasedDocuments:
        """Remove selected turns and the words of selected records; with `preview`, only return them."""
        turns = list(self._turns(self._selected_ids(self._log, is_gone)))
        ids = frozenset(self._selected_ids(self._discovery, is_gone))
        records = [record for record in self.discoveries() if record.id in ids]
        if not preview:
            for page in pages(turns, _PAGE_IDS):
                self._write(self._log, [pymongo.DeleteOne({"_id": {"$eq": turn.id}}) for turn in page])
            self._blank([record.id for record in records])
        return ErasedDocuments(turns, records)

    def documents(self, is_gone: Callable[[KeptDocument], bool]) -> Iterator[tuple[str, bytes, bool]]:
        """Yield every stored document: its collection, its bytes, and whether it was selected to be erased."""
        for collection in (self._log, self._discovery, self._rollup, self._answer, self._notes):
            with self._server.recovering():
                ids = [found["_id"] for found in collection.find({}, {"_id": 1})]
            for document in self._server.found(collection, ids):
                yield collection.name, bson.encode(document), is_gone(self._as_kept(document))

    def close(self) -> None:
        self._server.close()

    def _values(self, name: str, kind: type[Logged]) -> Iterable[Logged]:
        with self._server.recovering():
            return [_value(document, kind) for document in self._server.database[name].find()]

    def _selected_ids(
        self, collection: MongoCollection[Document], is_gone: Callable[[KeptDocument], bool]
    ) -> list[str]:
        """Return the ids of the documents that are selected to be erased."""
        with self._server.recovering():
            found = list(collection.find({}, {"session_id": 1, "timestamp": 1, "raised": 1, "origin": 1}))
        return [document["_id"] for document in found if is_gone(self._as_kept(document))]

    def _as_kept(self, document: Document) -> KeptDocument:
        """Return the fields by which a turn or a record is selected to be erased."""
        time = document.get("timestamp") or document.get("raised") or ""
        is_own = bool(self._origin) and document.get("origin") == self._origin
        return KeptDocument(str(document.get("session_id", "")), str(time), is_own)

    def _turns(self, ids: Sequence[str]) -> Iterator[QualityTurn]:
        """Yield the turns in this order, without those that were removed meanwhile."""
        for page in pages(ids, _PAGE_IDS):
            found = {document["_id"]: document for document in self._server.found(self._log, page)}
            yield from (_value(found[id_], QualityTurn) for id_ in page if id_ in found)

    def _blank(self, ids: Sequence[str]) -> None:
        """Remove the words of sessions from these records and from the answers to them."""
        words = {"$unset": {"note": "", "content": ""}}
        self._write(self._answer, [pymongo.UpdateOne({"_id": {"$eq": id_}}, words) for id_ in ids])
        blank = {"$set": {"session_id": "", "turn_id": "", "statement": ""}}  # last: they are found by session
        self._write(self._discovery, [pymongo.UpdateOne({"_id": {"$eq": id_}}, blank) for id_ in ids])

    def _write(
        self, collection: MongoCollection[Document], writes: Sequence[_Write], documents: Sequence[Document] = ()
    ) -> int:
        """Make each write on its own, and return the number of deleted documents."""
        if not writes:
            return 0
        with self._server.recovering(len(writes)):
            for document in documents:
                self._server.refuse_too_large(document)
            try:
                return int(collection.bulk_write(writes, ordered=False).deleted_count)
            except BulkWriteError as error:
                if {failure.get("code") for failure in error.details.get("writeErrors", ())} != {DUPLICATE}:
                    raise
                return int(collection.bulk_write(writes, ordered=False).deleted_count)  # after a concurrent insert

    def _with_origin(self, document: Document, origin: str | None = None) -> Document:
        """Return an expression for the document that keeps the origin of an existing document."""
        new_origin = {"$literal": self._origin if origin is None else origin}
        return {"$mergeObjects": [{"$literal": document}, {"origin": {"$ifNull": ["$origin", new_origin]}}]}


def _expires(date: str) -> datetime:
    """Return the time KEPT_DAYS after the end of the day; after today for an invalid date."""
    kept = timedelta(days=KEPT_DAYS + 1)
    try:
        return datetime.strptime(date, "%Y-%m-%d").replace(tzinfo=UTC) + kept
    except (ValueError, OverflowError):
        return datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) + kept


def _with_day(date: str, counts: Counts | None) -> list[Document]:
    """Return the update that gives an item the verdicts of a day in place of earlier ones, and sums them."""
    others = {"$filter": {"input": {"$ifNull": ["$days", []]}, "cond": {"$ne": ["$$this.date", {"$literal": date}]}}}
    day = [{"date": date} | {name: getattr(counts, name) for name in COUNTS}] if counts else []
    return [
        {"$set": {"days": {"$concatArrays": [others, {"$literal": day}]}}},
        {"$set": {name: {"$sum": f"$days.{name}"} for name in COUNTS} | {"last": {"$max": "$days.date"}}},
    ]


def _document(value: QualityTurn | DayRollup | Discovery | SuggestionAnswer) -> Document:
    document: Document = _with_arrays(msgspec.to_builtins(value))
    return document


def _with_arrays(value: Any, *, is_map: bool = False) -> Any:
    """Turn the maps of a rollup into arrays of {key, value}, at every depth."""
    if isinstance(value, dict):
        if is_map:
            return [{"key": key, "value": _with_arrays(inner)} for key, inner in value.items()]
        return {name: _with_arrays(inner, is_map=name in _MAP_FIELDS) for name, inner in value.items()}
    return [_with_arrays(inner) for inner in value] if isinstance(value, list | tuple) else value


def _with_maps(value: Any, *, is_map: bool = False) -> Any:
    """Turn arrays back into maps, and numbers of BSON into plain numbers."""
    if isinstance(value, list):
        if is_map:
            return {entry["key"]: _with_maps(entry["value"]) for entry in value}
        return [_with_maps(inner) for inner in value]
    if isinstance(value, dict):
        return {name: _with_maps(inner, is_map=name in _MAP_FIELDS) for name, inner in value.items()}
    return int(value) if isinstance(value, Int64) else value


def _value(document: Document, kind: type[Logged]) -> Logged:
    """Return the value of a document that `_document` made. Raises StoreError."""
    fields = {name: value for name, value in document.items() if name not in _OWN_FIELDS}
    if kind is DayRollup:
        fields["date"] = document["_id"]  # of a day, the id
    try:
        return msgspec.convert(_with_maps(fields), kind)
    except (msgspec.ValidationError, KeyError, TypeError) as error:
        raise StoreError(
            "store-corrupt",
            f"The document {document['_id']!r} in MongoDB cannot be read: {error}. Try: update knowbound",
        ) from error
