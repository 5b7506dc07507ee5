"""Synonyms of programmers: encrypt and cipher, evict and expire, retry and attempt.

Each line of `synonym_data/programming.txt` is a group, in English and Chinese. A synonym helps to find a place in other
words; evidence through a synonym is Moderate at best (specification 3: the found thing must be the one asked for, not a
similar one).
"""

from __future__ import annotations

from collections import defaultdict
from functools import lru_cache
from importlib import resources

from knowbound.text.stems import stem


def synonyms_of(word: str) -> frozenset[str]:
    """Return the stems of single words that mean the same as a stem."""
    return _groups().get(word, frozenset())


@lru_cache(maxsize=1)
def _groups() -> dict[str, frozenset[str]]:
    """Read the synonyms of each stem."""
    lines = resources.files("knowbound.text").joinpath("synonym_data", "programming.txt").read_text("utf-8")
    found: dict[str, set[str]] = defaultdict(set)
    for line in lines.splitlines():
        group = {stem(word) for word in line.split()}
        for word in group:
            found[word] |= group
    return {word: frozenset(group - {word}) for word, group in found.items()}
