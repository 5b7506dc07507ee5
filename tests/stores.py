"""Knowledge stores for tests: real SQLite files, a clock that does not move, and backends that fail on demand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from knowbound.core.item import Item
from knowbound.errors import StoreError
from knowbound.kms.backends.sqlite import SqliteBackend
from knowbound.kms.index.database import Index
from knowbound.kms.knowledge_store import KnowledgeStore
from knowbound.kms.validation import NewItem


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

    def put_many(self, items: list[Item]) -> None:
        if self.is_down:
            raise StoreError("backend-unreachable", "other: down")
        super().put_many(items)


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
        held = [sorted(map(repr, backend.items())) for backend in (self.sqlite, self.other)]
        rows = self.index._db.rows("SELECT id, backend, content, flag, served, stale FROM item ORDER BY id, backend")
        return (*held, [tuple(row) for row in rows], self.index.corrections())
