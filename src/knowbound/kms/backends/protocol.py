"""The one protocol of all backends: SQLite, MongoDB, Mem0, Neo4j, files of the project.

A backend only stores items. Checks, corrective tools, supersede chains and ranking are above it, once, so that every
backend behaves the same. `tests/conformance.py` is the protocol as tests. To add a backend: a module here with a
function `open_backend(settings)`, its name in kms/opening.py, its keys in config.py.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, Protocol, TypeVar

from knowbound.core.item import Item
from knowbound.errors import StoreError

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


class Stamp(NamedTuple):
    """The state of a backend: the name of its store, and the number of its last write."""

    store: str  # a recreated store gets a new name
    number: int

    def __str__(self) -> str:
        return f"{self.store}:{self.number}"

    def since(self, earlier: str) -> int:
        """Return the number after which everything is new to the holder of the earlier stamp; 0 for everything.

        A stamp of another store, or of a later state of this store (restored from a backup), counts as none.
        """
        store, _, number = earlier.rpartition(":")
        seen = int(number) if store == self.store and number.isascii() and number.isdigit() else 0
        return seen if seen <= self.number else 0


def pages(values: Iterable[_Value], size: int) -> Iterator[list[_Value]]:
    """Yield the values in lists of at most this size."""
    left = iter(values)
    while page := list(islice(left, size)):
        yield page
