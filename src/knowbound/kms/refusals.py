"""The refusals of writes to a knowledge store: each is an error that says what to do.

Content that was withdrawn is recognised when it is about to be stored again. Retracted, superseded, deleted and reaped
contents are known by their hash. Of superseded contents rewordings are known too (duplicates.py): the successor shows
which value was wrong. Of reaped contents only the hash is left.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import NamedTuple

from knowbound.core.item import Flag, Item
from knowbound.core.same_content import content_sha
from knowbound.errors import InputError
from knowbound.kms.backends.protocol import Backend
from knowbound.kms.corrections.copies import ItemCopies
from knowbound.kms.corrections.flags import Chains, end_of_chain
from knowbound.kms.duplicates import NEAR, restates
from knowbound.kms.index.codes import nearest_of
from knowbound.kms.index.database import Index, SupersededRow
from knowbound.text.embedding import code_of, embed, similarity
from knowbound.text.printable import short_line

_INSIST = "If it is true again, insist: knowbound kms {verb} … --again (MCP: again=true)"
_CORRECT = "Correct it there; if it is true again: knowbound kms add … --again"
_CANDIDATES = 50
_LEAST_COSINE = 2 * NEAR - 1  # likeness is the mean of the cosine and a share of at most 1


class Refusals:
    """The checks before a write. Each raises InputError, or returns nothing."""

    def __init__(self, backends: Mapping[str, Backend], index: Index, chains: Chains) -> None:
        self._backends, self._index, self._chains = backends, index, chains

    def duplicates(self, content: str, but: Collection[str] = ()) -> None:
        """Refuse content that an item has which was not withdrawn."""
        known = self._index.same_content(content_sha(content))
        same = next((one for one in known if one.item.is_served and one.item.id not in but), None)
        if same:
            flag = f", {same.item.flag.kind}" if same.item.flag else ""
            named = f"{same.item.id} ({same.backend}{flag}): {quoted(same.item.content)}"
            raise InputError("item-duplicate", f"Stored already as {named}")

    def withdrawn(
        self, content: str, *, verb: str = "", but: Collection[str] = (), items: WithdrawnItems | None = None
    ) -> None:
        """Refuse content that was withdrawn, in these words or others. `items` saves reading them for every content.

        The verb is the one that can insist; an import cannot.
        """
        found = (items or WithdrawnItems(self._index)).find(content, but)
        if found is not None:
            raise InputError("item-withdrawn", f"{found} {_INSIST.format(verb=verb) if verb else _CORRECT}")

    def unflagging(self, item: Item, by: str | None) -> Flag:
        """Return the flag to remove; refuse if there is none, or if somebody else than `by` set it.

        An agent releases nothing that a person holds back.
        """
        if item.flag is None:
            raise InputError("flag-refused", f"{item.id} has no flag to remove. Nothing was changed.")
        if by is not None and item.flag.by != by:
            words = f"{item.id} was flagged {item.flag.kind} by {item.flag.by or 'somebody else'}: a person decides."
            raise InputError("flag-refused", f"{words} Try: knowbound kms flag {item.id} --clear")
        return item.flag

    def not_served(self, item: Item) -> None:
        """Refuse an item with a flag that withdraws it."""
        if item.flag and not item.is_served:
            instead = self._chains.end(item.id)
            hint = (
                f"Its successor is {instead}." if instead != item.id else f"Try: knowbound kms flag {item.id} --clear"
            )
            raise InputError("flag-refused", f"{item.id} is {item.flag.kind}. {hint}")

    def circle(self, copies: ItemCopies, successor: str) -> None:
        """Refuse a successor that is, or leads to, the item that it would replace."""
        if {successor, self._chains.end(successor)} & copies.ids:
            raise InputError(
                "supersede-cycle", f"{successor} is, or leads to, {copies.original.id} itself. Try: another successor"
            )

    def unknown(self, id_: str) -> InputError:
        """Return the error for an unknown id. SQLite may read a damaged file as empty: then that is raised."""
        self._index.check()
        for backend in self._backends.values():
            backend.check()
        return InputError("item-unknown", f"No item {id_} in the backends in use. Try: knowbound kms search WORDS")


class Withdrawn(NamedTuple):
    """A withdrawn item that says what is about to be stored. Its text is for people."""

    id: str
    how: str  # superseded, retracted, deleted, reaped
    content: str  # empty where the item was reaped
    time: str
    by: str
    successor: str  # the id of the item in force, or an empty string
    successor_content: str
    is_same: bool  # the same content; else a rewording of it

    def __str__(self) -> str:
        if self.is_same:
            said = f"This was {self.how}"
        else:
            said = f"This says again what {self.id} said: {quoted(self.content)}. That was {self.how}"
        said += f" on {self.time[:10]}" if self.time else ""
        said += f" by {self.by}" if self.by else ""
        said += f" (as {self.id})" if self.is_same else ""
        if self.successor:
            said += f"; in force is {self.successor}"
            said += f" {quoted(self.successor_content)}" if self.successor_content else ""
        return f"{said}."


class WithdrawnItems:
    """All withdrawn items of the index: read once, then asked for any number of new contents."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._contents: dict[str, str] = {}  # of successors

    def find(self, content: str, but: Collection[str] = ()) -> Withdrawn | None:
        """Return the withdrawn item that says this; ids in `but` do not count."""
        return self._same(content, but) or self._reaped(content) or self._reworded(content, but)

    def _same(self, content: str, but: Collection[str]) -> Withdrawn | None:
        twins = [known.item for known in self._index.same_content(content_sha(content))]
        gone = [item for item in twins if not item.is_served and item.id not in but]
        gone.sort(key=lambda item: bool(item.flag and item.flag.superseded_by), reverse=True)
        return self._of(gone[0], is_same=True) if gone else None

    def _reaped(self, content: str) -> Withdrawn | None:
        found = self._index.last_removal(content)
        if found is None:
            return None
        corrections = self._index.corrections(found.item)
        replaced = next((one for one in reversed(corrections) if one.tool == "kms_supersede"), None)
        by = corrections[-1].by if corrections else ""
        successor = self._end(str(json.loads(replaced.detail).get("superseded_by", ""))) if replaced else ""
        return Withdrawn(found.item, "reaped", "", found.time, by, successor, self._content(successor), True)

    def _reworded(self, content: str, but: Collection[str]) -> Withdrawn | None:
        if not self._rows:
            return None
        vector = embed(content)
        for number in nearest_of(self._codes, code_of(vector), _CANDIDATES + len(but)):
            row = self._rows[number]
            if row.id in but or similarity(vector, row.vector) < _LEAST_COSINE:
                continue
            if restates(content, row.content, self._content(self._end(row.id))):
                return self._of(self._index.known(row.id)[0].item, is_same=False)
        return None

    def _of(self, item: Item, *, is_same: bool) -> Withdrawn:
        flag = item.flag
        assert flag is not None
        end = self._end(item.id) if flag.superseded_by else ""
        how, when = str(flag.kind).lower(), flag.date
        return Withdrawn(item.id, how, item.content, when, flag.by, end, self._content(end), is_same)

    def _end(self, id_: str) -> str:
        return end_of_chain(id_, lambda one: self._successors.get(one, ""))

    def _content(self, id_: str) -> str:
        if id_ not in self._contents:
            known = self._index.known(id_) if id_ else []
            self._contents[id_] = known[0].item.content if known else ""
        return self._contents[id_]

    @cached_property
    def _rows(self) -> list[SupersededRow]:
        return self._index.superseded_rows()

    @cached_property
    def _codes(self) -> list[tuple[int, bytes]]:
        return [(number, row.code) for number, row in enumerate(self._rows)]

    @cached_property
    def _successors(self) -> dict[str, str]:
        return {row.id: row.superseded_by for row in self._rows}


def quoted(content: str) -> str:
    """Return the beginning of a content in quotes, for a message."""
    return f"“{short_line(content, 100)}”"
