"""Recognises what was withdrawn when it is about to be stored again: the same content, or a superseded one reworded.

Retracted, superseded, deleted and reaped contents are known by their hash. Of what was superseded rewordings are known
too (restating.py): its successor shows which value was wrong. Of what was reaped only the hash is left.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from functools import cached_property
from typing import NamedTuple

from knowbound.core.item import Item
from knowbound.kms.corrections.changes import Correction
from knowbound.kms.corrections.flags import end_of_chain
from knowbound.kms.duplicates import NEAR, restates
from knowbound.kms.index.codes import nearest_of
from knowbound.kms.index.database import Index, SupersededRow
from knowbound.text.embedding import code_of, embed, similarity
from knowbound.text.printable import short_line

_CANDIDATES = 50
_LEAST_COSINE = 2 * NEAR - 1  # likeness is the mean of it and of a share that is at most 1


class Withdrawn(NamedTuple):
    """An item that says what is about to be stored, and was withdrawn."""

    id: str
    how: str  # superseded, retracted, deleted, reaped
    content: str  # empty where it was reaped
    time: str
    by: str
    successor: str  # the id of what is in force instead, or an empty string
    successor_content: str
    is_same: bool  # the same content; else a rewording of it

    def __str__(self) -> str:
        """For people: which, when, by whom, and what is in force instead."""
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
    """All that was withdrawn, as the index has it now; read once, and then asked as often as there are new contents."""

    def __init__(self, index: Index) -> None:
        self._index = index
        self._contents: dict[str, str] = {}  # of successors

    def find(self, content: str, but: Collection[str] = ()) -> Withdrawn | None:
        """What was withdrawn and says this; `but` are ids that do not count."""
        return self._same(content, but) or self._reaped(content) or self._reworded(content, but)

    def _same(self, content: str, but: Collection[str]) -> Withdrawn | None:
        twins = [known.item for known in self._index.same_content(Item("", content).content_sha)]
        gone = [item for item in twins if not item.is_served and item.id not in but]
        gone.sort(key=lambda item: bool(item.flag and item.flag.superseded_by), reverse=True)
        return self._of(gone[0], is_same=True) if gone else None

    def _reaped(self, content: str) -> Withdrawn | None:
        found = self._index.reaped_as(content)
        if found is None:
            return None
        corrections = self._index.corrections(found.item)
        replaced = next((one for one in reversed(corrections) if one.tool == "kms_supersede"), None)
        last = corrections[-1] if corrections else None
        successor = self._end(_superseded_by(replaced)) if replaced else ""
        return Withdrawn(
            found.item, "reaped", "", found.time, last.by if last else "", successor, self._content(successor), True
        )

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


def _superseded_by(correction: Correction) -> str:
    return str(json.loads(correction.detail).get("superseded_by", ""))


def quoted(content: str) -> str:
    """Return the beginning of a content, for a message."""
    return f"“{short_line(content, 100)}”"
