"""Which of the items that are about to be injected contradict each other, and which of two to believe.

The hook has no time for the rules where nothing conflicts: they are loaded only where a first look at two sentences
finds that they speak of the same, and a sign of a conflict: numbers or code in both, or a word that denies, retires
or has an opposite in one.
"""

from __future__ import annotations

from functools import lru_cache

from knowbound.text.stop_words import STOP_WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowbound.kms.search.ranking import FoundItem

_MOST_CHARACTERS = 1_200  # of an item: what is injected of it at most
_MOST_SENTENCES = 6
_SENTENCE_ENDS = ("\n", "! ", "? ", "。", "！", "？")
_PUNCTUATION = ".,;:!?()[]`'\"/。，；：！？"
_FEW = 2  # words: of so few, one in common is enough
_START = 4  # characters of a word that are compared
_NUMBERS = frozenset("one two three four five six seven eight nine ten twelve twenty thirty once twice".split())
_SIGNS = frozenset(
    word[:_START]
    for word in (
        "no not never nobody none cannot without instead rather longer deprecated obsolete removed retired deleted "
        "dropped switched turned shut discontinued decommissioned replaced superseded abandoned gone stopped moved "
        "migrated off false before first main encrypted unencrypted public private internal rejected forbidden "
        "prohibited blocked denied enabled disabled deactivated synchronous asynchronous included excluded mutable "
        "immutable automatic manual mandatory optional required decreased insensitive stateful opt-in tabs spaces utc "
        "called named owned maintained handled hosted operated led "
        "integers ascending descending monday tuesday wednesday thursday friday saturday sunday hourly daily weekly "
        "monthly nicht kein nie statt anstelle veraltet abgeschaltet ersetzt entfernt eingestellt deaktiviert "
        "ortszeit pas jamais plutôt lieu remplacé supprimé désactivé nunca dejamos lugar reemplaza eliminado "
        "desactivado"
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

    __slots__ = ("has_code", "has_number", "has_sign", "words")

    def __init__(self, sentence: str) -> None:
        words = {word.strip(_PUNCTUATION) for word in sentence.lower().split()}
        self.words = {word[:_START] for word in words if len(word) > 1 and word not in STOP_WORDS}
        if not sentence.isascii():  # of a language without spaces, its characters
            self.words |= {sign for sign in sentence if sign >= "\u3040"}
        self.has_code = "`" in sentence or "/" in sentence
        self.has_number = not words.isdisjoint(_NUMBERS) or any(map(str.isdigit, sentence))
        starts = {word[:_START] for word in words}
        self.has_sign = (
            not starts.isdisjoint(_SIGNS)
            or "n't" in sentence
            or "n’t" in sentence
            or any(sign >= "\u3040" for sign in self.words)
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
    if a == b or not any(_speak_of_one(one, other) for one in _looks(a) for other in _looks(b)):
        return False
    from knowbound.injection.conflict_rules import conflicting  # noqa: PLC0415  # it costs milliseconds

    return conflicting(sentences(a), sentences(b))


@lru_cache(maxsize=64)
def _looks(content: str) -> list[_Look]:
    return [_Look(sentence) for sentence in sentences(content)]


def sentences(content: str) -> list[str]:
    """The sentences of an item that are looked at."""
    text = content[:_MOST_CHARACTERS]
    for end in _SENTENCE_ENDS:
        text = text.replace(end, ". ")
    return [part for part in (part.strip().rstrip(".!?") for part in text.split(". ")) if part][:_MOST_SENTENCES]


def _speak_of_one(a: _Look, b: _Look) -> bool:
    if not (a.has_sign or b.has_sign or (a.has_number and b.has_number) or (a.has_code and b.has_code)):
        return False
    shared = len(a.words & b.words)
    fewer = min(len(a.words), len(b.words))
    return 3 * shared >= fewer and (shared >= 2 or fewer <= _FEW) and shared > 0


def _weighed(a: FoundItem, b: FoundItem) -> Conflict:
    for mark, of_a, of_b in (("UNVERIFIED", a.flag, b.flag), ("STALE", a.stale, b.stale)):
        if bool(of_a) != bool(of_b):
            return Conflict(b, a, mark) if of_a else Conflict(a, b, mark)
    if a.timestamp and b.timestamp and a.timestamp != b.timestamp:
        return Conflict(a, b, "newer") if a.timestamp > b.timestamp else Conflict(b, a, "newer")
    return Conflict(a, b, "")
