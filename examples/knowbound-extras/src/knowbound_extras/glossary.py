"""A backend: the terms of `glossary.toml` in the root of the project as items, read only."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path

from knowbound.config import Settings
from knowbound.core.item import Item
from knowbound.errors import InputError
from knowbound.kms.backends.outside import OutsideBackend, Planned
from knowbound.kms.backends.protocol import Swap


class GlossaryBackend(OutsideBackend):
    """`[terms]` of the file: each name with its meaning is an item."""

    name = "glossary"
    is_read_only = True

    def __init__(self, root: Path, home: Path) -> None:
        super().__init__(home)
        self._terms = root / "glossary.toml"

    def stored(self, id_: str = "") -> Iterator[Item]:
        """Yield the items of the file: one of this id, or all."""
        terms = tomllib.loads(self._terms.read_text("utf-8")).get("terms", {}) if self._terms.exists() else {}
        for term, meaning in terms.items():
            item = Item(f"glossary:{term}", f"{term}: {meaning}", subject=term)
            if id_ in ("", item.id):
                yield item

    def planned(self, swap: Swap, note: str) -> Planned:
        """Return the item as it is: nothing is written."""
        return Planned(swap.before)

    def refusal(self, item: Item | None) -> InputError:
        """Say where terms are changed."""
        return InputError("store-read-only", "Terms are changed in glossary.toml.")


def open_backend(settings: Settings) -> GlossaryBackend:
    """Open the backend of a project."""
    return GlossaryBackend(settings.root, settings.home)
