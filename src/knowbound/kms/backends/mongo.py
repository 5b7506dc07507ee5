"""The MongoDB backend: collection `kms_items`, one document per item (specification 2, "Items").

    _id, content, type, source, subject, user, timestamp, confidence, relationships, flag, anchor, stale, copy_of
              the item, fields at their default left out
    metadata  as JSON text: BSON refuses some keys and numbers
    written   the number of the write, by which `changed_since` finds it
    writing   in place of it, while the write has no number yet

Nothing is lost between two calls of `changed_since`, whoever writes meanwhile and however clocks differ. A write
stores its documents marked `writing`, then takes the next number from the counter in `kms_clock`, then puts the number
in the mark's place. A reader first reads the counter, then the documents that are being written, then those with newer
numbers. A number up to the counter that it read was taken after its documents were stored: they are in the second
reading, or, when their number came in meanwhile, in the third. What a writer that died left marked comes with every
reading until it is written again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

from knowbound.config import Settings
from knowbound.core.item import Item
from knowbound.kms.backends import remote
from knowbound.kms.backends.protocol import Backend, Stamp

try:
    import pymongo
    from bson.errors import BSONError
    from pymongo.client_session import ClientSession
    from pymongo.collection import Collection
    from pymongo.errors import DocumentTooLarge, PyMongoError
    from pymongo.read_concern import ReadConcern
    from pymongo.read_preferences import ReadPreference
    from pymongo.write_concern import WriteConcern
except ImportError as error:
    raise remote.missing("mongo") from error

ITEMS, CLOCK = "kms_items", "kms_clock"
_DATABASE = "knowbound"  # where the URL names none
_MARKS = ("written", "writing")
_DURABLE = WriteConcern("majority", j=True)
_ITEMS_PER_SECOND = 500  # a server that is slower than this hangs
_TOO_LARGE = 10334  # more than 16 MB
_ADDED = re.compile(", full error:|, Timeout:|, Topology Description:")  # what the driver adds to its messages
_Document = dict[str, Any]


def open_backend(settings: Settings) -> MongoBackend:
    """The backend that the settings name."""
    return MongoBackend(settings.kms_mongo_url)


class MongoBackend(Backend):
    """Items in MongoDB. Threads may share it."""

    name = "mongo"

    def __init__(self, url: str) -> None:
        self._url = url
        self.skipped: dict[str, str] = {}  # documents that are no items: why, by id
        try:
            # What is read has to be on a majority as well: a number that a failover takes back would be given twice.
            self._client: pymongo.MongoClient[_Document] = pymongo.MongoClient(
                url,
                appname="knowbound",
                serverSelectionTimeoutMS=int(remote.RECOVERY_SECONDS * 1000),
                connectTimeoutMS=int(remote.CONNECT_SECONDS * 1000),
                socketTimeoutMS=int(remote.RECOVERY_SECONDS * 1000),
                retryWrites=True,
                retryReads=True,
            )
            database = self._client.get_default_database(
                _DATABASE,
                read_preference=ReadPreference.PRIMARY,
                read_concern=ReadConcern("majority"),
                write_concern=_DURABLE,
            )
        except (PyMongoError, ValueError) as error:
            raise remote.unreachable("MongoDB", url, str(error)) from error
        self._items: Collection[_Document] = database[ITEMS]
        self._clock: Collection[_Document] = database[CLOCK]
        try:
            with self._explained(), pymongo.timeout(remote.CONNECT_SECONDS):
                hello = self._client.admin.command("hello")
                self._has_transactions = "setName" in hello or hello.get("msg") == "isdbgrid"
            with self._explained():
                self._items.create_index("copy_of", sparse=True)
                self._items.create_index("written", sparse=True)
                self._items.create_index("writing", sparse=True)
                self._clock.update_one({"_id": ITEMS}, {"$setOnInsert": {"store": uuid4().hex, "last": 0}}, upsert=True)
        except BaseException:
            self._client.close()
            raise

    def put_many(self, items: list[Item]) -> None:
        """In a replica set all or none of them. A server without transactions writes them in order up to the error.

        Either way what the error left out is made good by the same call again: putting is idempotent.
        """
        if not items:
            return
        mark = uuid4().hex
        writes = [
            pymongo.ReplaceOne({"_id": {"$eq": item.id}}, _document(item) | {"writing": mark}, upsert=True)
            for item in items
        ]
        with self._explained(), pymongo.timeout(remote.RECOVERY_SECONDS + len(items) / _ITEMS_PER_SECOND):
            if len(items) > 1 and self._has_transactions:
                with self._client.start_session() as session:
                    session.with_transaction(
                        lambda session: self._items.bulk_write(writes, session=session), write_concern=_DURABLE
                    )
            else:
                self._items.bulk_write(writes)
            self._number(mark, {item.id for item in items})

    def get(self, id_: str) -> Item | None:
        """The item, flagged or not, or None."""
        return next(self._found({"_id": {"$eq": id_}}), None)

    def copies(self, id_: str) -> list[Item]:
        """The item and its direct copies."""
        return list(self._found({"$or": [{"_id": {"$eq": id_}}, {"copy_of": {"$eq": id_}}]}))

    def items(self) -> Iterator[Item]:
        """Every item; what is written meanwhile may come too."""
        return self._found({})

    def changed_since(self, stamp: str) -> tuple[Iterator[Item], str]:
        """By the number of the last write."""
        with self._explained(), self._client.start_session(causal_consistency=True) as session:
            clock = self._clock.find_one({"_id": ITEMS}, session=session) or {"store": "", "last": 0}
        now = Stamp(clock["store"], clock["last"])
        seen = now.since(stamp)
        return (self._changed(seen, session) if seen else self._found({}, session)), str(now)

    def remove(self, id_: str) -> None:
        """Remove the item for good."""
        with self._explained():
            self._items.delete_one({"_id": {"$eq": id_}})

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _number(self, mark: str, ids: set[str]) -> None:
        """Give a write its number, one document at a time: only such writes are tried again after a failover."""
        clock = self._clock.find_one_and_update(
            {"_id": ITEMS},
            {"$inc": {"last": 1}, "$setOnInsert": {"store": uuid4().hex}},
            upsert=True,
            return_document=pymongo.ReturnDocument.AFTER,
        )
        numbered = {"$set": {"written": clock["last"] if clock else 0}, "$unset": {"writing": ""}}
        self._items.bulk_write([pymongo.UpdateOne({"_id": id_, "writing": mark}, numbered) for id_ in ids])

    def _changed(self, seen: int, after: ClientSession) -> Iterator[Item]:
        """In this order: see the module's explanation."""
        yield from self._found({"writing": {"$exists": True}}, after)
        yield from self._found({"written": {"$gt": seen}}, after)

    def _found(self, query: _Document, after: ClientSession | None = None) -> Iterator[Item]:
        """What is found in a state of the database that is no older than what the other session read."""
        with self._explained(), self._client.start_session(causal_consistency=True) as session:
            if after is not None and after.cluster_time and after.operation_time:
                session.advance_cluster_time(after.cluster_time)
                session.advance_operation_time(after.operation_time)
            yield from filter(None, map(self._item, self._items.find(query, session=session)))

    def _item(self, document: _Document) -> Item | None:
        record = {key: value for key, value in document.items() if key not in _MARKS}
        record["id"] = record.pop("_id", None)
        with remote.skipping(self.skipped, str(record["id"])):
            return remote.to_item(record)
        return None

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """The driver's errors as ours."""
        try:
            yield
        except (BSONError, UnicodeEncodeError, OverflowError) as error:
            raise remote.refused("MongoDB", error) from error
        except PyMongoError as error:
            reason = _ADDED.split(str(error))[0]
            if isinstance(error, DocumentTooLarge) or getattr(error, "code", None) == _TOO_LARGE:
                raise remote.refused("MongoDB", reason) from error
            raise remote.unreachable("MongoDB", self._url, reason) from error


def _document(item: Item) -> _Document:
    record = remote.to_record(item)
    record["_id"] = record.pop("id")
    return record
