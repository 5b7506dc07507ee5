"""A query taken apart: its specific words by place, and its terms of the thesaurus.

A prompt is judged by its best part, not by the average of its words: a task of three sentences with a log pasted below
is about an item where one of its windows is. A window is a sentence or a line, or WINDOW words anywhere; so a sentence
counts the same alone and among others.
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
FEWEST = 25  # items: a smaller store counts as a store of this size
_ITEMS, _SENTENCES = 0.6, 0.7  # see `prior`
_SHORT = 3  # places: a shorter sentence belongs to the next one
_END = re.compile(r"[.!?;:](?=\s)|[\n。！？；]")
_BACKGROUND = 100  # texts that the background counts for beside the store: it decides in a small store
_RAREST = 5  # rarest words of an item that count
_FEW = 3.0  # rare words: the least that counts as the whole of a window or an item
_SHARED = 4.0  # shared rare words for the full score
_RELATED = 2.0  # links for the full score
_NEAR = 20  # words, stop words too, within which links count together
_PHRASE = 0.7  # share of the weights of its words that a phrase counts for


class WordParts:
    """The match of an item's words with a query, each part from 0 to 1 (ranking.py)."""

    __slots__ = ("own", "places", "related", "shared", "window")

    def __init__(self, related: float = 0.0) -> None:
        self.window = self.own = self.shared = 0.0
        self.related = related
        self.places: list[int] = []  # of the words of the best window that the item has


class ParsedQuery:
    """A query. Its weights come from background text until `count` adds the rows of the store."""

    def __init__(self, query: str) -> None:
        self.text = readable(query)
        self.places = places(self.text)
        self.where: dict[str, list[int]] = {}  # the places of each term
        for place, (_, terms) in enumerate(self.places):
            for term in terms:
                self.where.setdefault(term, []).append(place)
        self.terms = thesaurus.terms_in(self.text)
        self.weights = {term: usual_weight(term) for term in self.where}
        self.sentences = self._sentences()  # the first place of each sentence
        self.rows = 0  # rows of the store, known after `count`
        self._known_windows: dict[int, list[tuple[int, int]]] = {}
        self._sums: list[float] = []  # sums of the weights of all places before each place

    def count(self, having: dict[str, int], rows: int) -> None:
        """Weigh the terms by the number of the store's rows that have them, beside the background."""
        self.rows = rows
        for term, count in having.items():
            others = max(0, count - 1)  # a term of one row is not common
            self.weights[term] = weight((others + _BACKGROUND * usual_share(term)) / (rows + _BACKGROUND))
        self._sums = [0.0]
        for _, terms in self.places:
            self._sums.append(self._sums[-1] + max([self.weights[term] for term in terms]))

    @property
    def prior(self) -> float:
        """Return the log odds before any item is compared: many items and many sentences match by chance more often."""
        return -_ITEMS * math.log(max(FEWEST, self.rows) / 100) - _SENTENCES * math.log(len(self.sentences))

    def text_of(self, first: int, last: int) -> str:
        """Return the part of the query from one place to before another."""
        end = self.places[last][0] if last < len(self.places) else len(self.text)
        return self.text[self.places[first][0] : end]

    def sentence_of(self, place: int) -> tuple[int, int]:
        """Return the first place of the sentence around a place, and the place after its last."""
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
        """Return the marks of terms that mean the same as terms of the query, each with those terms and their worth."""
        found: dict[str, list[tuple[int, float]]] = {}
        for term in self.terms:
            own = _term_weight(term)
            for other, worth in thesaurus.links_of(term):
                if other not in self.terms:
                    found.setdefault(thesaurus.mark(other), []).append((term, worth * min(own, _term_weight(other))))
        return found

    def parts(self, item_terms: Iterable[str], links: dict[str, list[tuple[int, float]]]) -> WordParts:
        """Return the match of an item with these terms."""
        has = set(item_terms)
        found = WordParts(related=self._related(has, links))
        hits: dict[int, list[str]] = {}  # shared terms by place
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
        """Return the windows around a place: its sentence, and WINDOW places with three starts."""
        known = self._known_windows.get(place)
        if known is None:
            starts = [max(0, place - back) for back in (0, WINDOW // 2, WINDOW - 1)]
            known = [(start, min(len(self.places), start + WINDOW)) for start in starts]
            first, end = self.sentence_of(place)
            known += [(first, end)] if end - first <= WINDOW else []
            self._known_windows[place] = known
        return known

    def _rarest(self, has: set[str]) -> float:
        """Return the weight of an item's rarest words. A long item stops at the first that have full weight."""
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
        """Return the worth of the links that are near each other in the query; each term of the query counts once."""
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
