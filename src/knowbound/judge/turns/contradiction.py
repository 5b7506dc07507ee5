"""Explicit evidence that an answer is incompatible with an item (specification 2, section 3: leaving it out is none).

An item is aligned with the passages of the response that speak about the same thing. Evidence is another value of the
same kind beside the same words, a word of denial beside the item's own words, a call that corrects the item. Against it
count a plan, a condition, another environment, and what could not be verified.
"""

from __future__ import annotations

from typing import NamedTuple

from knowbound.core.quality import JudgedItem
from knowbound.judge.turns import denial
from knowbound.judge.turns.alignment import Word, coverage, hit, words_of
from knowbound.judge.turns.passages import Passage, Passages, TurnText, input_lines
from knowbound.judge.turns.values import Kind, Value

_ALIGNED = 8  # passages that are looked at more closely
_NEAR_ITEM = 60  # characters around a value of the item
_NEAR = 70  # characters around a value or a word of denial in the response
_TELLING = 0.45  # the weight of a word that says what is spoken of
_NUMERIC = frozenset(
    (Kind.DURATION, Kind.SIZE, Kind.PERCENT, Kind.VERSION, Kind.NUMBER, Kind.TIME, Kind.DATE, Kind.DAY)
)
_CUES = {
    "memory": denial.MEMORY,
    "wrong": denial.WRONG,
    "retired": denial.RETIRED,
    "changed": denial.CHANGED,
    "strongly": denial.STRONGLY_CHANGED,
    "not": denial.NEGATION,
}


class Evidence(NamedTuple):
    """The features of an item's contradiction, and the passages that are the best witnesses."""

    features: dict[str, float]
    witnesses: tuple[int, ...]  # of the response, best first


def evidence(turn: TurnText, item: JudgedItem, content: Passages, words: list[Word]) -> Evidence:
    """What speaks for and against a contradiction of the item."""
    found: dict[str, float] = {}
    passages = turn.response.all
    total = sum(word.weight for word in words) or 1.0
    shares = [sum(word.weight * hit(word, one.terms) for word in words) / total for one in passages]
    order = sorted(range(len(passages)), key=lambda at: (-_around(shares, at), at))[:_ALIGNED]
    values = [value for one in content.all for value in one.values]
    own_keys = frozenset(value.key for value in values)
    scores: dict[int, float] = {}

    # Words of denial
    negated = bool(denial.NEGATION.search(" ".join(one.lower for one in content.all)))
    own_environments = denial.environments(" ".join(one.lower for one in content.all))
    for name in (*_CUES, "plan", "unverified", "polarity", "env"):
        found[f"c_{name}"] = 0.0
    for name in _CUES:
        found[f"c_{name}_near"] = 0.0
        found[f"c_{name}_value"] = 0.0
    for at in order:
        passage = passages[at]
        share = _around(shares, at)
        if share < 0.1:
            continue
        telling = [word for word in words if word.weight >= _TELLING and hit(word, passage.terms) >= 1]
        for name, pattern in _CUES.items():
            spans = [match.span() for match in pattern.finditer(passage.lower)]
            if not spans:
                continue
            found[f"c_{name}"] = max(found[f"c_{name}"], share)
            near = _share_near(spans, telling, passage, total)
            found[f"c_{name}_near"] = max(found[f"c_{name}_near"], near)
            if any(value.key in own_keys and _is_near(value, spans) for value in passage.values):
                found[f"c_{name}_value"] = max(found[f"c_{name}_value"], share)
            if name in ("wrong", "retired", "memory", "strongly"):
                scores[at] = scores.get(at, 0.0) + near + share * 0.5
        if bool(denial.NEGATION.search(passage.lower)) != negated:
            found["c_polarity"] = max(found["c_polarity"], shares[at])
        if denial.PLAN.search(passage.lower):
            found["c_plan"] = max(found["c_plan"], share)
        if denial.UNVERIFIED.search(passage.lower):
            found["c_unverified"] = max(found["c_unverified"], share)
        theirs = denial.environments(passage.lower)
        if own_environments and theirs and not own_environments & theirs:
            found["c_env"] = max(found["c_env"], share)

    # Other values
    for group in ("number", "path", "name"):
        found[f"x_{group}"] = found[f"x_{group}_gone"] = found[f"x_{group}_cued"] = 0.0
    found["x_pair"] = 0.0
    for value in values:
        is_gone = value.key not in turn.response.keys
        context = _context(content, value)
        if not context:
            continue
        weight = sum(word.weight for word in context)
        for at in order:
            passage = passages[at]
            for other in passage.values:
                if other.kind is not value.kind or other.key in own_keys:
                    continue
                likeness = _likeness(value, other)
                if not likeness:
                    continue
                around = _terms_around(passage, other)
                near = sum(word.weight * hit(word, around) for word in context) / max(weight, 1.0) * likeness
                if near <= 0:
                    continue
                near = min(1.0, near) * (0.5 + shares[at])
                group = "number" if value.kind in _NUMERIC else "path" if value.kind is Kind.PATH else "name"
                found[f"x_{group}"] = max(found[f"x_{group}"], near)
                if is_gone:
                    found[f"x_{group}_gone"] = max(found[f"x_{group}_gone"], near)
                if denial.WRONG.search(passage.lower) or denial.STRONGLY_CHANGED.search(passage.lower):
                    found[f"x_{group}_cued"] = max(found[f"x_{group}_cued"], near)
                if value.key in passage.keys:
                    found["x_pair"] = max(found["x_pair"], near)
                scores[at] = scores.get(at, 0.0) + near

    found |= _calls(turn, item, words, own_keys, content)
    whole = turn.response.lower
    found["says_memory"] = float(bool(denial.MEMORY.search(whole)))
    found["says_wrong"] = float(bool(denial.WRONG.search(whole)))
    found["memory_and_wrong"] = min(found["c_memory"], max(found["c_wrong"], found["c_retired"]))
    found["aligned"] = max(shares, default=0.0)
    ranked = sorted(order, key=lambda at: (-scores.get(at, 0.0), -shares[at], at))
    return Evidence(found, tuple(ranked[:2]))


def _around(shares: list[float], at: int) -> float:
    """The share of a passage, and a part of what its neighbour before it has more."""
    before = shares[at - 1] if at else 0.0
    return max(shares[at], 0.5 * (shares[at] + before))


def _is_near(value: Value, spans: list[tuple[int, int]]) -> bool:
    return any(start - _NEAR < value.start < end + _NEAR for start, end in spans)


def _share_near(spans: list[tuple[int, int]], telling: list[Word], passage: Passage, total: float) -> float:
    """The share of the item's telling words that stand near a word of denial."""
    near = {
        term
        for place, terms in passage.places
        if any(start - _NEAR < place < end + _NEAR for start, end in spans)
        for term in terms
    }
    return sum(word.weight for word in telling if word.terms[0] in near) / total


def _context(content: Passages, value: Value) -> list[Word]:
    """The words around a value of the item."""
    for passage in content.all:
        if value in passage.values:
            words = words_of(Passages([passage]))
            return [
                word
                for word in words
                if value.start - _NEAR_ITEM < word.start < value.end + _NEAR_ITEM
                and not value.start <= word.start < value.end
            ]
    return []


def _terms_around(passage: Passage, value: Value) -> frozenset[str]:
    return frozenset(
        term
        for start, terms in passage.places
        if value.start - _NEAR < start < value.end + _NEAR and not value.start <= start < value.end
        for term in terms
    )


def _likeness(one: Value, other: Value) -> float:
    """How far a value can take the other's place: any number of its kind, a path or name that shares a part."""
    if one.kind in _NUMERIC:
        return 1.0
    ours, theirs = _parts(one.key), _parts(other.key)
    shared = len(ours & theirs)
    return 0.4 + 0.6 * shared / max(len(ours), len(theirs), 1)


def _parts(key: str) -> frozenset[str]:
    for sign in "/._-:":
        key = key.replace(sign, " ")
    return frozenset(key.split())


def _calls(
    turn: TurnText, item: JudgedItem, words: list[Word], own_keys: frozenset[str], content: Passages
) -> dict[str, float]:
    """Calls that correct the item, and calls with its value that found nothing."""
    found = {"k_correct_id": 0.0, "k_correct_text": 0.0, "k_update_id": 0.0, "k_update_text": 0.0, "o_missing": 0.0}
    for call in turn.calls:
        name = call.name.lower()
        kind = (
            "correct" if denial.CORRECTING_CALL.search(name) else "update" if denial.UPDATING_CALL.search(name) else ""
        )
        if kind and "kms" in name:
            lines = Passages(Passage(line) for line in input_lines(call))
            if item.id and any(item.id == one.text.strip() or item.id in one.text.split() for one in lines.all):
                found[f"k_{kind}_id"] = 1.0
            else:
                found[f"k_{kind}_text"] = max(found[f"k_{kind}_text"], coverage(words, lines.terms))
        elif own_keys and denial.MISSING.search(call.output[:2000].lower()):
            text = " ".join(input_lines(call)).lower()
            if any(len(key) > 3 and key in text for key in own_keys):
                found["o_missing"] = 1.0
    return found
