"""Similarity of two searches, by the terms of their patterns and the names of their paths."""

from __future__ import annotations

import re
from functools import lru_cache

_TERM = re.compile(r"[^\W\d]\w{2,}|[\u4e00-\u9fff]{2,}")
_ESCAPE = re.compile(r"\\[bBswdnrtSWD]")
# Words of code and of file names that do not show the subject of a search.
_EMPTY = frozenset(
    "func function def class const let var export import from interface type struct async await return public private "
    "the and for with src test tests spec lib index main true false null none json yaml yml tsx jsx mjs".split()
)


@lru_cache(maxsize=8192)
def terms(query: str) -> frozenset[str]:
    """Return the terms of a search pattern in lower case, without the words that many patterns have."""
    found = {term.lower() for term in _TERM.findall(_ESCAPE.sub(" ", query))}
    return frozenset(found - _EMPTY) or frozenset(found)


@lru_cache(maxsize=8192)
def path_terms(path: str) -> frozenset[str]:
    """Return the terms of a path: its last part with and without its ending. Folders are no terms."""
    name = path.rstrip("/").rpartition("/")[2].lower()
    stem = name.partition(".")[0] if not name.startswith(".") else name
    return frozenset(part for part in (name, stem) if part)


def similar(one: frozenset[str], other: frozenset[str]) -> bool:
    """Report whether two sets of terms mean the same: they share half of the terms, or one contains the other."""
    if not one or not other:
        return False
    shared = len(one & other)
    if shared and (shared * 2 >= len(one | other) or shared == min(len(one), len(other))):
        return True
    return any(_same_stem(a, b) for a in one for b in other if len(a) > 5 and len(b) > 5)


def plain_term(term: str) -> str:
    """Return a term without `_` and `-`, in which spellings differ."""
    return term.replace("_", "").replace("-", "")


def _same_stem(one: str, other: str) -> bool:
    """Report whether one term contains the other: `session_store`, `sessionstore_test`."""
    a, b = plain_term(one), plain_term(other)
    return a in b or b in a
