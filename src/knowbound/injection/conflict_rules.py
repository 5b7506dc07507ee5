"""Whether two items contradict each other, by rules over their words.

Similarity cannot say it: sentences that contradict are more alike than sentences that agree. Two items conflict where
- two sentences are the same but for one place (`conflict_one_place`),
- one retires a name that the other uses,
- they say opposites of the same thing.
Precision counts more than recall: a conflict that is none discredits a good item (`python -m bench.conflicts`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import pairwise, product

from knowbound.injection.conflict_one_place import differ_in_one_place
from knowbound.injection.conflict_statements import (
    ConflictSentence,
    ConflictToken,
    has_characters,
    qualifies,
    statement,
)
from knowbound.text import conflict_words as words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_LONGEST_NAME = 6  # words of what is retired


def conflicting(a: Sequence[str], b: Sequence[str]) -> bool:
    """Whether the sentences of two items contradict each other."""
    ours, theirs = [statement(one) for one in a], [statement(one) for one in b]
    if any(differ_in_one_place(one, other) for one, other in product(ours, theirs)):
        return True
    if any(re.search(words.EXCEPTION, one.lower) for one in ours + theirs):
        return False
    if _retires(ours, theirs) or _retires(theirs, ours):
        return True
    return any(_are_opposite(one, other) for one, other in product(ours, theirs))


# One retires what the other uses


def _retires(ours: list[ConflictSentence], theirs: list[ConflictSentence]) -> bool:
    about = {key for one in ours for key in one.content}
    return any(_is_used(retired, about, one, other) for one in ours for retired in _retired(one) for other in theirs)


@lru_cache(maxsize=64)
def _retired(of: ConflictSentence) -> list[list[ConflictToken]]:
    """What it says is no longer used: the words before or after the marker."""
    found = []
    for start, text, tokens in of.clauses():
        after, before = re.search(words.RETIRES, text), re.search(words.RETIRED, text)
        if not (after or before) or re.search(words.CONDITION, text):
            continue
        if before:
            phrase = [token for token in tokens if token.start < start + before.start()]
            if has_characters(before[0]):
                phrase = [token for token in phrase if len(token.text) > 1]
            found.append(phrase[-_LONGEST_NAME:])
        if after:
            phrase = [token for token in tokens if token.start >= start + after.end()]
            found.append(_first_phrase(phrase)[:_LONGEST_NAME])
    return found


def _first_phrase(tokens: list[ConflictToken]) -> list[ConflictToken]:
    """The words with content, until a word without."""
    first = next((at for at, token in enumerate(tokens) if token.key), len(tokens))
    end = next((at for at in range(first, len(tokens)) if not tokens[at].key), len(tokens))
    return tokens[first:end]


def _is_used(retired: list[ConflictToken], about: set[str], by: ConflictSentence, other: ConflictSentence) -> bool:
    aware = (words.RETIRED, words.RETIRES, words.NEGATION, words.KNOWS_OF_AN_END)
    if any(re.search(pattern, other.lower) for pattern in aware):
        return False
    keys = {token.key for token in retired if token.key and not token.is_number}
    kept = {token.key for token in by.tokens if token.is_name} - keys
    if kept and kept <= other.content:
        return False  # it knows the replacement
    links = about & other.content
    names = [token for token in retired if token.is_name and len(token.key) > 2]
    if names and all(_mentions(other, token) for token in names):
        return bool(links.difference(token.key for token in names))
    if not keys or not keys <= other.content:
        return False
    return len(links) >= 2 or (len(keys) == 1 and bool(re.search(words.USES % re.escape(*keys), other.lower)))


def _mentions(other: ConflictSentence, name: ConflictToken) -> bool:
    if name.key in other.content:
        return True
    needle = name.key if name.is_code else name.lower
    at = other.lower.find(needle)
    around = (other.lower[:at][-1:], other.lower[at + len(needle) :][:1])
    return at >= 0 and not any(sign.isalnum() or sign in ("_", "-") for sign in around)


# They say opposites


def _are_opposite(a: ConflictSentence, b: ConflictSentence) -> bool:
    ours, theirs = _said(a), _said(b)
    return any(
        ours[row][0] != theirs[row][0] and _speak_of_one(ours[row][1], theirs[row][1])
        for row in ours.keys() & theirs.keys()
    )


@lru_cache(maxsize=64)
def _said(by: ConflictSentence) -> dict[int, tuple[int, list[ConflictToken]]]:
    """The rows of opposites of which it says one alone: which, and the other words of that clause."""
    found: dict[int, tuple[int, list[ConflictToken]]] = {}
    sides: set[tuple[int, int]] = set()
    for _, text, tokens in by.clauses():
        for at in range(len(tokens)):
            for row, side, end in _opposites_at(tokens, at):
                sides.add((row, side))
                if not re.search(words.NEGATION, text) and not re.search(words.CONDITION, text):
                    found[row] = side, tokens[:at] + tokens[end:]
    return {row: found[row] for row in found if sum(row == one for one, _ in sides) == 1}


def _speak_of_one(a: list[ConflictToken], b: list[ConflictToken]) -> bool:
    """Whether one has all words of the other, and no further word beside them: "API" and "API docs" are two things."""
    shorter, longer = sorted((a, b), key=lambda tokens: len(_keys(tokens)))
    keys = _keys(shorter)
    if len(keys) < 2 or not keys <= _keys(longer):
        return False
    return not any(
        one.key and other.key and (one.key in keys) != (other.key in keys) for one, other in pairwise(longer)
    )


def _keys(tokens: list[ConflictToken]) -> set[str]:
    return {token.key for token in tokens if token.key}


def _opposites_at(tokens: list[ConflictToken], at: int) -> list[tuple[int, int, int]]:
    """The row, the side and the end of the word there, which may be of two words or of several characters."""
    if tokens[at].is_code or qualifies(tokens[at:]):
        return []
    joined = "".join if has_characters(tokens[at].text) else "-".join
    for end in (at + 1, at + 2, at + 4):
        if sides := words.opposites_of(joined(token.lower for token in tokens[at:end])):
            return [(row, side, end) for row, side in sides.items() if row < len(words.OPPOSITES)]
    return []
