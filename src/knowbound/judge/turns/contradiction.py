"""Explicit evidence that an answer is incompatible with an item (specification 2, section 3: leaving it out is none).

An item is aligned with the passages of the response that speak about the same thing. Evidence is a word of denial
beside the item's own words, another value of the same kind beside the same words, an opposite, a negation that only one
side has, a call that corrects the item. Against it count a plan, another environment, and what could not be verified.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from knowbound.core.quality import JudgedCall, JudgedItem
from knowbound.judge.turns import denial
from knowbound.judge.turns.alignment import ItemWord, coverage, hit, shares_of, words_of_passage
from knowbound.judge.turns.item_text import ItemText
from knowbound.judge.turns.passages import Passage, Passages, TurnText, input_lines
from knowbound.judge.turns.values import Value, ValueKind
from knowbound.text.conflict_words import OPPOSITES, opposites_of

_ALIGNED = 8  # passages that are looked at more closely
_LEAST = 0.08  # of an item's words, in a passage that is
_NEAR = 60  # characters between a word of the item and a word of denial
_SLOT = 45  # characters between a value and the words that say what it is a value of
_TELLING = 0.4  # the weight of a word that says what is spoken of
_OF_AN_OUTPUT = 2000  # characters: what was not found is said first
_LONG_ENOUGH = 3  # characters of a value that does not stand in any text
_NUMERIC = frozenset(
    (
        ValueKind.DURATION,
        ValueKind.SIZE,
        ValueKind.PERCENT,
        ValueKind.VERSION,
        ValueKind.NUMBER,
        ValueKind.TIME,
        ValueKind.DATE,
        ValueKind.DAY,
    )
)
_CUES = {
    "memory": denial.MEMORY,
    "wrong": denial.WRONG,
    "retired": denial.RETIRED,
    "gone": denial.GONE,
    "changed": denial.CHANGED,
    "not": denial.NEGATION,
}
_REJECTING = ("wrong", "gone", "retired")
_SUFFIXES = ("", "_near", "_unique", "_value")

Span = tuple[int, int]


class ContradictionEvidence(NamedTuple):
    """The features of an item's contradiction, and the passages that are the best witnesses."""

    features: dict[str, float]
    witnesses: tuple[int, ...]  # of the response, best first


class _Search:
    """The evidence about one item while it is collected."""

    def __init__(self, turn: TurnText, item: ItemText) -> None:
        words = item.words
        self.turn = turn
        self.content = item.content
        self.words = words
        self.text = item.content.lower
        self.total = sum(word.weight for word in words) or 1.0
        self.unique = frozenset(word.terms[0] for word in item.unique)
        self.telling = frozenset(word.terms[0] for word in words if word.weight >= _TELLING)
        self.weights = {word.terms[0]: word.weight for word in words}
        self.keys = item.content.keys
        self.shares = [share / self.total for share in shares_of(words, turn.response)]
        ranked = sorted(range(len(self.shares)), key=lambda at: (-self.around(at), at))
        self.order = [at for at in ranked[:_ALIGNED] if self.around(at) >= _LEAST]
        self.found: dict[str, float] = {}
        self.scores = dict.fromkeys(self.order, 0.0)

    def around(self, at: int) -> float:
        """The share of a passage, or half of it and its neighbour before it."""
        before = self.shares[at - 1] if at else 0.0
        return max(self.shares[at], 0.5 * (self.shares[at] + before))

    def note(self, name: str, value: float, at: int | None = None, counts: float = 0.0) -> None:
        """Keep the strongest evidence of a kind, and whose passage it is."""
        self.found[name] = max(self.found.get(name, 0.0), value)
        if at is not None:
            self.scores[at] += counts * value


def evidence(turn: TurnText, item: JudgedItem, text: ItemText) -> ContradictionEvidence:
    """What speaks for and against a contradiction of the item."""
    search = _Search(turn, text)
    for name in _names():
        search.found[name] = 0.0
    for at in search.order:
        _denials(search, at)
        _opposites(search, at)
    _other_values(search)
    _calls(search, item)
    found = search.found
    ours, asked = denial.environments(search.text), denial.environments(turn.prompt.lower)
    found["other_env"] = float(bool(ours and asked and not ours & asked))
    found["all_unverified"] = float(any(_says(denial.UNVERIFIED, one.lower) for one in turn.response.all[:3]))
    found["memory_and_wrong"] = min(found["c_memory"], max(found["c_wrong"], found["c_retired"], found["c_gone"]))
    found["rejected"] = max(found[f"c_{cue}_unique"] for cue in _REJECTING)
    found["rejected_value"] = max(found[f"c_{cue}_value"] for cue in _REJECTING)
    found["slot"] = max(found["x_number_gone"], found["x_path_gone"], found["x_name_gone"] * 0.5)
    found["aligned"] = max(search.shares, default=0.0)
    ranked = sorted(search.order, key=lambda at: (-search.scores[at], -search.shares[at], at))
    return ContradictionEvidence(found, tuple(ranked[:2]))


@lru_cache(maxsize=1)
def _names() -> tuple[str, ...]:
    cues = [f"c_{cue}{suffix}" for cue in _CUES for suffix in _SUFFIXES]
    values = [f"x_{kind}{suffix}" for kind in ("number", "path", "name") for suffix in ("", "_gone", "_cued")]
    return (
        *cues, *values, "x_pair", "x_planned", "x_other_env", "mem_denied", "mem_unverified", "c_plan", "c_unverified",
        "polarity", "polarity_close", "opposite", "k_correct_id", "k_correct_text", "k_update_id", "k_update_text",
        "o_missing", "rejected_planned",
    )  # fmt: skip


# Words of denial


def _denials(search: _Search, at: int) -> None:
    passage = search.turn.response.all[at]
    share = search.around(at)
    lower = passage.lower
    planned = _says(denial.PLAN, lower)
    for cue, spans in _cues(lower).items():
        near = {terms[0] for start, terms in passage.places if _is_near(start, spans) and terms[0] in search.telling}
        counts = 1.0 if cue in _REJECTING or cue == "memory" else 0.2
        search.note(f"c_{cue}", share, at, counts * 0.5)
        search.note(f"c_{cue}_near", sum(search.weights[term] for term in near) / search.total, at, counts)
        unique = max((search.weights[term] for term in near & search.unique), default=0.0)
        search.note(f"c_{cue}_unique", unique * min(1.0, 2 * share), at, counts)
        if any(value.key in search.keys and _is_near(value.start, spans) for value in passage.values):
            search.note(f"c_{cue}_value", min(1.0, 2 * share), at, counts)
        if planned and cue in _REJECTING:
            search.note("rejected_planned", unique * min(1.0, 2 * share))
    if _says(denial.MEMORY, lower):
        after = " ".join(one.lower for one in search.turn.response.all[at : at + 3])
        denied = _says(denial.WRONG, after) or _says(denial.RETIRED, after) or _says(denial.AGAINST, after)
        search.note("mem_denied", share if denied else 0.0, at, 0.5)
        search.note("mem_unverified", share if _says(denial.UNVERIFIED, after) else 0.0)
    search.note("c_plan", share if planned else 0.0)
    search.note("c_unverified", share if _says(denial.UNVERIFIED, lower) else 0.0)


@lru_cache(maxsize=2_000)
def _cues(text: str) -> dict[str, list[Span]]:
    """Where a passage has words of denial: several items ask for the same passage."""
    found = {cue: [match.span() for match in pattern.finditer(text)] for cue, pattern in _CUES.items()}
    return {cue: spans for cue, spans in found.items() if spans}


@lru_cache(maxsize=8_000)
def _says(pattern: re.Pattern[str], text: str) -> bool:
    return pattern.search(text) is not None


def _is_near(start: int, spans: Sequence[Span]) -> bool:
    return any(first - _NEAR < start < last + _NEAR for first, last in spans)


# Negations and opposites


def _opposites(search: _Search, at: int) -> None:
    passage, share = search.turn.response.all[at], search.shares[at]
    ours, theirs = _says(denial.NEGATION, search.text), _says(denial.NEGATION, passage.lower)
    if ours != theirs:
        search.note("polarity", share)
        search.note("polarity_close", max(0.0, share - 0.4) / 0.6, at, 0.3)
    sides = _sides(search.text)
    others = _sides(passage.lower)
    if any(row in others and not sides[row] & others[row] for row in sides):
        search.note("opposite", share, at, 1.0)


@lru_cache(maxsize=512)
def _sides(text: str) -> dict[int, frozenset[int]]:
    """The rows of opposites that a text has words of, and on which side."""
    found: dict[int, set[int]] = {}
    for word in text.replace("=", " ").replace("`", " ").split():
        for row, side in opposites_of(word.strip(".,;:()*\"'")).items():
            found.setdefault(row, set()).add(side)
    return {row: frozenset(several) for row, several in found.items() if row < len(OPPOSITES) or len(several) == 1}


# Other values


def _other_values(search: _Search) -> None:
    for passage in search.content.all:
        words = [word for word in words_of_passage(passage) if word.weight >= _TELLING / 2]
        for value in passage.values:
            about = _about(words, value)
            if about:
                for at in search.order:
                    _compare(search, value, about, at)


def _about(words: Sequence[ItemWord], value: Value) -> list[ItemWord]:
    """The words that say what a value is a value of: those around it, the nearest first."""
    around = [word for word in words if not value.start <= word.start < value.end and not word.terms[0].isdigit()]
    around.sort(key=lambda word: (min(abs(word.start - value.start), abs(word.start - value.end)), word.start))
    return around[:4]


def _compare(search: _Search, value: Value, about: Sequence[ItemWord], at: int) -> None:
    passage = search.turn.response.all[at]
    total = sum(word.weight for word in about)
    for other in passage.values:
        if other.kind is not value.kind or other.key in search.keys or _refines(value.key, other.key):
            continue
        terms = frozenset(
            term
            for start, several in passage.places
            if other.start - _SLOT < start < other.end + _SLOT and not other.start <= start < other.end
            for term in several
        )
        near = sum(word.weight * hit(word, terms) for word in about) / total * _likeness(value, other)
        if near <= 0:
            continue
        near *= min(1.0, 0.4 + search.around(at))
        kind = "number" if value.kind in _NUMERIC else "path" if value.kind is ValueKind.PATH else "name"
        search.note(f"x_{kind}", near, at, 0.3)
        if value.key not in search.turn.response.keys:
            search.note(f"x_{kind}_gone", near, at, 1.0)
        if _says(denial.WRONG, passage.lower) or _says(denial.CHANGED, passage.lower):
            search.note(f"x_{kind}_cued", near, at, 0.3)
        if value.key in passage.keys:
            search.note("x_pair", near)
        if _says(denial.PLAN, passage.lower) or other.key in search.turn.prompt.keys:
            search.note("x_planned", near)
        ours, theirs = denial.environments(search.text), denial.environments(passage.lower)
        if ours and theirs and not ours & theirs:
            search.note("x_other_env", near)


def _likeness(one: Value, other: Value) -> float:
    """How far a value can take the other's place: any number of its kind, a path or name that shares a part."""
    if one.kind in _NUMERIC:
        return 1.0
    ours, theirs = _parts(one.key), _parts(other.key)
    shared = len(ours & theirs)
    return 0.4 + 0.6 * shared / max(len(ours), len(theirs), 1)


def _refines(one: str, other: str) -> bool:
    """Whether a number or a version only says more or less exactly what the other says: 5 and 5.13."""
    return one.startswith(f"{other}.") or other.startswith(f"{one}.")


def _parts(key: str) -> frozenset[str]:
    for sign in "/._-:":
        key = key.replace(sign, " ")
    return frozenset(key.split())


# Calls


def _calls(search: _Search, item: JudgedItem) -> None:
    """Calls that correct the item, and calls with its value that found nothing."""
    for call, text in zip(search.turn.calls, search.turn.call_texts, strict=True):
        kind = _kind(call)
        if kind:
            lines = Passages(Passage(line) for line in input_lines(call))
            if item.id and item.id in _targets(call):
                search.note(f"k_{kind}_id", 1.0)
            else:
                search.note(f"k_{kind}_text", coverage(search.words, lines.terms))
        elif any(len(key) > _LONG_ENOUGH and key in text for key in search.keys) and _says(
            denial.MISSING, call.output[:_OF_AN_OUTPUT].lower()
        ):
            search.note("o_missing", 1.0)


def replacement(turn: TurnText, item: str) -> str:
    """What a call that withdraws an item puts in its place."""
    said = (call.input.get("content") for call in turn.calls if _kind(call) == "correct" and item in _targets(call))
    return next((one for one in said if isinstance(one, str)), "")


def _kind(call: JudgedCall) -> str:
    """Whether a call withdraws or replaces an item ("correct"), changes or adds one ("update"), or neither ("")."""
    name = call.name.lower()
    if denial.CORRECTING_CALL.search(name):
        return "" if str(call.input.get("flag", "")).upper() in denial.FLAGS_THAT_KEEP else "correct"
    return "update" if denial.UPDATING_CALL.search(name) else ""


def _targets(call: JudgedCall) -> frozenset[str]:
    """The ids that a call is about: not the id of what replaces them."""
    found: set[str] = set()
    for key, value in call.input.items():
        if key in ("also", "ids") and isinstance(value, list):
            found.update(one for one in value if isinstance(one, str))
        elif isinstance(value, str) and (key == "id" or key.endswith("_id")) and not key.startswith(("by", "new")):
            found.add(value)
    return frozenset(found)
