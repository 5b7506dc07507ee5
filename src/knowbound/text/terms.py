"""Spellings of words in code: words inside names, plurals, phrases in any spelling, one typing error."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

_PARTS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W\d_a-zA-Z]+")
# Between two words of a phrase: nothing (camelCase), a space, _ or -, or the wrap of a line of prose or comment.
_JOIN = r"(?:[ \t_\-]*(?:\r?\n[ \t]*(?:#+|//+!?|\*+|>+|;+|--+)?[ \t]*)?)"
_WORDS_BEFORE_A_WRAP = 4  # a phrase wraps only in running text, not between the entries of a list


@lru_cache(maxsize=200_000)
def split_words(name: str) -> tuple[str, ...]:
    """Return the words inside a name in lower case; `getUserName`, `get_user_name`, `GET-USER-NAME` have the same."""
    return tuple(part.lower() for part in _PARTS.findall(name))


@lru_cache(maxsize=100_000)
def canonical(word: str) -> str:
    """Return one form for singular and plural: `caches` and `cache`, `dependencies` and `dependency`."""
    word = word.lower()
    if len(word) <= 3:
        return word
    if word.endswith("ies") and len(word) > 4:
        word = word[:-3] + "y"
    elif word.endswith("es"):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):  # class, status, basis
        word = word[:-1]
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def canonical_words(name: str) -> tuple[str, ...]:
    """Return the words inside a name, in the singular."""
    return tuple(canonical(word) for word in split_words(name))


def glued(words: Iterable[str]) -> str:
    """Join words without a separator: `web socket` and `websocket` become equal."""
    return "".join(words)


def has_phrase(words: Sequence[str], phrase: Sequence[str]) -> bool:
    """Report whether the phrase is in the words: whole words in a row, however words are joined in either."""
    wanted, wanted_raw = glued(canonical(word) for word in phrase), glued(phrase)
    for start in range(len(words)):
        singular = raw = ""
        for word in words[start:]:
            singular += canonical(word)
            raw += word
            if wanted in (singular, raw) or wanted_raw == raw:
                return True
            if len(singular) > len(wanted):
                break
    return False


def phrase_pattern(words: Sequence[str]) -> str:
    """Return a regular expression (ripgrep's and Python's) for the phrase in every spelling, singular or plural.

    Snake, camel, Pascal, kebab, SCREAMING and spaced; also wrapped over a line of prose. To be used without case.
    """
    return _JOIN.join(_either_number(word) for word in words)


def _either_number(word: str) -> str:
    """Return a pattern for the singular and the plural of a word."""
    base = canonical(word)
    if len(word) <= 3:
        return re.escape(word.lower()) + "(?:es|s)?"
    if base.endswith("y"):
        return re.escape(base[:-1]) + "(?:ies|ys|y)"
    return re.escape(base) + "(?:e?s|e)?"


def at_word_edges(text: str, start: int, end: int) -> bool:
    """Report whether text[start:end] is whole words; a change of case inside a name is an edge too."""
    if start > 0 and text[start - 1].isalnum() and start < len(text):
        before, first = text[start - 1], text[start]
        after_first = text[start + 1 : start + 2]
        is_hump = first.isupper() and (before.islower() or before.isdigit() or after_first.islower())
        if not is_hump:
            return False
    if end < len(text) and text[end].isalnum():
        last, after = text[end - 1], text[end]
        if not (after.isupper() and last.islower()) and not (
            last.isupper() and after.isupper() and text[end + 1 : end + 2].islower()
        ):
            return False
    return True


def phrase_spans(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Yield the spans of the phrase in the text: on word edges, and wrapped over a line only in running text."""
    for match in pattern.finditer(text):
        start, end = match.span()
        # The plural of `limit` also matches the E of `LimitError`: shorten the match to a word edge.
        shorter_ends = (end - back for back in range(3) if pattern.fullmatch(text, start, end - back))
        end = next((candidate for candidate in shorter_ends if at_word_edges(text, start, candidate)), -1)
        if end < 0:
            continue
        if "\n" in match.group():
            line = text[text.rfind("\n", 0, start) + 1 : text.find("\n", start)]
            if len(line.split()) < _WORDS_BEFORE_A_WRAP:
                continue
        yield start, end


def spellings(words: Sequence[str]) -> tuple[str, ...]:
    """Return the code spellings of a phrase, to show it and to find files by name."""
    low = [word.lower() for word in words]
    pascal = "".join(word.capitalize() for word in low)
    return tuple(
        dict.fromkeys(
            (
                "_".join(low),
                pascal[:1].lower() + pascal[1:],
                pascal,
                "-".join(low),
                "_".join(low).upper(),
                " ".join(low),
            )
        )
    )


def one_edit(word: str, other: str) -> bool:
    """Report whether a single letter was added, dropped, changed, or swapped with its neighbour."""
    if word == other or abs(len(word) - len(other)) > 1:
        return False
    at = next((i for i, (a, b) in enumerate(zip(word, other, strict=False)) if a != b), min(len(word), len(other)))
    if len(word) == len(other):
        return word[at + 1 :] == other[at + 1 :] or (
            word[at : at + 2] == other[at : at + 2][::-1] and word[at + 2 :] == other[at + 2 :]
        )
    short, long = sorted((word, other), key=len)
    return short[at:] == long[at + 1 :]  # the rest is equal behind the additional letter


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
    return frozenset(found - _EMPTY) or frozenset(found)  # all are common: then they count


@lru_cache(maxsize=8192)
def path_terms(path: str) -> frozenset[str]:
    """Return the terms of a path: its last part with and without its ending. Folders are no terms."""
    name = path.rstrip("/").rpartition("/")[2].lower()
    stem = name.partition(".")[0] if not name.startswith(".") else name
    return frozenset(part for part in (name, stem) if part)


def similar(first: frozenset[str], second: frozenset[str]) -> bool:
    """Report whether two sets of terms mean the same: they share half of the terms, or one contains the other."""
    if not first or not second:
        return False
    shared = len(first & second)
    if shared and (shared * 2 >= len(first | second) or shared == min(len(first), len(second))):
        return True
    # One term contains the other: `session_store`, `sessionstore_test`.
    plain, plain_second = ([plain_term(term) for term in side if len(term) > 5] for side in (first, second))
    return any(a in b or b in a for a in plain for b in plain_second)


def plain_term(term: str) -> str:
    """Return a term without `_` and `-`, in which spellings differ."""
    return term.replace("_", "").replace("-", "")
