"""Which of the items that are about to be injected contradict each other, and which of two to believe.

The rules are loaded only where two items share most words of a sentence: the hook has no time for more.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from knowbound.kms.search.ranking import FoundItem

_MOST_CHARACTERS = 1_200  # of an item: what is injected of it at most
_MOST_SENTENCES = 6
_PUNCTUATION = ".,;:!?()`'\"。，；：！？"


class Conflict:
    """Two items that contradict each other; the first is the one to believe, where that is known."""

    def __init__(self, first: FoundItem, second: FoundItem, why: str) -> None:
        self.first = first
        self.second = second
        self.why = why  # why the first: newer, or the second is UNVERIFIED or STALE; "" where it is not known


def conflicts_among(items: Sequence[FoundItem]) -> list[Conflict]:
    """Every pair of the items that contradicts each other, in the order of their ids."""
    ordered = sorted(items, key=lambda item: (item.id, item.backend))
    words = [_words(item.content) for item in ordered]
    return [
        _weighed(ordered[one], ordered[other])
        for one in range(len(ordered))
        for other in range(one + 1, len(ordered))
        if _are_alike(words[one], words[other]) and _contradict(ordered[one], ordered[other])
    ]


def _contradict(a: FoundItem, b: FoundItem) -> bool:
    from knowbound.injection.conflict_rules import conflicting  # noqa: PLC0415  # its patterns cost 10 ms

    return conflicting(a.content, b.content)


def _words(content: str) -> list[set[str]]:
    """The words of each sentence; of a language without spaces, its characters."""
    sentences = content[:_MOST_CHARACTERS].replace("\n", ". ").replace("。", ". ").split(". ")
    found = []
    for sentence in [part for part in sentences if part.strip()][:_MOST_SENTENCES]:
        words = {word.strip(_PUNCTUATION) for word in sentence.lower().split()}
        found.append(words if sentence.isascii() else words | set(sentence))
    return found


def _are_alike(a: list[set[str]], b: list[set[str]]) -> bool:
    return any(
        len(shared) >= 2 and 2 * len(shared) >= min(len(one), len(other))
        for one in a
        for other in b
        if (shared := one & other)
    )


def _weighed(a: FoundItem, b: FoundItem) -> Conflict:
    for mark, of_a, of_b in (("UNVERIFIED", a.flag, b.flag), ("STALE", a.stale, b.stale)):
        if bool(of_a) != bool(of_b):
            return Conflict(b, a, mark) if of_a else Conflict(a, b, mark)
    if a.timestamp and b.timestamp and a.timestamp != b.timestamp:
        return Conflict(a, b, "newer") if a.timestamp > b.timestamp else Conflict(b, a, "newer")
    return Conflict(a, b, "")
