"""An item of a turn as it is compared: its words, which of them are new and its own, its values, its kind."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from knowbound.judge.turns.alignment import ItemWord, hit, words_of, words_of_passage
from knowbound.judge.turns.passages import Passage, Passages, TurnText
from knowbound.judge.turns.values import ValueKind

_SUBJECT = 40  # characters at the beginning, which mostly name what an item is about
_MOST_OF_SUBJECT = 3  # words
_TELLING_WORDS = 4
_MOST_WORDS = 40
_WORTH = 1.2  # weight of words that a statement needs to say something
_MOST_STATEMENTS = 24
_SHORTEST_EXACT = 4  # characters of what is spelled exactly
_CODE = re.compile(r"`([^`\n]{3,120})`")
_SPELLED = frozenset((ValueKind.PATH, ValueKind.FLAG, ValueKind.NAME))
_TITLE = re.compile(r"[^\n]{0,400} > ([^\n>]{1,120}?): |([^\n:]{3,80}): ")
_PREFERENCE = re.compile(
    r"\b(?:user|we|team|i)\b[^.]{0,20}\b(?:prefers?|wants?|likes?|dislikes?|hates?|expects?|insists?|asks? for|asked)\b"
    r"|用户(?:喜欢|希望|偏好|习惯|要求|不喜欢|讨厌|想)|偏好",
    re.I,
)
_RULE = re.compile(
    r"\b(?:always|never|must|should|do not|don't|only|every|before|after)\b|必须|不要|禁止|一律|总是|不得|务必", re.I
)
_TRIPLE = re.compile(r"→|->")
_STEPS = re.compile(r"\b\d\)|\bthen\b|;|→.*→|然后|再|先", re.I)
_CHINESE = re.compile("[\u4e00-\u9fff]")


class ItemText:
    """An item, its words, and those that the prompt or the other items do not have."""

    def __init__(self, content: Passages, words: Sequence[ItemWord], prompt: Passages, shared: frozenset[str]) -> None:
        self.content = content
        self.whole = Passage("\n".join(one.text for one in content.all))
        self.words = words
        self.novel = [word for word in words if hit(word, prompt.terms) < 1]
        self.unique = [word for word in words if word.terms[0] not in shared]
        self.subject = [word for word in words if word.start < _SUBJECT][:_MOST_OF_SUBJECT]
        self.telling = sorted(words, key=lambda word: -word.weight)[:_TELLING_WORDS]
        self.values = [value for one in content.all for value in one.values]
        self.new_values = [value for value in self.values if value.key not in prompt.keys]
        self.title = _title(content) or self.subject
        self.statements = _statements(content)
        self.spelled = _spelled(content.all)
        self.pairs = _weighted_pairs(content.all)


def items_of(turn: TurnText) -> list[ItemText]:
    """The items of a turn."""
    words = [words_of(content) for content in turn.items]
    seen = Counter(term for several in words for term in {term for word in several for term in word.terms})
    shared = frozenset(term for term, items in seen.items() if items > 1)
    return [ItemText(content, own, turn.prompt, shared) for content, own in zip(turn.items, words, strict=True)]


def kind_features(item: ItemText) -> dict[str, float]:
    """What kind of item it is."""
    text = item.whole.text
    return {
        "is_preference": float(bool(_PREFERENCE.search(text))),
        "is_rule": float(bool(_RULE.search(text))),
        "is_triple": float(bool(_TRIPLE.search(text))),
        "is_steps": float(bool(_STEPS.search(text))),
        "length": min(_MOST_WORDS, len(item.words)) / _MOST_WORDS,
        "chinese": float(bool(_CHINESE.search(text))),
    }


def _title(content: Passages) -> list[ItemWord]:
    """The words of the last heading above a piece of a document, or of what stands before a colon."""
    first = content.all[0] if content.all else None
    found = _TITLE.match(f"{first.text} ") if first else None
    if first is None or found is None:
        return []
    start, end = found.span(found.lastindex or 0)
    return [word for word in words_of_passage(first) if start <= word.start < end]


def _statements(content: Passages) -> list[list[ItemWord]]:
    """The sentences of an item that say something, each by its words."""
    found = [words_of_passage(one) for one in content.all]
    worth = [words for words in found if sum(word.weight for word in words) >= _WORTH]
    return (worth or [words for words in found if words])[:_MOST_STATEMENTS]


def _spelled(content: Iterable[Passage]) -> list[str]:
    """The code spans, paths, flags and names of an item, in lower case."""
    found: dict[str, None] = {}
    for one in content:
        found.update(dict.fromkeys(span.strip().lower() for span in _CODE.findall(one.text)))
        found.update(
            (one.lower[value.start : value.end].strip("`'\".,:;"), None)
            for value in one.values
            if value.kind in _SPELLED
        )
    return [one for one in found if len(one) >= _SHORTEST_EXACT]


def _weighted_pairs(content: Sequence[Passage]) -> list[tuple[tuple[str, str], tuple[float, float]]]:
    """The neighbouring words of an item, with what each says."""
    return [
        ((a.terms[0], b.terms[0]), (a.weight, b.weight)) for one in content for a, b in pairwise(words_of_passage(one))
    ]
