"""Whether two items contradict each other, by rules over their words.

Similarity cannot say it: sentences that contradict are more alike than sentences that agree. Two statements conflict
where they are the same but for one place (`conflict_one_place`), or where they speak of the same thing and
- one retires a name that the other uses,
- both have a value of the same dimension for it, and the values differ,
- both name a place or a setting for it, one of them as the only one,
- both name an owner,
- one denies what the other asserts or permits,
- they say opposites of it.
Precision counts more than recall: a conflict that is none discredits a good item (`python -m bench.conflicts`).
"""

from __future__ import annotations

import re

from knowbound.injection.conflict_one_place import differ_in_one_place, has_one_value
from knowbound.injection.conflict_statements import Statement, Token, has_characters, negations, statements, weight
from knowbound.injection.conflict_words import (
    CONDITION,
    COPULAS,
    EXCEPTION,
    EXCLUSIVE,
    NEGATION,
    NEGATIVE,
    OF_A_PREDICATE,
    ONLY_POSSIBLE,
    OPPOSITE_PHRASES,
    OPPOSITES,
    OWNERSHIP,
    PERMISSION,
    RETIRED,
    RETIRES,
    TEAMS,
)

_LONGEST_NAME = 6  # words of what is retired
_COPULA = frozenset("is are was were be a an the ist sind est sont es son está están un une una ein eine".split())
_ENV_VARIABLE = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+")


def conflicting(a: str, b: str) -> bool:
    """Whether two texts contradict each other."""
    if a == b:
        return False
    if differ_in_one_place(a, b):
        return True
    if EXCEPTION.search(a) or EXCEPTION.search(b):
        return False
    ours, theirs = statements(a), statements(b)
    if _retires(ours, theirs) or _retires(theirs, ours):
        return True
    return any(_contradict(one, other) for one in ours for other in theirs)


def _contradict(a: Statement, b: Statement) -> bool:
    if _name_two_targets(a, b):
        return False
    is_one_case = not _hold_for_others(a, b)
    if is_one_case and _differ_in_a_setting(a, b):
        return True
    if not a.content.keys() & b.content.keys() or not _have_one_subject(a, b):
        return False
    if (is_one_case and _differ_in_a_value(a, b)) or _differ_in_place(a, b) or _differ_in_owner(a, b):
        return True
    return _denies(a, b) or _denies(b, a) or _are_opposite(a, b)


# One retires what the other uses


def _retires(ours: list[Statement], theirs: list[Statement]) -> bool:
    about = {key for statement in ours for key in statement.content}
    for statement in ours:
        for clause in statement.clauses:
            for retired in _retired(statement, clause):
                if any(_is_used(retired, about, statement, other) for other in theirs):
                    return True
    return False


def _retired(statement: Statement, clause: int) -> list[list[Token]]:
    """What a clause says is no longer used: the words before or after the marker."""
    text = statement.clause_text(clause)
    if CONDITION.search(text) or ONLY_POSSIBLE.search(text):
        return []  # under that condition alone, or not yet
    start = statement.clause_start(clause)
    tokens = [token for token in statement.tokens if token.clause == clause]
    found = []
    if marker := RETIRED.search(text):
        before = [token for token in tokens if token.start < start + marker.start()]
        if has_characters(marker[0]):
            before = [token for token in before if len(token.text) > 1]
        found.append(before[-_LONGEST_NAME:])
    if marker := RETIRES.search(text):
        after = [token for token in tokens if token.start >= start + marker.end()]
        found.append(_until_a_small_word(after)[:_LONGEST_NAME])
    return [phrase for phrase in found if phrase]


def _until_a_small_word(tokens: list[Token]) -> list[Token]:
    """The phrase at the beginning of some words."""
    phrase: list[Token] = []
    for token in tokens:
        if not token.key and phrase:
            break
        if token.key:
            phrase.append(token)
    return phrase


def _is_used(retired: list[Token], about: set[str], by: Statement, other: Statement) -> bool:
    if RETIRED.search(other.text) or RETIRES.search(other.text) or negations(other.text):
        return False
    keys = [token.key for token in retired if token.key and not token.is_number]
    names = [token for token in retired if token.is_name and token.key and len(token.key) > 2]
    named = {token.key for token in names if _mentions(other, token)}
    kept = {token.key for token in by.tokens if token.is_name} - set(keys)
    if kept and kept <= other.content.keys():
        return False  # it knows the replacement
    links = about & other.content.keys()
    if named:
        return bool(links - named)
    whole = bool(keys) and all(key in other.content for key in keys)
    return whole and len(links) >= 2


def _mentions(statement: Statement, name: Token) -> bool:
    if name.key in statement.content:
        return True
    needle = name.key if name.is_code else name.lower
    return bool(re.search(rf"(?<![\w-]){re.escape(needle)}(?![\w-])", statement.lower))


# Both have a value


def _differ_in_a_value(a: Statement, b: Statement) -> bool:
    """Each has values of one dimension for the same subject, and no value is the same."""
    if bool(negations(a.text)) != bool(negations(b.text)) and CONDITION.search(a.text + " " + b.text):
        return False
    ours, theirs = a.values(), b.values()
    is_exclusive = EXCLUSIVE.search(a.text) or EXCLUSIVE.search(b.text)
    for one in ours:
        same = [value for value in theirs if value.what == one.what]
        if not same or any(value.amount == mine.amount for value in same for mine in ours if mine.what == one.what):
            continue
        for other in same:
            here = _without(a.clause_content(one.clause), one.words)
            there = _without(b.clause_content(other.clause), other.words)
            if not one.is_quantity and not (is_exclusive or _takes_one(a, one.at) or _takes_one(b, other.at)):
                continue
            if one.what.startswith("version ") and here.keys() & there.keys():
                return True
            if _speak_of_one(here, there, least=0.5) or (is_exclusive and _lie_within(here, there, least=0.66)):
                return True
    return False


def _hold_for_others(a: Statement, b: Statement) -> bool:
    """Whether each names what it holds for, and these differ: "10 MB for images", "100 MB for videos"."""
    ours, theirs = _cases(a), _cases(b)
    words, others = ({token.key or token.lower for token in one.tokens} for one in (a, b))
    return any(ours[word] - others and theirs[word] - words for word in ours.keys() & theirs.keys())


def _cases(statement: Statement) -> dict[str, set[str]]:
    """The noun after each "for", "in" or "per"."""
    found: dict[str, set[str]] = {}
    for at, token in enumerate(statement.tokens):
        if token.lower in _CASES:
            after = [one for one in statement.tokens[at + 1 : at + 4] if one.clause == token.clause]
            noun = next((one for one in after if one.lower not in _ARTICLES), None)
            if noun and not noun.is_number and not noun.is_code:
                found.setdefault(token.lower, set()).add(noun.key or noun.lower)
    return found


def _takes_one(statement: Statement, at: int) -> bool:
    """Whether what is said of a value holds for one value at a time: not "supports 3.10"."""
    words = [token.lower for token in statement.tokens]
    return bool(at and words[at - 1] in COPULAS) or has_one_value(words[:at], words[at : at + 1], words[at + 1 :])


def _differ_in_a_setting(a: Statement, b: Statement) -> bool:
    """`NAME = value`, "NAME is value": the same name, another value."""
    ours, theirs = _settings(a), _settings(b)
    return any(name in theirs and theirs[name] != value for name, value in ours.items())


_CASES = frozenset("for in per during für pro pour par dans para por en".split())
_ARTICLES = frozenset(
    "the a an all any each every our your its der die das den dem le la les un une el los las".split()
)
_SETTING = re.compile(
    r"`?(?<![\w.-])([A-Za-z][\w.-]{0,40}?[A-Z_][\w.-]{0,40})`?\s{0,3}(?:=|:=|:|is set to|is|ist|est|es|は|为|是)\s{0,3}"
    r"`?([\w.-]{0,20}\d[\w.-]{0,20}|true|false|on|off)\b",
)


def _settings(statement: Statement) -> dict[str, str]:
    return {found[1].lower(): found[2].lower().rstrip(".") for found in _SETTING.finditer(statement.text)}


def _differ_in_place(a: Statement, b: Statement) -> bool:
    """Each names a place, a command or a tool for the same, and nothing else differs or one says it is the only one."""
    is_exclusive = bool(EXCLUSIVE.search(a.text) or EXCLUSIVE.search(b.text))
    if negations(a.text) != negations(b.text) and not is_exclusive:
        return False
    for at, one in enumerate(a.tokens):
        for place, other in enumerate(b.tokens):
            kind = _kind_of_place(one)
            if not kind or kind != _kind_of_place(other) or one.key in b.content or other.key in a.content:
                continue
            if one.key.startswith(other.key) or other.key.startswith(one.key):
                continue  # a place within the other
            here, there = _without(a.content, {one.key}), _without(b.content, {other.key})
            if is_exclusive and kind != "name" and _lie_within(here, there, least=0.5):
                return True
            here = _without(a.clause_content(one.clause), {one.key})
            there = _without(b.clause_content(other.clause), {other.key})
            is_only = is_exclusive or kind == "command"
            if not is_only and (kind == "name" or not (_takes_one(a, at) or _takes_one(b, place))):
                continue
            if _speak_of_one(here, there, least=0.6):
                return True
    return False


def _kind_of_place(token: Token) -> str:
    if _ENV_VARIABLE.fullmatch(token.text):
        return "variable"
    if not token.is_code:
        return "name" if token.is_name and token.text[:1].isupper() and token.key else ""
    if " " in token.text:
        return "command" if token.text[0].islower() else ""
    return "path" if "/" in token.text or "." in token.text.strip(".") else ""


def _differ_in_owner(a: Statement, b: Statement) -> bool:
    """Both say who owns the same thing, and name others."""
    if not OWNERSHIP.search(a.text) or not OWNERSHIP.search(b.text):
        return False
    ours, theirs = _owners(a) - b.content.keys(), _owners(b) - a.content.keys()
    if not ours or not theirs:
        return False
    here, there = (
        {key: much for key, much in one.clause_content(0).items() if key not in owners and not _is_of_owning(key)}
        for one, owners in ((a, ours), (b, theirs))
    )
    return weight(here, here.keys() & there.keys()) >= max(1, 0.5 * min(weight(here), weight(there)))


def _is_of_owning(key: str) -> bool:
    return key in TEAMS or bool(OWNERSHIP.match(key))


def _owners(statement: Statement) -> set[str]:
    found = set()
    for at, token in enumerate(statement.tokens):
        after = statement.tokens[at + 1].lower if at + 1 < len(statement.tokens) else ""
        before = statement.tokens[at - 1].lower if at else ""
        is_proper = token.text[:1].isupper() and token.text[1:].islower() and not token.is_code
        if token.key and (is_proper or after in TEAMS or before in TEAMS) and token.lower not in TEAMS:
            found.add(token.key)
    return {key for key in found if not OWNERSHIP.search(key)}


# One denies


def _denies(a: Statement, b: Statement) -> bool:
    """One denies what the other asserts: most of its words and most of what is denied, or it permits that."""
    for clause in a.clauses:
        text = a.clause_text(clause)
        if negations(text) != 1:
            continue
        is_conditional = bool(CONDITION.search(text))
        whole = a.clause_content(clause, with_head=not _speaks_for_itself(a, clause))
        denied, first = _denied(a, clause)
        for other in b.clauses:
            said = b.clause_text(other)
            if negations(said) or NEGATIVE.search(said):
                continue
            asserted = b.clause_content(other)
            shared = whole.keys() & asserted.keys()
            if len(shared) < 2 or weight(whole, shared) < 0.7 * min(weight(whole), weight(asserted)):
                continue
            if any(much > 1 and key not in asserted for key, much in whole.items()):
                continue  # a name that the other does not speak of
            if is_conditional and (whole.keys() != asserted.keys() or a.numbers != b.numbers):
                continue
            if CONDITION.search(said) and len(shared) < len(whole):
                continue  # it denies less than the other asserts
            if weight(denied, shared) >= 0.5 * weight(denied) and (first in shared or PERMISSION.search(said)):
                return True
    return False


def _speaks_for_itself(statement: Statement, clause: int) -> bool:
    return clause == 0 or len(statement.clause_content(clause, with_head=False)) >= 3


def _denied(statement: Statement, clause: int) -> tuple[dict[str, int], str]:
    """What stands after the negation, and the first word of it; where a language puts it before, what stands there."""
    text = statement.clause_text(clause)
    found = [*NEGATION.finditer(text)][-1]
    end = statement.clause_start(clause) + found.end()
    tokens = [token for token in statement.tokens if token.clause == clause and token.key]
    after = [token for token in tokens if token.start >= end]
    first = after[0].key if after else (tokens[-1].key if tokens else "")
    return statement.keys(after or tokens), first


# They say opposites


def _are_opposite(a: Statement, b: Statement) -> bool:
    for rows, of_a_predicate in ((OPPOSITES, False), (OF_A_PREDICATE, True)):
        for row in rows:
            here, there = _side(a, row, of_a_predicate=of_a_predicate), _side(b, row, of_a_predicate=of_a_predicate)
            if not here or not there or here[0] == there[0]:
                continue
            ours, theirs = a.clause_content(here[1]), b.clause_content(there[1])
            if _lie_within(ours, theirs, least=0.4):
                return True
    return False


def _side(statement: Statement, row: tuple[str, ...], *, of_a_predicate: bool) -> tuple[int, int] | None:
    """Which word of a row of opposites a statement says, and in which clause; None where it says none or several."""
    found = {}
    for number, words in enumerate(row):
        for word in words.split("|"):
            if has_characters(word):
                at = statement.text.find(word)
                if at >= 0:
                    found[number] = statement.clause_at(at)
                continue
            for at, token in enumerate(statement.tokens):
                if token.lower.startswith(word) and not token.is_code:
                    before = [one.lower for one in statement.tokens[max(0, at - 2) : at]]
                    if not of_a_predicate or _COPULA.intersection(before):
                        found[number] = token.clause
    for pattern, name, number in OPPOSITE_PHRASES:
        if name == row[0].partition("|")[0] and (phrase := pattern.search(statement.text)):
            found[number] = statement.clause_at(phrase.start())
    if len(found) != 1:
        return None
    [(number, clause)] = found.items()
    text = statement.clause_text(clause)
    return None if negations(text) or ONLY_POSSIBLE.search(text) else (number, clause)


# Whether they speak of the same


def _name_two_targets(a: Statement, b: Statement) -> bool:
    """Two environments, platforms or settings."""
    for row in {row for row, _ in a.targets} & {row for row, _ in b.targets}:
        ours = {word for number, word in a.targets if number == row}
        theirs = {word for number, word in b.targets if number == row}
        if not ours & theirs:
            return True
    return False


def _have_one_subject(a: Statement, b: Statement) -> bool:
    """Not two services or two commands."""
    if a.has_characters and b.has_characters:
        return _begins_within(a, b) or _begins_within(b, a)
    return not _are_qualified_differently(a, b) and not _have_other_subjects(a, b)


def _begins_within(a: Statement, b: Statement) -> bool:
    """Chinese and Japanese name the subject first: two characters, or a word in another script."""
    first = [token.key for token in a.tokens if token.key][:2]
    return bool(first) and all(key in b.content for key in (first if len(first[0]) == 1 else first[:1]))


def _are_qualified_differently(a: Statement, b: Statement) -> bool:
    """ "orders service" and "billing service": a common word, and beside it words that the other does not have."""
    ours, theirs = _qualifiers(a), _qualifiers(b)
    return any(
        ours[key] and theirs[key] and not ours[key] & theirs[key] and not ours[key] & b.content.keys()
        and not theirs[key] & a.content.keys()
        for key in ours.keys() & theirs.keys()
    )  # fmt: skip


def _qualifiers(statement: Statement) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for before, token in zip(statement.tokens, statement.tokens[1:], strict=False):
        if token.key and not token.is_code and token.clause == before.clause and not before.is_number:
            found.setdefault(token.key, set()).update({before.key} if before.key else ())
    subject, qualifier = statement.subject()
    if qualifier:
        found.setdefault("subject " + subject, set()).add(qualifier)
    return found


def _have_other_subjects(a: Statement, b: Statement) -> bool:
    """Each begins with a piece of code that the other does not have."""
    ours, theirs = ({token.key for token in one.tokens[:3] if token.is_code} for one in (a, b))
    return bool(ours and theirs and not ours & b.codes and not theirs & a.codes)


def _overlap(a: dict[str, int], b: dict[str, int]) -> float:
    shared = a.keys() & b.keys()
    union = {**a, **b}
    return weight(union, set(shared)) / weight(union) if union else 0.0


def _without(keys: dict[str, int], words: frozenset[str] | set[str]) -> dict[str, int]:
    return {key: much for key, much in keys.items() if key not in words}


def _speak_of_one(a: dict[str, int], b: dict[str, int], *, least: float) -> bool:
    """Most words of both are common."""
    return weight(a, a.keys() & b.keys()) >= 2 and _overlap(a, b) >= least


def _lie_within(a: dict[str, int], b: dict[str, int], *, least: float) -> bool:
    """Most words of the shorter are in the other too."""
    shared = weight(a, a.keys() & b.keys())
    return shared >= 2 and shared >= least * min(weight(a), weight(b))
