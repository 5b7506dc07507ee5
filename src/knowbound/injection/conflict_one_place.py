"""Whether two sentences are the same but for one place, and what stands there excludes the other.

That is another value of the same kind (number, path, day) of something that has one value at a time, an opposite, or
a negation. Most verbs take several values: what supports 3.10 may support 3.12.
"""

from __future__ import annotations

import re

from knowbound.injection.conflict_statements import ConflictSentence, ConflictToken, has_characters, qualifies
from knowbound.text import conflict_words as words

_LONGEST_SLOT = 3
_NEAR_BE = 5  # tokens


def differ_in_one_place(one: ConflictSentence, other: ConflictSentence) -> bool:
    """Whether they are the same but for one place that excludes the other."""
    a, b = _compared(one), _compared(other)
    ours, theirs = [token.lower for token in a], [token.lower for token in b]
    shorter = min(len(a), len(b))
    start = 0
    while start < shorter and ours[start] == theirs[start]:
        start += 1
    end = 0
    while end < shorter - start and ours[-1 - end] == theirs[-1 - end]:
        end += 1
    here, there = a[start : len(a) - end], b[start : len(b) - end]
    before, after = a[:start], a[len(a) - end :]
    shared = sum(bool(token.key) for token in before + after)
    if not shared or not here + there:
        return False
    if here and there and _are_opposite(before, here, there, after):
        return True
    if shared < 2:
        return False
    if not here or not there:
        return _deny(here or there)
    return _differ_in_a_value(before, here, there, after) or _differ_in_a_name(before, here, there, after)


def _compared(statement: ConflictSentence) -> list[ConflictToken]:
    """Its words without fillers and without when and why it holds."""
    tokens = statement.tokens
    for at in range(1, len(tokens)):
        if tokens[at].lower in words.TAILS or " ".join(token.lower for token in tokens[at : at + 2]) in words.TAILS:
            tokens = tokens[:at]
            break
    return [token for token in tokens if token.is_code or token.lower not in words.FILLERS]


def _deny(tokens: list[ConflictToken]) -> bool:
    denying = [token.lower.replace("’", "'") for token in tokens]
    return words.NEGATIONS.issuperset(denying) and any(re.fullmatch(words.NEGATION, word) for word in denying)


def _are_opposite(
    before: list[ConflictToken], here: list[ConflictToken], there: list[ConflictToken], after: list[ConflictToken]
) -> bool:
    a, b = ("".join(token.lower for token in tokens) for tokens in (here, there))
    is_one_word = len(here) == len(there) == 1
    if is_one_word and here[0].is_code and there[0].is_code:
        return "=" in a and a.partition("=")[0] == b.partition("=")[0]  # a setting
    if not is_one_word and not has_characters(a):
        return False
    if qualifies(here + after) or qualifies(there + after):
        return False
    if not any(token.key or token.lower == "use" for token in before) and {a, b} != {"always", "never"}:
        return False  # it belongs to the subject: "on Monday …"
    ours, theirs = words.opposites_of(a), words.opposites_of(b)
    return any(ours[row] != theirs[row] for row in ours.keys() & theirs.keys())


def _differ_in_a_value(
    before: list[ConflictToken], here: list[ConflictToken], there: list[ConflictToken], after: list[ConflictToken]
) -> bool:
    if len(here) != len(there) or len(here) > _LONGEST_SLOT or not all(map(_are_values, here, there)):
        return False
    if not before or before[-1].lower in words.LABELLED:
        return False  # it is counted: "shard 1"
    is_named = sum(bool(token.key) for token in before) >= 2  # else a value may be its name: "Python 3 …"
    if _is_quantity(here, after) and _is_quantity(there, after):
        return is_named or not before[-1].key
    return is_named and _has_one_value([token.lower for token in before], here, [token.lower for token in after])


def _differ_in_a_name(
    before: list[ConflictToken], here: list[ConflictToken], there: list[ConflictToken], after: list[ConflictToken]
) -> bool:
    """Other names of what has one: "is called …", "is owned by …"."""
    said = " ".join(token.lower for token in before)
    if after or max(len(here), len(there)) > _LONGEST_SLOT or not re.search(words.ONE_NAME, said):
        return False
    ours, theirs = ({token.key or token.lower for token in tokens} for tokens in (here, there))
    return not ours & theirs and not any(token.is_number for token in here + there)


def _are_values(a: ConflictToken, b: ConflictToken) -> bool:
    """Different values of the same kind, or units beside them."""
    if a.lower in words.UNITS and b.lower in words.UNITS:
        return True
    return a.lower != b.lower and ((a.is_number and b.is_number) or (a.is_code and b.is_code))


def _is_quantity(value: list[ConflictToken], following: list[ConflictToken]) -> bool:
    """Whether it counts or measures something ("30 days", "8 workers", "80%"), or is a bound ("15 and later")."""
    amount = r"\d+(?:[.,]\d+)?%?"  # no version, no time of day
    if not all(re.fullmatch(amount, one.lower) or one.lower in words.NUMBERS | words.UNITS for one in value):
        return False
    last = value[-1].lower
    if last.endswith("%") or last in words.UNITS or any(token.lower in words.BOUNDS for token in following[:2]):
        return True
    return bool(following) and following[0].lower.isalpha() and bool(following[0].key)


def _has_one_value(before: list[str], value: list[ConflictToken], following: list[str]) -> bool:
    """Whether what is said of a value holds for one value at a time."""
    if has_characters("".join(before)):
        return not re.search(words.SEVERAL_CHINESE, "".join([*before, *following]))
    is_number = all(token.is_number for token in value)
    if any(
        re.fullmatch(words.ONE_VALUE, word) or (is_number and re.fullmatch(words.ONE_NUMBER, word)) for word in before
    ):
        return True
    for word in before[: -1 - _NEAR_BE : -1]:
        if word in words.BE:
            return True
        if re.fullmatch(words.SEVERAL, word):
            return False
    return False
