"""A turn cut into passages: sentences of the prompt and of the response, lines of code, tool calls.

What is cut, so that a turn of any size is judged in bounded time: of a text its first and last half of `MOST_OF_A_TEXT`
characters, of a tool call's input and output less, of the calls the first and last few; of the passages of a response
the first and last halves of `MOST_PASSAGES`. A passage is cut at `LONGEST` characters.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from knowbound.core.quality import JudgedCall, JudgedTurn
from knowbound.judge.turns.values import Value, values_of
from knowbound.text.embedding import embed, similarity, values
from knowbound.text.sentences import plain_sentences
from knowbound.text.specific_words import places, readable, usual_weight

if TYPE_CHECKING:
    from knowbound.text.specific_words import Place

MOST_OF_A_TEXT = 24_000
MOST_OF_AN_INPUT = 6_000
MOST_OF_AN_OUTPUT = 4_000
MOST_CALLS = 40
MOST_PASSAGES = 240
MOST_EMBEDDED = 80  # passages of a text that are compared by meaning
MOST_OF_AN_ITEM = 4_000
LONGEST = 1_200
_T = TypeVar("_T")
_OF_DIGITS = (0.1, 0.2, 0.4, 0.8, 1.0)  # what a number of so many digits says: small ones are everywhere
_PART_OF_A_NAME = 0.7  # what the words of a name count where the name itself is missing
_DEEPEST = 6  # levels of a tool call's input


class Passage:
    """A sentence or a line, with what is compared of it."""

    def __init__(self, text: str) -> None:
        self.text = text[:LONGEST]
        self._after: tuple[Passage, float] | None = None

    @cached_property
    def lower(self) -> str:
        """The text in lower case."""
        return self.text.lower()

    @cached_property
    def places(self) -> list[Place]:
        """Its words."""
        return places(readable(self.text))

    @cached_property
    def terms(self) -> frozenset[str]:
        """The terms of its words."""
        return frozenset(term for _, terms in self.places for term in terms)

    @cached_property
    def values(self) -> list[Value]:
        """Its numbers, paths and names."""
        return values_of(self.text)

    @cached_property
    def keys(self) -> frozenset[str]:
        """The normal forms of its values."""
        return frozenset(value.key for value in self.values)

    @cached_property
    def vector(self) -> bytes:
        """Its meaning, as `embed` has it."""
        return embed(self.text)

    @cached_property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of the vector."""
        return values(self.vector)

    def likeness_to(self, after: Passage) -> float:
        """The cosine with the passage after it, which several items ask for."""
        if self._after is None or self._after[0] is not after:
            self._after = after, similarity(self.vector, after.vector)
        return self._after[1]


class Passages:
    """A text as passages, and all of them together."""

    def __init__(self, passages: Iterable[Passage]) -> None:
        self.all = middle_out(list(passages), MOST_PASSAGES)
        self._hits: dict[tuple[str, ...], dict[int, float]] = {}

    @cached_property
    def terms(self) -> frozenset[str]:
        """The terms of all passages."""
        return frozenset().union(*(one.terms for one in self.all))

    @cached_property
    def keys(self) -> frozenset[str]:
        """The values of all passages."""
        return frozenset().union(*(one.keys for one in self.all))

    @cached_property
    def lower(self) -> str:
        """The text in lower case."""
        return "\n".join(one.lower for one in self.all)

    @cached_property
    def pairs(self) -> frozenset[tuple[str, str]]:
        """The words that are neighbours in a passage."""
        return frozenset((a[1][0], b[1][0]) for one in self.all for a, b in pairwise(one.places))

    @cached_property
    def where(self) -> dict[str, list[int]]:
        """The passages that have a term."""
        found: dict[str, list[int]] = {}
        for at, one in enumerate(self.all):
            for term in one.terms:
                found.setdefault(term, []).append(at)
        return found

    def rarity(self, term: str) -> float:
        """From 1 where one passage at most has the term to 0 where all have it."""
        passages, having = len(self.all), len(self.where.get(term, ()))
        return 1.0 if having <= 1 else 1 - math.log(having) / math.log(passages)

    def hits(self, terms: tuple[str, ...]) -> dict[int, float]:
        """How far the passages have a word, those that have any of it: its first term is the whole of it."""
        found = self._hits.get(terms)
        if found is None:
            part = _PART_OF_A_NAME / max(1, len(terms) - 1)
            found = {}
            for term in terms[1:]:
                for at in self.where.get(term, ()):
                    found[at] = found.get(at, 0.0) + part
            found.update(dict.fromkeys(self.where.get(terms[0], ()), 1.0))
            self._hits[terms] = found
        return found

    @cached_property
    def embedded(self) -> list[Passage]:
        """The passages that are compared by meaning."""
        return middle_out(self.all, MOST_EMBEDDED)

    @cached_property
    def joined(self) -> Passage:
        """All of it as one passage."""
        return Passage(" ".join(one.text for one in self.all))


class TurnText:
    """The texts of a turn, cut to a bounded size."""

    def __init__(self, turn: JudgedTurn) -> None:
        calls = middle_out(list(turn.tool_calls), MOST_CALLS)
        self.calls = calls
        self.prompt = passages_of(turn.prompt)
        self.response = passages_of(turn.response)
        self.inputs = Passages(Passage(cut(line, LONGEST)) for call in calls for line in input_lines(call))
        self.outputs = Passages(
            Passage(line) for call in calls for line in plain_sentences(cut(call.output, MOST_OF_AN_OUTPUT))
        )
        self.items = [passages_of(item.content, MOST_OF_AN_ITEM) for item in turn.items]

    @cached_property
    def call_texts(self) -> list[str]:
        """The inputs of the calls, one text each, in lower case."""
        return ["\n".join(input_lines(call)).lower() for call in self.calls]


def passages_of(text: str, most: int = MOST_OF_A_TEXT) -> Passages:
    """The passages of a text."""
    return Passages(Passage(one) for one in plain_sentences(cut(text, most)))


def input_lines(call: JudgedCall) -> list[str]:
    """The texts in a tool call's input, without the keys."""
    lines: list[str] = []
    room = MOST_OF_AN_INPUT
    for text in _strings(call.input, 0):
        for line in plain_sentences(cut(text, MOST_OF_AN_INPUT)):
            lines.append(line)
            room -= len(line)
            if room < 0:
                return lines
    return lines


def _strings(value: Any, depth: int) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, bool) or value is None or depth > _DEEPEST:
        return
    elif isinstance(value, int | float):
        yield str(value)
    elif isinstance(value, dict):
        for one in value.values():
            yield from _strings(one, depth + 1)
    elif isinstance(value, list | tuple):
        for one in value:
            yield from _strings(one, depth + 1)


def cut(text: str, most: int) -> str:
    """The first and the last half of a text that is too long."""
    return text if len(text) <= most else f"{text[: most // 2]}\n{text[-most // 2 :]}"


def middle_out(several: list[_T], most: int) -> list[_T]:
    """The first and the last half of too many."""
    return several if len(several) <= most else several[: most // 2] + several[-(most // 2) :]


def weight_of(terms: tuple[str, ...]) -> float:
    """What a word says: as much as its rarest term, a number by its digits."""
    if terms[0].isdigit():
        return _OF_DIGITS[min(len(terms[0]), len(_OF_DIGITS)) - 1]
    return max(usual_weight(term) for term in terms)
