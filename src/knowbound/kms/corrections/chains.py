"""Chains of superseded items over all backends: what replaced an item, and what it replaced."""

from __future__ import annotations

from collections.abc import Mapping

from knowbound.kms.backends.protocol import Backend
from knowbound.kms.corrections.changes import ItemChange
from knowbound.kms.corrections.copies import stored_items
from knowbound.kms.corrections.flags import MAX_CHAIN, all_before, end_of_chain, links_before, pointing_to
from knowbound.kms.index.database import Index


class Chains:
    """Successors are asked of the backends, which decide; predecessors are found by the index."""

    def __init__(self, backends: Mapping[str, Backend], index: Index) -> None:
        self._backends, self._index = backends, index

    def successor(self, id_: str) -> str:
        """The item that replaced this one, or an empty string."""
        flags = [stored.item.flag for stored in stored_items(self._backends, id_)]
        return next((flag.superseded_by for flag in flags if flag and flag.superseded_by), "")

    def end(self, id_: str) -> str:
        """The item that is in force for this one: itself where nothing replaced it."""
        return end_of_chain(id_, self.successor)

    def predecessors(self, id_: str) -> list[str]:
        """The items that this one replaced."""
        return sorted({known.item.id for known in self._index.predecessors(id_)})

    def shortened(self, old: str, new: str) -> list[ItemChange]:
        """A chain that would grow over the limit is compacted: everything before points to the new end."""
        if links_before(old, self.predecessors) + 1 <= MAX_CHAIN:
            return []
        return [
            ItemChange(backend, item, pointing_to(item, new))
            for id_ in sorted(all_before(old, self.predecessors))
            for backend, item in stored_items(self._backends, id_)
            if item.flag and item.flag.superseded_by
        ]
