"""Which of the items that are about to be injected contradict each other, and which of two to believe.

The hook has no time for the rules where nothing conflicts: they are loaded only where a first look at two sentences
finds that they speak of the same, and a sign of a conflict: numbers or code in both, or a word that denies, retires,
owns or has an opposite in one.
"""

from __future__ import annotations

from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowbound.kms.search.ranking import FoundItem

_MOST_CHARACTERS = 1_200  # of an item: what is injected of it at most
_MOST_SENTENCES = 6
_PUNCTUATION = ".,;:!?()[]`'\"/。，；：！？"
_FEW = 2  # words: of so few, one in common is enough
_START = 4  # characters of a word that are compared
_SMALL_WORDS = frozenset(
    "with from that this they them then than when will must have been were does each every into only also your "
    "their there which would should could after before using used uses para como avec dans pour sont être une des les "
    "oder sind wird werden einer eine eines über nach".split()
)
_NUMBERS = frozenset("one two three four five six seven eight nine ten twelve twenty thirty once twice".split())
_SIGNS = frozenset(
    word[:_START]
    for word in (
        "no not never nobody none nowhere cannot without instead rather longer deprecated obsolete "
        "removed retired deleted "
        "dropped switched turned shut discontinued decommissioned replaced superseded abandoned "
        "gone stopped moved migrated "
        "rejected forbidden prohibited blocked enabled disabled active deactivated synchronous "
        "asynchronous included excluded "
        "accepts mutable immutable automatic manual mandatory optional required tabs spaces utc "
        "local ascending descending "
        "monday tuesday wednesday thursday friday saturday sunday hourly daily weekly monthly "
        "encrypted unencrypted public "
        "private internal own owns owner maintains responsible contact operates ask always "
        "nicht kein nie niemand ohne statt anstelle veraltet abgeschaltet ersetzt entfernt "
        "eingestellt verboten zuständig "
        "betreut ansprechpartner ortszeit deaktiviert "
        "ne pas jamais aucun sans plutôt lieu remplacé supprimé désactivé interdit "
        "nunca ningún sin nadie dejamos lugar reemplaza eliminado desactivado encargado mantiene"
    ).split()
)


class Conflict:
    """Two items that contradict each other; the first is the one to believe, where that is known."""

    def __init__(self, first: FoundItem, second: FoundItem, why: str) -> None:
        self.first = first
        self.second = second
        self.why = why  # why the first: newer, or the second is UNVERIFIED or STALE; "" where it is not known


class _Look:
    """A sentence at first sight."""

    __slots__ = ("has_code", "has_number", "has_sign", "names", "words")

    def __init__(self, sentence: str) -> None:
        words = {word.strip(_PUNCTUATION) for word in sentence.lower().split()}
        self.words = {word[:_START] for word in words if len(word) >= _START and word not in _SMALL_WORDS}
        if not sentence.isascii():  # of a language without spaces, its characters
            self.words |= {sign for sign in sentence if sign >= "\u3040"}
        self.names = {part for part in sentence.split() if not part.strip(",.;:").isalpha()}
        self.names = {name.strip(_PUNCTUATION) for name in self.names if not name[0].isdigit() and len(name) > _START}
        self.has_code = "`" in sentence or "/" in sentence
        self.has_number = not words.isdisjoint(_NUMBERS) or any(map(str.isdigit, sentence))
        starts = {word[:_START] for word in words}
        self.has_sign = (
            not starts.isdisjoint(_SIGNS) or "n't" in sentence or any(sign >= "\u3040" for sign in self.words)
        )


def conflicts_among(items: Sequence[FoundItem]) -> list[Conflict]:
    """Every pair of the items that contradicts each other, in the order of their ids."""
    ordered = sorted(items, key=lambda item: (item.id, item.backend))
    return [
        _weighed(ordered[one], ordered[other])
        for one in range(len(ordered))
        for other in range(one + 1, len(ordered))
        if _contradict(ordered[one].content, ordered[other].content)
    ]


@lru_cache(maxsize=256)
def _contradict(a: str, b: str) -> bool:
    if not _may_contradict(_look(a), _look(b)):
        return False
    from knowbound.injection.conflict_rules import conflicting  # noqa: PLC0415  # it costs 25 ms

    return conflicting(a, b)


@lru_cache(maxsize=64)
def _look(content: str) -> list[_Look]:
    sentences = content[:_MOST_CHARACTERS].replace("\n", ". ").replace("。", ". ").split(". ")
    return [_Look(part) for part in [part for part in sentences if part.strip()][:_MOST_SENTENCES]]


def _may_contradict(a: list[_Look], b: list[_Look]) -> bool:
    return any(_speak_of_one(one, other) for one in a for other in b)


def _speak_of_one(a: _Look, b: _Look) -> bool:
    shared = len(a.words & b.words)
    if not shared:
        return False
    fewer = min(len(a.words), len(b.words))
    if shared >= 2 and 2 * shared >= fewer:
        return True
    if not (a.has_sign or b.has_sign or (a.has_number and b.has_number) or (a.has_code and b.has_code)):
        return False
    if shared >= 2:
        return 3 * shared >= fewer
    return fewer <= _FEW or not a.names.isdisjoint(b.names)


def _weighed(a: FoundItem, b: FoundItem) -> Conflict:
    for mark, of_a, of_b in (("UNVERIFIED", a.flag, b.flag), ("STALE", a.stale, b.stale)):
        if bool(of_a) != bool(of_b):
            return Conflict(b, a, mark) if of_a else Conflict(a, b, mark)
    if a.timestamp and b.timestamp and a.timestamp != b.timestamp:
        return Conflict(a, b, "newer") if a.timestamp > b.timestamp else Conflict(b, a, "newer")
    return Conflict(a, b, "")
