"""What is not done to a knowledge store, and why: every refusal of a write, as an error that says what to do."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from knowbound.core.item import Item
from knowbound.core.same_content import content_sha
from knowbound.errors import InputError
from knowbound.kms.backends.protocol import Backend
from knowbound.kms.corrections.chains import Chains
from knowbound.kms.corrections.copies import ItemCopies
from knowbound.kms.index.database import Index, IndexedItem
from knowbound.kms.withdrawn import WithdrawnItems, quoted

_INSIST = "If it is true again, insist: knowbound kms {verb} … --again (MCP: again=true)"
_CORRECT = "Correct it there; if it is true again: knowbound kms add … --again"


class Refusals:
    """The checks before a write. Each raises, or returns nothing."""

    def __init__(self, backends: Mapping[str, Backend], index: Index, chains: Chains) -> None:
        self._backends, self._index, self._chains = backends, index, chains

    def duplicates(self, content: str, but: Collection[str] = ()) -> None:
        """Where an item that was not withdrawn has this content already."""
        known = self._index.same_content(content_sha(content))
        same = [one for one in known if one.item.is_served and one.item.id not in but]
        if same:
            raise InputError("item-duplicate", f"Stored already as {_named(same[0])}")

    def withdrawn(
        self, content: str, *, verb: str = "", but: Collection[str] = (), items: WithdrawnItems | None = None
    ) -> None:
        """Where this was withdrawn, in these words or others. `items` saves reading them for every content.

        The verb is the one that can insist; an import cannot.
        """
        found = (items or WithdrawnItems(self._index)).find(content, but)
        if found is not None:
            raise InputError("item-withdrawn", f"{found} {_INSIST.format(verb=verb) if verb else _CORRECT}")

    def not_served(self, item: Item) -> None:
        """Where the item has a flag that withdraws it."""
        if item.flag and not item.is_served:
            instead = self._chains.end(item.id)
            hint = (
                f"Its successor is {instead}." if instead != item.id else f"Try: knowbound kms flag {item.id} --clear"
            )
            raise InputError("flag-refused", f"{item.id} is {item.flag.kind}. {hint}")

    def circle(self, copies: ItemCopies, successor: str) -> None:
        """Where the successor is, or leads to, what it should replace."""
        if {successor, self._chains.end(successor)} & copies.ids:
            raise InputError("supersede-cycle", f"{successor} is, or leads to, {copies.original.id} itself.")

    def unknown(self, id_: str) -> InputError:
        """The error for an id that is not there. SQLite may read a damaged file as empty: then that is raised."""
        self._index.check()
        for backend in self._backends.values():
            backend.check()
        return InputError("item-unknown", f"No item {id_} in the backends in use. Try: knowbound kms search WORDS")


def _named(known: IndexedItem) -> str:
    flag = f", {known.item.flag.kind}" if known.item.flag else ""
    return f"{known.item.id} ({known.backend}{flag}): {quoted(known.item.content)}"
