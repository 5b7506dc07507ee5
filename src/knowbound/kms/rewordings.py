"""New wordings of items whose text in a file has changed.

Comparing two texts takes time that grows with the square of their length, and a changed piece may be a new wording of
any old piece of its section. So only the start of a text is compared, and of a long section only the pieces that share
rare words.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from difflib import SequenceMatcher

from knowbound.core.item import Item

_REWORDED = 0.5  # share of text that a reworded piece has in common with the old piece under the same heading
_COMPARED = 400  # characters of a text
_MOST_CANDIDATES = 30
_WORD = re.compile(r"\w+")


class Rewordings:
    """The items of one file whose pieces are gone from it."""

    def __init__(self, items: Iterable[Item]) -> None:
        self._by_heading: dict[str, _SectionItems] = {}
        for item in items:
            if item.anchor:
                self._by_heading.setdefault(item.anchor.heading, _SectionItems()).add(item)

    def of(self, heading: str, content: str) -> Item | None:
        """Return the item under this heading that has the most in common with the content, if that is enough."""
        section = self._by_heading.get(heading)
        if section is None:
            return None
        alike = {
            item.id: SequenceMatcher(None, item.content[:_COMPARED], content[:_COMPARED], autojunk=False).ratio()
            for item in section.candidates(content)
        }
        best = max(alike, key=lambda id_: alike[id_], default="")
        return section.items[best] if best and alike[best] >= _REWORDED else None

    def remove(self, item: Item) -> None:
        """Remove an item whose new wording was found."""
        if item.anchor:
            del self._by_heading[item.anchor.heading].items[item.id]


class _SectionItems:
    def __init__(self) -> None:
        self.items: dict[str, Item] = {}
        self._having: dict[str, list[str]] = {}  # word → items, capped one above _MOST_CANDIDATES

    def add(self, item: Item) -> None:
        self.items[item.id] = item
        for word in set(_WORD.findall(item.content)):
            having = self._having.setdefault(word, [])
            if len(having) <= _MOST_CANDIDATES:
                having.append(item.id)

    def candidates(self, content: str) -> list[Item]:
        if len(self.items) <= _MOST_CANDIDATES:
            return list(self.items.values())
        shared: Counter[str] = Counter()
        for word in set(_WORD.findall(content)):
            having = self._having.get(word, ())
            if len(having) <= _MOST_CANDIDATES:
                shared.update(having)
        return [self.items[id_] for id_, _ in shared.most_common(_MOST_CANDIDATES) if id_ in self.items]
