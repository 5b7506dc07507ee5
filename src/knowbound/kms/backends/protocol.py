"""The one protocol of all backends: SQLite, MongoDB, Mem0, Neo4j.

A backend keeps items and gives them back; it decides nothing. Checks, corrective tools, supersede chains and ranking
are above it, once, so that every backend behaves the same. `tests/conformance.py` is the protocol as tests. To add a
backend: a module here with a function `open_backend(settings)`, its name in kms/opening.py, its keys in config.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from knowbound.core.item import Item


class Backend(Protocol):
    """Keeps items. Every method is durable when it returns, and raises StoreError with a slug when it cannot.

    What `put` returned from, any later call of any process sees.
    """

    name: str  # sqlite, mongo, mem0, neo4j

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

    def changed_since(self, stamp: str) -> tuple[Iterator[Item], str]:
        """Items written since a stamp of this backend ("" for all), and the stamp to ask with next time.

        Nothing is missed; an item may come twice, or although it was written before. The stamp is taken before the
        items are read, so the caller keeps it only after all of them were read. A stamp this backend does not know
        (another database, a restored backup) counts as "". What was removed does not show.
        """

    def remove(self, id_: str) -> None:
        """Remove the item for good (reap). Unknown ids are no error."""

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
