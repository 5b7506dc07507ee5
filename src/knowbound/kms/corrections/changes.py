"""Several writes to several backends as one step: all of them, or none is left behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import groupby
from typing import NamedTuple

from knowbound.core.item import Item
from knowbound.errors import StoreError
from knowbound.kms.backends.protocol import Backend


class ItemChange(NamedTuple):
    """What a backend holds under an id before and after."""

    backend: Backend
    before: Item | None
    after: Item | None

    @property
    def id(self) -> str:
        """The id that changes."""
        item = self.after or self.before
        assert item is not None
        return item.id


@contextmanager
def applied(changes: list[ItemChange]) -> Iterator[None]:
    """Write the changes; if one of them, or what the caller does then, fails, take all of them back.

    There is no transaction over four kinds of database. What was written is written back, also where we do not know
    whether the failing write arrived; where that fails too, the index still blocks whatever one flag reaches.
    """
    begun: list[ItemChange] = []
    try:
        for backend, group in groupby(changes, key=lambda change: change.backend):
            of_backend = list(group)
            begun += of_backend
            kept = [change.after for change in of_backend if change.after is not None]
            if kept:
                backend.put_many(kept)
            for change in of_backend:
                if change.after is None:
                    backend.remove(change.id)
        yield
    except BaseException:
        for change in reversed(begun):
            with suppress(StoreError):
                _undo(change)
        raise


def _undo(change: ItemChange) -> None:
    if change.before is None:
        change.backend.remove(change.id)
    else:
        change.backend.put(change.before)
