"""A query taken apart: its terms by sentence, weighed by the number of items that have them, as BM25 does.

A prompt is judged by its best sentence and by the whole, in equal parts: a task of three sentences with a log pasted
below is about an item where one of its sentences is.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right

from knowbound.text.specific_words import places, readable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

_FEWEST = 100  # items: in a smaller store words weigh as in a store of this size
_SHORT = 3  # places: a shorter sentence belongs to the next one
_END = re.compile(r"[.!?;:](?=\s)|[\n。！？；]")
# The constants that BM25 has nearly everywhere. The usual length of an item is fixed: counting it would read all rows.
_SATURATION, _BY_LENGTH, _USUAL_LENGTH = 1.2, 0.75, 20
_MOST_OF_WHOLE = 3  # times the best sentence: what a pasted log shares by chance does not count without limit


class ParsedQuery:
    """A query. Its terms have weights after `count`."""

    def __init__(self, query: str) -> None:
        self.text = readable(query)
        self.places = places(self.text)
        self.sentences = self._sentences()  # the first place of each sentence
        self.where: dict[str, dict[int, None]] = {}  # the sentences of each term
        for place, (_, terms) in enumerate(self.places):
            for term in terms:
                self.where.setdefault(term, {})[bisect_right(self.sentences, place) - 1] = None
        self.weights: dict[str, float] = {}
        self.rows = 0  # rows of the store, known after `count`

    def count(self, having: dict[str, int], rows: int) -> None:
        """Weigh the terms by the number of the store's rows that have them."""
        self.rows = rows
        most = max(_FEWEST, rows)
        self.weights = {term: math.log(1 + (most - count + 0.5) / (count + 0.5)) for term, count in having.items()}

    def text_of(self, first: int, last: int) -> str:
        """Return the part of the query from one place to before another."""
        end = self.places[last][0] if last < len(self.places) else len(self.text)
        return self.text[self.places[first][0] : end]

    def end_of(self, sentence: int) -> int:
        """Return the place after the last of a sentence."""
        return self.sentences[sentence + 1] if sentence + 1 < len(self.sentences) else len(self.places)

    def words(self, terms: Collection[str]) -> tuple[float, int]:
        """Return how much an item with these terms shares with the query, and the sentence that it shares most with."""
        whole = 0.0
        sentences: dict[int, float] = {}
        for term in self.weights.keys() & terms:
            weight = self.weights[term]
            whole += weight
            for sentence in self.where[term]:
                sentences[sentence] = sentences.get(sentence, 0.0) + weight
        if not sentences:
            return 0.0, -1
        best = min(sentences, key=lambda sentence: (-sentences[sentence], sentence))
        length = 1 - _BY_LENGTH + _BY_LENGTH * len(terms) / _USUAL_LENGTH
        shared = (sentences[best] + min(whole, _MOST_OF_WHOLE * sentences[best])) / 2
        return shared * (1 + _SATURATION) / (1 + _SATURATION * length), best

    def _sentences(self) -> list[int]:
        starts = [start for start, _ in self.places]
        firsts = dict.fromkeys(bisect_left(starts, end.end()) for end in _END.finditer(self.text))
        found = [0]
        for first in firsts:
            if first - found[-1] >= _SHORT and first < len(starts):
                found.append(first)
        return found
