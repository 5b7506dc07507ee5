"""Knowledge stores for tests: real SQLite files, a clock that does not move, and backends that fail on demand."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from knowbound.core.item import Item
from knowbound.errors import StoreError
from knowbound.kms.backends.protocol import Backend, ContendedError, Swap
from knowbound.kms.backends.sqlite import SqliteBackend
from knowbound.kms.index.database import Index
from knowbound.kms.knowledge_store import KnowledgeStore
from knowbound.kms.validation import NewItem


def put_items(backend: Backend, *items: Item) -> None:
    """Write the items over what the backend holds under their ids, again where another writer came first."""
    newest = {item.id: item for item in items}
    while True:
        with suppress(ContendedError):
            backend.swap([Swap(backend.get(id_), item) for id_, item in newest.items()])
            return


def items_of(backend: Backend) -> list[Item]:
    return [one for one in backend.changed_since("")[0] if isinstance(one, Item)]


def remove_item(backend: Backend, id_: str) -> None:
    while item := backend.get(id_):
        with suppress(ContendedError):
            backend.swap([Swap(item, None)])


class Clock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 1, 10, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def pass_days(self, days: float) -> None:
        self.now += timedelta(days=days)


class OtherBackend(SqliteBackend):
    """A second backend, which can be made to fail."""

    name = "other"

    def __init__(self, home: Path) -> None:
        super().__init__(home / "other")
        self.is_down = False

    def swap(self, swaps: Sequence[Swap]) -> None:
        if self.is_down:
            raise StoreError("backend-unreachable", "other: down")
        super().swap(swaps)


class Store:
    """A knowledge base over two backends in a folder."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.clock = Clock()
        self.sqlite = SqliteBackend(home)
        self.other = OtherBackend(home)
        self.index = Index(home)
        self.base = KnowledgeStore([self.sqlite, self.other], self.index, by="ada", session="s1", clock=self.clock)

    def reopened(self) -> Store:
        self.close()
        return Store(self.home)

    def close(self) -> None:
        self.base.close()

    def add(self, content: str, **given: object) -> str:
        return self.base.add(NewItem(content=content, **given)).item.id  # type: ignore[arg-type]

    def served(self) -> set[str]:
        """Contents that can be injected, as the index has them."""
        return {row[0] for row in self.index._db.rows("SELECT content FROM item WHERE served = 1")}

    def state(self) -> tuple[object, ...]:
        """Everything that is stored anywhere, to see that nothing changed."""
        held = [sorted(map(repr, items_of(backend))) for backend in (self.sqlite, self.other)]
        rows = self.index._db.rows("SELECT id, backend, content, flag, served, stale FROM item ORDER BY id, backend")
        return (*held, [tuple(row) for row in rows], self.index.corrections())
