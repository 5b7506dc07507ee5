"""The one protocol of all backends: SQLite, MongoDB, Mem0, Neo4j.

A backend keeps items and gives them back; it decides nothing. Checks, corrective tools, supersede chains and ranking
are above it, once, so that every backend behaves the same. `tests/conformance.py` is the protocol as tests. To add a
backend: a module here with a function `open_backend(settings)`, its name in kms/opening.py, its keys in config.py.
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
    """What a backend holds under an id before and after a write; None is nothing."""

    before: Item | None
    after: Item | None

    @property
    def id(self) -> str:
        """The id that changes."""
        item = self.after or self.before
        assert item is not None
        return item.id


class Removed(NamedTuple):
    """What is left of an item that was removed for good: every machine has to learn that it is gone."""

    id: str
    content_sha: str
    time: str
    is_restored: bool = False  # its content was added again on purpose since


class ContendedError(StoreError):
    """Another machine changed an item between our reading and our writing. The caller reads again and retries."""

    def __init__(self, id_: str) -> None:
        super().__init__(
            "item-contended", f"{id_} is being changed by others at the same time. Nothing was changed. Try again."
        )


class Backend(Protocol):
    """Keeps items. Every method is durable when it returns, and raises StoreError with a slug when it cannot.

    What `put` returned from, any later call of any process sees.
    """

    name: str  # sqlite, mongo, mem0, neo4j
    is_shared: bool = False  # whether other machines, with an index of their own, write to it too

    def put(self, item: Item) -> None:
        """Add the item or replace the one with its id, with everything it carries. Idempotent."""
        self.put_many([item])

    def put_many(self, items: list[Item]) -> None:
        """Put several: all of them or an error."""

    def get(self, id_: str) -> Item | None:
        """The item, flagged or not, or None."""

    def copies(self, id_: str) -> list[Item]:
        """The item, and what this backend holds as its direct copies or parts (`copy_of` is the id)."""

    def items(self) -> Iterator[Item]:
        """Every item, flagged or not, in no order."""

    def changed_since(self, stamp: str) -> tuple[Iterator[Item | Removed], str]:
        """Items written since a stamp of this backend ("" for all), and the stamp to ask with next time.

        Nothing is missed; an item may come twice, or although it was written before. The stamp is taken before the
        items are read, so the caller keeps it only after all of them were read. A stamp this backend does not know
        (another database, a restored backup) counts as "". What was removed shows where the backend is shared.
        """

    def swap(self, swaps: Sequence[Swap]) -> None:
        """Make these changes where every item still is as it was read; ContendedError and no change where one is not.

        This is for a backend of one data folder: its write lock keeps others out while a caller reads and writes.
        """
        self.put_many([swap.after for swap in swaps if swap.after is not None])
        for swap in swaps:
            if swap.after is None:
                self.remove(swap.id)

    def remove(self, id_: str) -> None:
        """Remove the item for good (reap). Unknown ids are no error."""

    def restore(self, keys: Sequence[str]) -> None:
        """Note that what was removed with these ids or contents is wanted again; only a shared backend keeps notes."""
        return

    def wait_for_change(self, seconds: float) -> bool:
        """Wait this long at most; whether something may have been written. Where a backend cannot know, it is False."""
        time.sleep(seconds)
        return False

    def check(self) -> None:
        """Raise StoreError where what it holds is damaged. A database server checks its own."""
        return

    def close(self) -> None:
        """Close connections and files."""


class Stamp(NamedTuple):
    """How far a backend has been written: the name of its store, and the number of its last write."""

    store: str  # a store that is made anew gets another name
    number: int

    def __str__(self) -> str:
        return f"{self.store}:{self.number}"

    def since(self, earlier: str) -> int:
        """The number after which everything is new to the holder of the earlier stamp; 0 for everything.

        A stamp of another store, or of a later state of this one (restored from a backup), counts as none.
        """
        store, _, number = earlier.rpartition(":")
        seen = int(number) if store == self.store and number.isascii() and number.isdigit() else 0
        return seen if seen <= self.number else 0


def pages(values: Iterable[_Value], size: int) -> Iterator[list[_Value]]:
    """Yield the values in lists of at most this size."""
    left = iter(values)
    while page := list(islice(left, size)):
        yield page
