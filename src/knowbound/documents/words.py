"""The words of documents and of questions in one form, so that they can be compared.

A word is compared by its root (`approval`, `approved`), a name in code also by its parts and as a whole
(`revenue_schema`), Chinese by pairs of characters, and synonyms by their concept (`relations`).
"""

from __future__ import annotations

import re
from functools import lru_cache

from knowbound.text.stems import stem
from knowbound.text.stop_words import STOP_WORDS
from knowbound.text.terms import split_words

_TOKEN = re.compile(
    r"[A-Za-z\u00c0-\u024f][A-Za-z\u00c0-\u024f0-9]*(?:_+[A-Za-z0-9]+)*(?:['’][a-z]{1,2}\b)?"
    r"|\d+(?:[.,]\d+)*(?:_\w+)?|[\u3400-\u4dbf\u4e00-\u9fff]+|_+[A-Za-z0-9_]+"
)
_CASE = re.compile(r"[a-z][A-Z]|[A-Z]{2,}[a-z]{2,}|_|[A-Za-z]\d|\d[A-Za-z]")
_CHINESE = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")


def tokens_of(text: str) -> list[str]:
    """The words of a text as written; a name in code is one, a run of Chinese characters is one."""
    return _TOKEN.findall(text)


def is_chinese(token: str) -> bool:
    """Whether a token is a run of Chinese characters."""
    return bool(_CHINESE.match(token))


@lru_cache(maxsize=100_000)
def parts_of(token: str) -> tuple[str, ...]:
    """The words inside a token: one, or those of a name."""
    if _CASE.search(token):
        return split_words(token) or (token.lower(),)
    return (token.lower(),)


@lru_cache(maxsize=100_000)
def _forms(token: str) -> tuple[str, ...]:
    """The roots of a token's parts, and of the whole where it has several."""
    parts = parts_of(token)
    roots = tuple(stem(part) for part in parts if part not in STOP_WORDS or len(parts) > 1)
    return (*roots, "".join(parts)) if len(parts) > 1 else roots


def pairs_of(run: str) -> list[str]:
    """A run of Chinese characters as its overlapping pairs."""
    return [run] if len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]


def terms_of(text: str) -> set[str]:
    """The terms of a text: roots, pairs of characters, and `=` what its words stand for."""
    from knowbound.documents.relations import CHINESE_CONCEPTS, concepts_in  # noqa: PLC0415 - a cycle

    found: set[str] = set()
    roots: list[str] = []
    for token in tokens_of(text):
        if is_chinese(token):
            found.update(pairs_of(token))
            found.update(token)
            found.update(concept for word, concept in CHINESE_CONCEPTS.items() if word in token)
            roots.append("")
        else:
            found.update(_forms(token))
            roots.extend(stem(part) for part in parts_of(token))
    found.update(concepts_in(roots))
    return found
