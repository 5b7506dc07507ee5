"""Answers a miss by an item of the store that names the very thing and says where or what it is.

Asked only where neither the tree nor a lesson has an answer, and only the local index (store/read_only.py): an item
that is superseded, flagged, stale or kept back is not in question. The name stands in the item as it was looked for, as
a word of its own. Where items disagree, or many name it, nothing is said.
"""

from __future__ import annotations

import re
import sqlite3
from typing import NamedTuple

from knowbound.core.lazy_pattern import lazy
from knowbound.lessons.rescue.misses.lookup import GLOB, PATTERN, is_specific, names_in, plain
from knowbound.lessons.rescue.words import FOUND, MOST_PLACES, Rescue, SuggestedPlace, as_line
from knowbound.store.read_only import HOOK_WAIT_SECONDS, IndexRefusedError, open_own_index

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from knowbound.lessons.rescue.misses.lookup import MissedLookup
    from knowbound.lessons.rescue.search import TreeNames

_MOST_ITEMS = 3  # that name it: of more, which one is meant is not known
_MOST_ROWS = 50  # that are looked at
_LEAST_TRUST = 0.5  # confidence, by the quality that use has shown: below, an item is doubt
_LONGEST = 300  # characters of a sentence that is said
_SECONDS = 0.1
_QUERY = f"""
    SELECT i.id, i.backend, i.content_sha, i.confidence * i.quality, i.content, i.timestamp
    FROM item_text JOIN item AS i ON i.rowid = item_text.rowid
    WHERE item_text MATCH ? AND i.served = 1 AND i.flag = '' AND i.stale = 0 ORDER BY i.id, i.backend LIMIT {_MOST_ROWS}
"""
_PLAIN = lazy(r"[A-Za-z_][\w./-]*\w", re.ASCII)
_NUMBER = lazy(r"\d+")
_DENIES = lazy(r"\b(?:not|never|no longer|deprecated|removed|retired|replaced|instead)\b|n['’]t\b", re.IGNORECASE)
_MARKUP = lazy(r"^(?:[#>*+-]+|\d+[.)])\s+")
# After the name: what says where or what it is.
_SAYS = lazy(
    r"\b(?:is|are|was|were|lives?|means?|stands for|moved|renamed|replaced|removed|deleted|dropped|split|comes? from|"
    r"belongs? to|holds?|contains?|has|provides?|handles?|generates?|runs?)\b"
)
_PATH = lazy(r"(?<![\w./:-])[\w.-]+(?:/[\w.-]+)+")


class _Named(NamedTuple):
    """An item of the index that has the name."""

    id: str
    backend: str
    sha: str
    trust: float
    content: str
    time: str


def rescue_by_item(misses: Iterable[MissedLookup], names: TreeNames, home: str) -> Rescue | None:
    """The sentence of the one item that says where or what the one name is."""
    asked = [_names(miss) for miss in misses if not miss.is_check]
    wanted = list(dict.fromkeys(name for some in asked for name in some))
    if not wanted or len(asked) != 1:
        return None
    try:
        index = open_own_index(home, wait_seconds=HOOK_WAIT_SECONDS, work_seconds=_SECONDS)
        if index is None:
            return None
        try:
            return next((said for name in wanted if (said := _said(name, _rows(index, name), names))), None)
        finally:
            index.close()
    except (sqlite3.Error, IndexRefusedError):
        return None


def _names(miss: MissedLookup) -> list[str]:
    """The one name that was looked for, as it may be spelled in an item; none where it is no name of code."""
    if miss.kind == PATTERN:
        named = [name for name in names_in(miss.query) if is_specific(name)]
        return named if len({plain(name) for name in named}) == 1 else []
    path = miss.query if miss.kind != GLOB else miss.query.rpartition("/")[2].strip("*")
    last = path.rpartition("/")[2]
    stem = last.partition(".")[0]
    named = [path, *([last, stem] if is_specific(stem) else [])]
    return [name for name in dict.fromkeys(named) if _PLAIN.fullmatch(name) and ("/" in name or is_specific(stem))]


def _rows(index: sqlite3.Connection, name: str) -> list[_Named]:
    """The items that have the name as a word of their own, each content once."""
    spelled = re.compile(rf"(?<![\w./-]){re.escape(name)}(?![\w/-]|\.\w)")
    rows = [_Named(*row) for row in index.execute(_QUERY, (f'"{name.lower()}"',))]
    named = {row.sha: row for row in rows if spelled.search(row.content)}
    return list(named.values()) if len(rows) < _MOST_ROWS else []


def _said(name: str, rows: list[_Named], names: TreeNames) -> Rescue | None:
    if not 1 <= len(rows) <= _MOST_ITEMS:
        return None
    trusted = [row for row in rows if row.trust >= _LEAST_TRUST]
    found = [(row, sentence) for row in trusted if (sentence := _sentence(name, row.content))]
    if not found or (len(found) > 1 and len({_gist(sentence) for _, sentence in found}) > 1):
        return None
    item, sentence = max(found, key=lambda one: (one[0].trust, one[0].time))
    paths = [path for path in _PATH.findall(sentence) if path != name and path.partition("/")[0] in names.folders]
    if not all(map(names.has, paths)):
        return None  # it speaks of this tree, as it was
    places = [SuggestedPlace(path, None, "where an item has it") for path in paths[:MOST_PLACES]]
    others = [one for one in names_in(sentence) if is_specific(one) and plain(one) != plain(name)]
    text = f"{sentence.rstrip('.')} (item {as_line(item.id)})."
    return Rescue(FOUND, text, tuple(places), "item", names=(*_PATH.findall(sentence), *others), item=item.id)


def _sentence(name: str, content: str) -> str:
    """The sentence of an item that has the name and then says where or what it is; "" where none does."""
    from knowbound.text.sentences import plain_sentences  # noqa: PLC0415  # most misses have no item

    for sentence in plain_sentences(content):
        line = _MARKUP.sub("", as_line(sentence))
        _, has, after = line.partition(name)
        if has and _SAYS.search(after) and len(line) <= _LONGEST:
            return line
    return ""


def _gist(sentence: str) -> tuple[frozenset[str], bool]:
    """The paths and numbers of a sentence, and whether it denies something: where these differ, both cannot be said."""
    return frozenset((*_PATH.findall(sentence), *_NUMBER.findall(sentence))), bool(_DENIES.search(sentence))
