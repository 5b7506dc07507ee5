"""The one protocol of all backends of record: SQLite, MongoDB, Mem0, Neo4j.

A backend keeps items and gives them back; it decides nothing. Checks, corrective tools, supersede
chains and ranking live above it, once, so that every backend behaves the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from knowbound.core.item import Item


class Backend(Protocol):
    """Keeps items. Every method is durable when it returns, and raises StoreError with a slug when it cannot.

    What `put` returned from, any later call of any process sees. `tests/conformance.py` tells the rest.
    """

    name: str  # sqlite, mongo, mem0, neo4j

    def put(self, item: Item) -> None:
        """Add the item or replace the one with its id, with everything it carries. Idempotent."""

    def put_many(self, items: list[Item]) -> None:
        """Several at once: all of them or an error."""

    def get(self, id_: str) -> Item | None:
        """The item, flagged or not, or None."""

    def copies(self, id_: str) -> list[Item]:
        """The item, and what this backend holds as its direct copies or parts (`copy_of` is the id)."""

    def items(self) -> Iterator[Item]:
        """Every item, flagged or not, in no order."""

    def changed_since(self, stamp: str) -> tuple[Iterator[Item], str]:
        """Items written since a stamp of this backend ("" for all), and the stamp to ask with next time.

        Nothing is missed: an item may come twice, or although it was written before, but never not at all. The stamp
        is taken before the items are read, so it may be kept only after all of them were. A stamp this backend
        does not know (another database, a restored backup) is as good as "". What was removed does not show.
        """

    def remove(self, id_: str) -> None:
        """Take the item out for good (reap). Unknown ids are no error."""

    def close(self) -> None:
        """Let go of connections and files."""
