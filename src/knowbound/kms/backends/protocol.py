"""The one protocol of all backends.

A backend only stores items. Checks, corrective tools, supersede chains and ranking are above it, once, so that every
backend behaves the same. `tests/conformance.py` is the protocol as tests. CONTRIBUTING.md says how to add one.
"""

from __future__ import annotations

import hashlib
import json
import re
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec

from knowbound.core.item import Item
from knowbound.distribution import extra_command
from knowbound.errors import StoreError
from knowbound.text.redact import redact

_Value = TypeVar("_Value")


class Swap(NamedTuple):
    """The item that a backend holds under an id before and after a write, or None."""

    before: Item | None
    after: Item | None

    @property
    def id(self) -> str:
        """Return the id that changes."""
        item = self.after or self.before
        assert item is not None
        return item.id


class Removed(NamedTuple):
    """The trace of an item that was removed for good: every machine has to learn that the item is gone."""

    id: str
    content_sha: str
    time: str
    is_restored: bool = False  # the content was added again on purpose since


class ContendedError(StoreError):
    """Another machine changed an item between a read and a write here. The caller reads again and retries."""

    def __init__(self, id_: str) -> None:
        super().__init__(
            "item-contended", f"{id_} is being changed by others at the same time. Nothing was changed. Try again."
        )


class Backend(Protocol):
    """A store of items. Every method is durable when it returns, and raises StoreError with a slug on failure.

    After `swap` has returned, every call of any process sees its items.
    """

    name: str  # sqlite, mongo, mem0, neo4j, files
    is_shared: bool = False  # others, who do not know our index, write to it too
    is_whole: bool = False  # `changed_since` returns all items or, with the same stamp, none: what is left out is gone
    is_read_only: bool = False  # contents are never written; flags and measured quality are noted beside the store

    def get(self, id_: str) -> Item | None:
        """Return the item, flagged or not, or None."""

    def copies(self, id_: str) -> list[Item]:
        """Return the item, and its direct copies or parts in this backend (`copy_of` is the id)."""

    def changed_since(self, stamp: str) -> tuple[Iterator[Item | Removed], str]:
        """Return the items written since a stamp of this backend ("" for all), and the stamp for the next call.

        No write is missed; an item may come twice, or although it was written before. The stamp is taken before the
        items are read, so the caller keeps it only after reading all of them. An unknown stamp (another database, a
        restored backup) counts as "". A shared backend also returns what was removed.
        """

    def swap(self, swaps: Sequence[Swap]) -> None:
        """Make these changes if every item still is as it was read; else raise ContendedError and change nothing.

        A backend of one data folder need not compare: the write lock keeps other writers out.
        """

    def restore(self, keys: Sequence[str]) -> None:
        """Note that removed items with these ids or contents are wanted again; only a shared backend keeps notes."""
        return

    def wait_for_change(self, seconds: float) -> bool:
        """Wait this long at most, and report whether something may have been written; False where that is unknown."""
        time.sleep(seconds)
        return False

    def check(self) -> None:
        """Raise StoreError if the stored data are damaged. A database server checks its own."""
        return

    def close(self) -> None:
        """Close connections and files."""
        return


class Stamp(NamedTuple):
    """The state of a backend: the name of its store, and the number of its last write."""

    store: str  # a recreated store gets a new name
    number: int

    def __str__(self) -> str:
        return f"{self.store}:{self.number}"

    def since(self, earlier: str) -> int:
        """Return the number of the last write that the holder of an earlier stamp knows; 0 if it knows none.

        The stamp of another store is ignored, and so is a later one of this store: it was restored from a backup.
        """
        store, _, number = earlier.rpartition(":")
        seen = int(number) if store == self.store and number.isascii() and number.isdigit() else 0
        return seen if seen <= self.number else 0


def pages(values: Iterable[_Value], size: int) -> Iterator[list[_Value]]:
    """Yield the values in lists of at most this size."""
    left = iter(values)
    while page := list(islice(left, size)):
        yield page


# Seconds that a write waits for a store that was reached before: it may elect a new primary or restart.
RECOVERY_SECONDS = 30.0
# Seconds after which a store that was never reached counts as unreachable.
CONNECT_SECONDS = 5.0


def missing(extra: str) -> StoreError:
    """Return the error for a driver that is not installed."""
    return StoreError(
        "backend-missing",
        f"The {extra} backend needs a driver that is not installed. Try: {extra_command(extra)}",
    )


def unreachable(name: str, url: str, reason: str) -> StoreError:
    """Return the error for a store that does not answer, or refuses."""
    place = printable_url(url)
    safe = redact(reason.replace(url, place))[:300].rstrip(".")
    return StoreError("backend-unreachable", f"{name} at {place}: {safe}. Try: start it, or correct its address")


def printable_url(url: str) -> str:
    """Return a URL that may be printed: without user, password and options, which may hold keys too."""
    scheme = re.match(r"[\w+]*://", url)
    hosts = url[scheme.end() if scheme else 0 :].rpartition("@")[2]
    return (scheme[0] if scheme else "") + re.split("[?#]", hosts)[0]


def to_text(item: Item) -> str:
    """Encode the item as JSON in ASCII, without fields at their default."""
    try:
        return json.dumps(msgspec.to_builtins(item))
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError(
            "item-invalid", f"The item's metadata cannot be stored: {error}. Nothing was changed."
        ) from error


def to_record(item: Item) -> dict[str, Any]:
    """Return the item as plain values, its metadata as text: databases refuse or change some keys and numbers."""
    record: dict[str, Any] = json.loads(to_text(item))
    return record | ({"metadata": json.dumps(record["metadata"])} if "metadata" in record else {})


def to_item(record: dict[str, Any]) -> Item:
    """Return the item of a record that `to_record` or `to_text` made; raise ValueError for any other record."""
    if isinstance(metadata := record.get("metadata"), str):
        record = record | {"metadata": json.loads(metadata)}
    return msgspec.convert(record, Item)


def whole(items: Iterable[Item], stamp: str) -> tuple[Iterator[Item], str]:
    """Return all items and a digest of them as the stamp; no items if nothing changed since (`Backend.is_whole`)."""
    by_id = sorted({item.id: item for item in items}.values(), key=lambda item: item.id)
    digest = hashlib.sha256("\n".join(map(to_text, by_id)).encode()).hexdigest()
    return iter(() if digest == stamp else by_id), digest


def refused(name: str, reason: object, slug: str = "item-invalid") -> StoreError:
    """Return the error for a value that the store cannot hold."""
    return StoreError(slug, f"{name} cannot store this: {reason}. Nothing was changed.")


def refuse_changed(swap: Swap, now: Item | None) -> None:
    """Raise ContendedError unless the item is as the caller of the swap read it."""
    before = swap.before  # compared as text too: a NaN in the metadata does not equal itself
    if before != now and (before is None or now is None or to_text(before) != to_text(now)):
        raise ContendedError(swap.id)
