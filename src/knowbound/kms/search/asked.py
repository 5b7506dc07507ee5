"""What a query asks for: its specific words where they stand, and the terms of the thesaurus in it.

A prompt is judged by its best part, not by the average of its words: a task of three sentences with a log pasted below
is about an item where one of its windows is. A window is a sentence or a line, or WINDOW words anywhere; so a sentence
says the same alone and among others.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from itertools import accumulate

from knowbound.text import thesaurus
from knowbound.text.specific_words import places, readable, usual_share, usual_weight, weight
from knowbound.text.stop_words import SEARCH_STOP_WORDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

WINDOW = 14  # places
FEWEST = 25  # items: a smaller store is no surer than one of so many
_ITEMS, _SENTENCES = 0.6, 0.7  # see `prior`
_SHORT = 3  # places: a sentence of fewer belongs to the next one
_END = re.compile(r"[.!?;:](?=\s)|[\n。！？；]")
_BACKGROUND = 100  # texts that the background counts for beside the store: in a small store it decides
_RAREST = 5  # words of an item that are looked for: the rarest
_FEW = 3.0  # rare words: what a window or an item of fewer has is not the whole of it
_SHARED = 4.0  # rare words that window and item share are all that is needed
_RELATED = 2.0  # so many links are all that is needed
_NEAR = 20  # words, stop words too, among which links count together
_PHRASE = 0.7  # of the weights of its words: what a phrase says


class WordParts:
    """How the words of an item answer a query; each from 0 to 1 (ranking.py)."""

    __slots__ = ("own", "places", "related", "shared", "window")

    def __init__(self, related: float = 0.0) -> None:
        self.window = self.own = self.shared = 0.0
        self.related = related
        self.places: list[int] = []  # of the words in the best window that the item has


class Asked:
    """A query. Its weights are the background's until `count` says how many rows of the store have a term."""

    def __init__(self, query: str) -> None:
        self.text = readable(query)
        self.places = places(self.text)
        self.where: dict[str, list[int]] = {}  # the places of a term
        for place, (_, terms) in enumerate(self.places):
            for term in terms:
                self.where.setdefault(term, []).append(place)
        self.terms = thesaurus.terms_in(self.text)
        self.weights = {term: usual_weight(term) for term in self.where}
        self.sentences = self._sentences()  # the place with which each begins
        self.rows = 0  # of the store, known once they are counted
        self._known_windows: dict[int, list[tuple[int, int]]] = {}
        self._sums: list[float] = []  # of the weights of all places before each

    def count(self, having: dict[str, int], rows: int) -> None:
        """Weigh the terms by how many of the store's rows have them, beside the background."""
        self.rows = rows
        for term, count in having.items():
            others = max(0, count - 1)  # that one row has it does not make it common
            self.weights[term] = weight((others + _BACKGROUND * usual_share(term)) / (rows + _BACKGROUND))
        self._sums = [0.0]
        for _, terms in self.places:
            self._sums.append(self._sums[-1] + max([self.weights[term] for term in terms]))

    @property
    def prior(self) -> float:
        """What is known before any item is looked at: of many items, and for many sentences, one fits by chance."""
        return -_ITEMS * math.log(max(FEWEST, self.rows) / 100) - _SENTENCES * math.log(len(self.sentences))

    def text_of(self, first: int, last: int) -> str:
        """The part of the query from one place to before another."""
        end = self.places[last][0] if last < len(self.places) else len(self.text)
        return self.text[self.places[first][0] : end]

    def sentence_of(self, place: int) -> tuple[int, int]:
        """The places of the sentence that a place is in: the first, and the one after the last."""
        number = bisect_right(self.sentences, place)
        end = self.sentences[number] if number < len(self.sentences) else len(self.places)
        return self.sentences[number - 1], end

    def _sentences(self) -> list[int]:
        starts = [start for start, _ in self.places]
        firsts = dict.fromkeys(bisect_left(starts, end.end()) for end in _END.finditer(self.text))
        found = [0]
        for first in firsts:
            if first - found[-1] >= _SHORT and first < len(starts):
                found.append(first)
        return found

    def links(self) -> dict[str, list[tuple[int, float]]]:
        """The marks of terms that mean what terms of the query mean: for each, which of them, and what it is worth."""
        found: dict[str, list[tuple[int, float]]] = {}
        for term in self.terms:
            own = _term_weight(term)
            for other, worth in thesaurus.links_of(term):
                if other not in self.terms:
                    found.setdefault(thesaurus.mark(other), []).append((term, worth * min(own, _term_weight(other))))
        return found

    def parts(self, item_terms: Iterable[str], links: dict[str, list[tuple[int, float]]]) -> WordParts:
        """How an item with these terms answers."""
        has = set(item_terms)
        found = WordParts(related=self._related(has, links))
        hits: dict[int, list[str]] = {}  # the shared terms by their places
        for term in has & self.where.keys():
            for place in self.where[term]:
                hits.setdefault(place, []).append(term)
        if not hits:
            return found
        at = sorted(hits)
        sums = [0.0, *accumulate([max([self.weights[term] for term in hits[place]]) for place in at])]
        most = max(_FEW, self._rarest(has))
        best = window = -1.0
        start = end = 0
        for first, last in dict.fromkeys(window for place in at for window in self._windows(place)):
            gained = sums[bisect_left(at, last)] - sums[bisect_left(at, first)]
            share = gained / max(_FEW - 0.5, self._sums[last] - self._sums[first])
            value = share + 0.5 * min(1.0, gained / most) + 0.5 * min(1.0, gained / _SHARED)
            if value > best:
                best, start, end, window = value, first, last, share
        found.places = at[bisect_left(at, start) : bisect_left(at, end)]
        terms = {term for place in found.places for term in hits[place]}
        weights = sorted([self.weights[term] for term in terms], reverse=True)
        found.window, found.own = min(1.0, window), min(1.0, sum(weights[:_RAREST]) / most)
        found.shared = min(1.0, sum(weights) / _SHARED)
        return found

    def _windows(self, place: int) -> list[tuple[int, int]]:
        """The windows around a place: the sentence it is in, and WINDOW places wherever they begin."""
        known = self._known_windows.get(place)
        if known is None:
            starts = [max(0, place - back) for back in (0, WINDOW // 2, WINDOW - 1)]
            known = [(start, min(len(self.places), start + WINDOW)) for start in starts]
            first, end = self.sentence_of(place)
            known += [(first, end)] if end - first <= WINDOW else []
            self._known_windows[place] = known
        return known

    def _rarest(self, has: set[str]) -> float:
        """What an item's rarest words weigh. A long item has enough of the rarest there are: not all are weighed."""
        weights: list[float] = []
        full = 0
        for term in has:
            if term[0] != "#":
                known = self.weights.get(term)
                weights.append(usual_weight(term) if known is None else known)
                full += weights[-1] == 1.0
                if full == _RAREST:
                    break
        return sum(sorted(weights, reverse=True)[:_RAREST])

    def _related(self, has: set[str], links: dict[str, list[tuple[int, float]]]) -> float:
        """The links that stand near each other in the query; each of its terms counts once."""
        best: dict[int, float] = {}
        for linked in has & links.keys():
            for term, worth in links[linked]:
                best[term] = max(best.get(term, 0.0), worth)
        near = sorted([(self.terms[term], worth) for term, worth in best.items()])
        at = [place for place, _ in near]
        sums = [0.0, *accumulate([worth for _, worth in near])]
        ends = [bisect_left(at, place + _NEAR) for place in at]
        most = max([sums[end] - sums[first] for first, end in enumerate(ends)], default=0.0)
        return min(1.0, most / _RELATED)


def _term_weight(term: int) -> float:
    words = [word for word in thesaurus.words_of_term(term) if word not in SEARCH_STOP_WORDS]
    weights = [usual_weight(word) for word in words]
    return weights[0] if len(weights) == 1 else min(1.0, _PHRASE * sum(weights))
