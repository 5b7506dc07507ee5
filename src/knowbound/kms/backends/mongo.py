"""The MongoDB backend: collection `kms_items`, one document per item (specification 2, "Items").

    _id, content, type, source, subject, user, timestamp, confidence, relationships, flag, anchor, stale, copy_of
              the item, fields at their default left out
    metadata  as JSON text: BSON refuses some keys and numbers
    written   the number of the write, by which `changed_since` finds it
    writing   the mark of a write that has no number yet
    reaped    in place of a removed item: content_sha, time, and whether it was restored since

No write is lost between two calls of `changed_since`, with any number of writers and clocks that differ. A write stores
its documents marked `writing`, then takes the next number from the counter in `kms_clock`, then replaces the mark by
the number. A reader reads the counter, then the documents that are being written, then those with newer numbers. A
number up to the counter was taken after its documents were stored: they are in the second reading, or, if their number
came in meanwhile, in the third. Documents that a dead writer left marked come with every reading until they are written
again.

Writers on several machines do not overwrite each other: `swap` changes a document only while it is as its caller read
it. There are no transactions, which a single server lacks: a write of several documents first claims by its mark those
that it changes, so that a conflict is found before anything is changed. A claim that is older than _PATIENCE_SECONDS is
of a dead writer, and is taken over; what that writer began is completed by its intent (kms/changes.py).
"""

from __future__ import annotations

import hashlib
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from uuid import uuid4

from knowbound.config import Settings
from knowbound.core.item import Item
from knowbound.errors import InputError
from knowbound.kms.backends import protocol
from knowbound.kms.backends.outside import Records, record_backend
from knowbound.kms.backends.protocol import Backend, ContendedError, Removed, Stamp, Swap
from knowbound.text.clock import utc_now

try:
    import bson
    import pymongo
    from bson import ObjectId
    from bson.errors import BSONError
    from pymongo.change_stream import CollectionChangeStream
    from pymongo.client_session import ClientSession
    from pymongo.collection import Collection
    from pymongo.database import Database
    from pymongo.errors import BulkWriteError, DocumentTooLarge, DuplicateKeyError, OperationFailure, PyMongoError
    from pymongo.read_concern import ReadConcern
    from pymongo.read_preferences import ReadPreference
    from pymongo.write_concern import WriteConcern
except ImportError as error:
    raise protocol.missing("mongo") from error

ITEMS, CLOCK = "kms_items", "kms_clock"
_MARKS = ("written", "writing")
_PATIENCE_SECONDS = 2.0  # a write between its mark and its number takes milliseconds
_POLL_SECONDS = 0.01
_PAGE_IDS = 200  # documents that are asked for by id at once
Document = dict[str, Any]
_Write = pymongo.InsertOne[Document] | pymongo.ReplaceOne[Document]
DURABLE = WriteConcern("majority", j=True)
DUPLICATE = 11000  # the id is there already
_DATABASE = "knowbound"  # default where the URL names none
_TOO_LARGE_CODE = 10334  # more than 16 MB
_MOST_DOCUMENT_BYTES = 16 * 1024 * 1024
_DOCUMENTS_PER_SECOND = 500  # a slower server counts as hanging
_ADDED_BY_DRIVER = re.compile(", full error:|, Timeout:|, Topology Description:")  # to messages


class MongoConnection:
    """An open connection to the database that a URL names. Threads may share it.

    `refusal` is the slug of the error for a value that the server cannot hold.
    """

    def __init__(self, url: str, *, refusal: str = "item-invalid") -> None:
        self.url, self._refusal = url, refusal
        try:
            # Reads need a majority, too: a number that a failover takes back would be given twice.
            self.client: pymongo.MongoClient[Document] = pymongo.MongoClient(
                url,
                appname="knowbound",
                serverSelectionTimeoutMS=int(protocol.RECOVERY_SECONDS * 1000),
                connectTimeoutMS=int(protocol.CONNECT_SECONDS * 1000),
                socketTimeoutMS=int(protocol.RECOVERY_SECONDS * 1000),
                retryWrites=True,
                retryReads=True,
            )
            self.database: Database[Document] = self.client.get_default_database(
                _DATABASE,
                read_preference=ReadPreference.PRIMARY,
                read_concern=ReadConcern("majority"),
                write_concern=DURABLE,
            )
        except (PyMongoError, ValueError) as error:
            raise protocol.unreachable("MongoDB", url, str(error)) from error
        with self.preparing(), pymongo.timeout(protocol.CONNECT_SECONDS):
            hello = self.client.admin.command("hello")
        self.has_streams = "setName" in hello or hello.get("msg") == "isdbgrid"  # only replica sets and clusters
        self.most_document_bytes = int(hello.get("maxBsonObjectSize", _MOST_DOCUMENT_BYTES))

    def close(self) -> None:
        """Close all connections."""
        self.client.close()

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn the driver's errors into StoreError."""
        try:
            yield
        except (BSONError, UnicodeEncodeError, OverflowError) as error:
            raise protocol.refused("MongoDB", error, self._refusal) from error
        except PyMongoError as error:
            reason = _ADDED_BY_DRIVER.split(str(error))[0]
            if isinstance(error, DocumentTooLarge) or getattr(error, "code", None) == _TOO_LARGE_CODE:
                raise protocol.refused("MongoDB", reason, self._refusal) from error
            raise protocol.unreachable("MongoDB", self.url, reason) from error

    @contextmanager
    def preparing(self) -> Iterator[None]:
        """Close the connection if preparing the database fails."""
        try:
            with self.explained():
                yield
        except BaseException:
            self.close()
            raise

    def refuse_too_large(self, document: Document) -> None:
        """Raise StoreError for a document that the server cannot hold."""
        with self.explained():
            size, most = len(bson.encode(document)), self.most_document_bytes - 1024  # room for the command
        if size > most:
            reason = f"{str(document['_id'])[:100]!r} has {size:,} bytes, and a document at most {most:,}"
            raise protocol.refused("MongoDB", reason, self._refusal)

    def found(
        self, collection: Collection[Document], ids: Iterable[str], fields: Document | None = None
    ) -> Iterator[Document]:
        """Yield the documents with these ids. No cursor is open while the caller works."""
        for page in protocol.pages(ids, _PAGE_IDS):
            with self.recovering(len(page)):
                found = list(collection.find({"_id": {"$in": page}}, fields))
            yield from found

    @contextmanager
    def recovering(self, documents: int = 1) -> Iterator[None]:
        """Retry for as long as an election may take, longer for many documents; errors become StoreError."""
        with self.explained(), pymongo.timeout(protocol.RECOVERY_SECONDS + documents / _DOCUMENTS_PER_SECOND):
            yield


class MongoRecords(Records):
    """The documents of a collection that another program keeps. No index and no field of ours is added."""

    def __init__(self, url: str, collection: str) -> None:
        self._server = MongoConnection(url)
        self._documents = self._server.database[collection]
        self.place = f"{collection} of MongoDB at {protocol.printable_url(url)}"

    def read(self, field: str = "", value: str = "") -> Iterator[Document]:
        spellings = [value, ObjectId(value)] if ObjectId.is_valid(value) else [value]
        with self._server.explained():
            yield from self._documents.find({field: {"$in": spellings}} if field else {})

    def write(self, before: Document | None, after: Document | None) -> None:
        """Add, remove or change a document; a change is made only while its fields are as they were read."""
        with self._server.recovering():
            if before is None and after is not None:
                self._add(after)
            elif after is None and before is not None:
                self._documents.delete_one({"_id": before["_id"]})
            elif before is not None and after is not None:
                changed = [name for name, value in after.items() if value != before.get(name)]
                unset = {name: "" for name in changed if after[name] is None}
                put = {name: after[name] for name in changed if name not in unset}
                change = ({"$set": put} if put else {}) | ({"$unset": unset} if unset else {})
                as_read = {"_id": before["_id"]} | {name: before.get(name) for name in changed}
                if not self._documents.update_one(as_read, change).matched_count:
                    raise ContendedError(str(before["_id"]))

    def close(self) -> None:
        self._server.close()

    def _add(self, document: Document) -> None:
        """Insert a document; `contentHash`, where the collection is unique by it, is made as its program makes it."""
        if "contentHash_1" in self._documents.index_information():
            start = str(document.get("content", "")).strip().lower()[:300]
            document = document | {"contentHash": hashlib.sha256(start.encode()).hexdigest()}
        try:
            self._documents.insert_one(document)
        except DuplicateKeyError as error:
            words = f"{self.place} has an entry with the same id, or with the same beginning. Nothing was added."
            raise InputError("item-duplicate", words) from error


def open_backend(settings: Settings) -> Backend:
    """Open the backend that the settings name: our own collection, or that of another program."""
    if not settings.kms_mongo_collection:
        return MongoBackend(settings.kms_mongo_url)
    records = MongoRecords(settings.kms_mongo_url, settings.kms_mongo_collection)
    return record_backend("mongo", records, settings)


class MongoBackend(Backend):
    """Items in MongoDB. Threads may share it."""

    name = "mongo"
    is_shared = True

    def __init__(self, url: str) -> None:
        self._stream: CollectionChangeStream[Document] | None = None
        self._server = MongoConnection(url)
        self._client = self._server.client
        self._items: Collection[Document] = self._server.database[ITEMS]
        self._clock: Collection[Document] = self._server.database[CLOCK]
        self._has_streams = self._server.has_streams
        with self._server.preparing():
            self._items.create_index("copy_of", sparse=True)
            self._items.create_index("written", sparse=True)
            self._items.create_index("writing", sparse=True)
            self._items.create_index("reaped.content_sha", sparse=True)
            self._clock.update_one({"_id": ITEMS}, {"$setOnInsert": {"store": uuid4().hex, "last": 0}}, upsert=True)

    def swap(self, swaps: Sequence[Swap]) -> None:
        """Make all changes, if every document still holds what the caller read; else none."""
        if not swaps:
            return
        mark, ids = uuid4().hex, [swap.id for swap in swaps]
        with self._server.recovering(len(swaps)):
            for item in (swap.after for swap in swaps if swap.after):
                self._server.refuse_too_large(_document(item))  # else the write would end half way
            found = {document["_id"]: document for document in self._items.find({"_id": {"$in": ids}})}
            queries: dict[str, Document] = {}  # by id: each finds its document only as the caller read it
            try:
                for swap in sorted(swaps, key=lambda swap: swap.id):
                    if document := found.get(swap.id):
                        queries[swap.id] = self._query_as_read(swap, document)
                    else:
                        protocol.refuse_changed(swap, None)
                if len(swaps) > 1:  # the write of one document is one step
                    queries = self._claimed(queries, mark)
                done = self._items.bulk_write([_write(swap, queries.get(swap.id), mark) for swap in swaps])
                if done.matched_count + done.inserted_count < len(swaps):
                    raise ContendedError(ids[0])
            except BaseException as error:
                with suppress(PyMongoError):  # release what was claimed
                    self._give_number(mark, ids)
                failures = error.details.get("writeErrors", ()) if isinstance(error, BulkWriteError) else ()
                if any(failure.get("code") == DUPLICATE for failure in failures):  # another machine was first
                    raise ContendedError(ids[0]) from error
                raise
            self._give_number(mark, ids)

    def get(self, id_: str) -> Item | None:
        return next(self._found({"_id": {"$eq": id_}}), None)

    def copies(self, id_: str) -> list[Item]:
        return list(self._found({"$or": [{"_id": {"$eq": id_}}, {"copy_of": {"$eq": id_}}]}))

    def changed_since(self, stamp: str) -> tuple[Iterator[Item | Removed], str]:
        """Read the number of the last write, then what is marked or has a later number than the stamp."""
        with self._server.explained(), self._client.start_session(causal_consistency=True) as session:
            clock = self._clock.find_one({"_id": ITEMS}, session=session) or {"store": "", "last": 0}
        now = Stamp(clock["store"], clock["last"])
        seen = now.since(stamp)
        if not seen:  # a new reader, or one of another database
            return self._read({}, session), str(now)
        # Marked documents first: one that gets its number meanwhile is found by the second query.
        queries: tuple[Document, ...] = ({"writing": {"$exists": True}}, {"written": {"$gt": seen}})
        return (found for query in queries for found in self._read(query, session)), str(now)

    def restore(self, keys: Sequence[str]) -> None:
        """Restore as a write of its own, so that every machine learns of it."""
        with_key = {"$or": [{"_id": {"$in": list(keys)}}, {"reaped.content_sha": {"$in": list(keys)}}]}
        removed = {"reaped": {"$exists": True}, "reaped.restored": {"$ne": True}}
        mark = uuid4().hex
        with self._server.explained():
            ids = [document["_id"] for document in self._items.find(with_key | removed, {"_id": 1})]
            for id_ in ids:
                self._items.update_one(
                    {"_id": id_} | removed,
                    {"$set": {"reaped.restored": True, "writing": mark}, "$unset": {"written": ""}},
                )
            if ids:
                self._give_number(mark, ids)

    def wait_for_change(self, seconds: float) -> bool:
        """Wait on a change stream, if the server has them.

        The stream is opened again after each change, before the caller reads: one reading covers a burst of writes.
        """
        if not self._has_streams:
            return super().wait_for_change(seconds)
        with self._server.explained():
            try:
                if self._stream is not None and self._stream.try_next() is None:
                    return False
                self._close_stream()
                await_ms = max(1, int(seconds * 1000))
                self._stream = self._items.watch([{"$project": {"_id": 1}}], max_await_time_ms=await_ms)
            except OperationFailure:  # this user may not watch, or the server has dropped an open stream
                self._has_streams = self._stream is not None
                self._close_stream()
            except PyMongoError:
                self._close_stream()
                raise
        return True

    def close(self) -> None:
        self._close_stream()
        self._server.close()

    def _query_as_read(self, swap: Swap, document: Document) -> Document:
        """Return a query for the document in exactly this state, after other writes have ended or timed out."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while True:
            protocol.refuse_changed(swap, _item(document))
            writing = document.get("writing")
            if writing is None or time.monotonic() > deadline:
                return {"_id": {"$eq": swap.id}, "writing": writing, "written": document.get("written")}
            time.sleep(_POLL_SECONDS)
            document = self._items.find_one({"_id": {"$eq": swap.id}}) or {}
            if document.get("writing") != writing:  # the next writer may take as long
                deadline = time.monotonic() + _PATIENCE_SECONDS

    def _claimed(self, as_read: Mapping[str, Document], mark: str) -> dict[str, Document]:
        """Mark the documents that are still as they were read; return queries for them. Raises ContendedError."""
        claim = {"$set": {"writing": mark}, "$unset": {"written": ""}}
        claims = [pymongo.UpdateOne(query, claim) for query in as_read.values()]
        if claims and self._items.bulk_write(claims).matched_count < len(claims):
            raise ContendedError(next(iter(as_read)))
        return {id_: {"_id": {"$eq": id_}, "writing": mark} for id_ in as_read}

    def _close_stream(self) -> None:
        if self._stream is not None:
            with suppress(PyMongoError):
                self._stream.close()
            self._stream = None

    def _give_number(self, mark: str, ids: Iterable[str]) -> None:
        """Give a write its number, one document at a time: only such writes are retried after a failover."""
        clock = self._clock.find_one_and_update(
            {"_id": ITEMS},
            {"$inc": {"last": 1}, "$setOnInsert": {"store": uuid4().hex}},
            upsert=True,
            return_document=pymongo.ReturnDocument.AFTER,
        )
        numbered = {"$set": {"written": clock["last"] if clock else 0}, "$unset": {"writing": ""}}
        self._items.bulk_write([pymongo.UpdateOne({"_id": id_, "writing": mark}, numbered) for id_ in ids])

    def _found(self, query: Document) -> Iterator[Item]:
        return (found for found in self._read(query) if isinstance(found, Item))

    def _read(self, query: Document, after: ClientSession | None = None) -> Iterator[Item | Removed]:
        """Yield what is found in a state of the database that is no older than what the other session read."""
        with self._server.explained(), self._client.start_session(causal_consistency=True) as session:
            if after is not None and after.cluster_time and after.operation_time:
                session.advance_cluster_time(after.cluster_time)
                session.advance_operation_time(after.operation_time)
            for document in self._items.find(query, session=session):
                if found := _removed(document) or _item(document):
                    yield found


def _item(document: Document) -> Item | None:
    """Return the item of a document; None for documents of other programs."""
    if not document or _removed(document):
        return None
    record = {key: value for key, value in document.items() if key not in _MARKS}
    record["id"] = record.pop("_id", None)
    with suppress(ValueError):
        return protocol.to_item(record)
    return None


def _document(item: Item) -> Document:
    record = protocol.to_record(item)
    record["_id"] = record.pop("id")
    return record


def _write(swap: Swap, as_read: Document | None, mark: str) -> _Write:
    """Return the marked write of one change: of a new document, or in place of the document in this state."""
    if swap.after is not None:
        document = _document(swap.after) | {"writing": mark}
    else:
        assert swap.before is not None
        now = utc_now()
        document = {
            "_id": swap.id,
            "reaped": {"content_sha": swap.before.content_sha, "time": now},
            "writing": mark,
        }
    return pymongo.InsertOne(document) if as_read is None else pymongo.ReplaceOne(as_read, document)


def _removed(document: Document) -> Removed | None:
    """Return the trace of a removed item; documents of other programs may have a field of that name."""
    trace = document.get("reaped")
    if not isinstance(trace, dict) or "content" in document or not isinstance(document.get("_id"), str):
        return None
    sha, time_ = str(trace.get("content_sha", "")), str(trace.get("time", ""))
    return Removed(document["_id"], content_sha=sha, time=time_, is_restored=bool(trace.get("restored")))
