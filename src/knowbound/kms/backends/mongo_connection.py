"""The connection to MongoDB, for items, the quality log, and the records of another program.

A write is journaled by a majority before it is acknowledged, a read sees only what a majority has, both are tried again
while a new primary is elected, and the driver's errors become StoreError.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from knowbound.errors import InputError
from knowbound.kms.backends import remote
from knowbound.kms.backends.protocol import ContendedError
from knowbound.kms.backends.records import Records

try:
    import pymongo
    from bson import ObjectId
    from bson.errors import BSONError
    from pymongo.database import Database
    from pymongo.errors import DocumentTooLarge, DuplicateKeyError, PyMongoError
    from pymongo.read_concern import ReadConcern
    from pymongo.read_preferences import ReadPreference
    from pymongo.write_concern import WriteConcern
except ImportError as error:
    raise remote.missing("mongo") from error

Document = dict[str, Any]
DURABLE = WriteConcern("majority", j=True)
DUPLICATE = 11000  # the id is there already
_DATABASE = "knowbound"  # default where the URL names none
_TOO_LARGE = 10334  # more than 16 MB
_LONGEST_DOCUMENT = 16 * 1024 * 1024
_DOCUMENTS_PER_SECOND = 500  # a slower server counts as hanging
_ADDED = re.compile(", full error:|, Timeout:|, Topology Description:")  # additions of the driver to its messages


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
                serverSelectionTimeoutMS=int(remote.RECOVERY_SECONDS * 1000),
                connectTimeoutMS=int(remote.CONNECT_SECONDS * 1000),
                socketTimeoutMS=int(remote.RECOVERY_SECONDS * 1000),
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
            raise remote.unreachable("MongoDB", url, str(error)) from error
        try:
            with self.explained(), pymongo.timeout(remote.CONNECT_SECONDS):
                hello = self.client.admin.command("hello")
        except BaseException:
            self.client.close()
            raise
        self.has_transactions = "setName" in hello or hello.get("msg") == "isdbgrid"
        self.longest_document = int(hello.get("maxBsonObjectSize", _LONGEST_DOCUMENT))

    def close(self) -> None:
        """Close all connections."""
        self.client.close()

    @contextmanager
    def explained(self) -> Iterator[None]:
        """Turn the driver's errors into StoreError."""
        try:
            yield
        except (BSONError, UnicodeEncodeError, OverflowError) as error:
            raise remote.refused("MongoDB", error, self._refusal) from error
        except PyMongoError as error:
            reason = _ADDED.split(str(error))[0]
            if isinstance(error, DocumentTooLarge) or getattr(error, "code", None) == _TOO_LARGE:
                raise remote.refused("MongoDB", reason, self._refusal) from error
            raise remote.unreachable("MongoDB", self.url, reason) from error

    @contextmanager
    def recovering(self, documents: int = 1) -> Iterator[None]:
        """Retry for as long as an election may take, longer for many documents; errors become StoreError."""
        with self.explained(), pymongo.timeout(remote.RECOVERY_SECONDS + documents / _DOCUMENTS_PER_SECOND):
            yield


class MongoRecords(Records):
    """The documents of a collection that another program keeps. No index and no field of ours is added."""

    def __init__(self, url: str, collection: str) -> None:
        self._server = MongoConnection(url)
        self._documents = self._server.database[collection]
        self.place = f"{collection} of MongoDB at {remote.printable_url(url)}"

    def read(self, field: str = "", value: str = "") -> Iterator[Document]:
        same = [value, ObjectId(value)] if ObjectId.is_valid(value) else [value]
        with self._server.explained():
            yield from self._documents.find({field: {"$in": same}} if field else {})

    def write(self, before: Document | None, after: Document | None) -> None:
        with self._server.recovering():
            if before is None and after is not None:
                self._add(after)
            elif after is None and before is not None:
                self._documents.delete_one({"_id": before["_id"]})
            elif before is not None and after is not None:
                names = [name for name, value in after.items() if value != before.get(name)]
                gone = {name: "" for name in names if after[name] is None}
                put = {name: after[name] for name in names if name not in gone}
                change = ({"$set": put} if put else {}) | ({"$unset": gone} if gone else {})
                as_read = {"_id": before["_id"]} | {name: before.get(name) for name in names}
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
