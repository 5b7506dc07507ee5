"""What means the same in software engineering, what a name is, and what people mean when they describe a symptom.

    = deploy, release, ship, roll out, go live | 部署, 发布, 上线          the same
    > celery: background job, queue, worker | 后台任务                    what a tool, a code or a format is, or is for
    ~ logged out, kicked out: session expired, refresh token | 掉线: …    a symptom or a wish, and what it is about

Those lines are in `thesaurus_data/*.txt`, Chinese after the bar. `bench/make_thesaurus.py` makes `terms.txt` of them:
the terms as stems, sorted, then after an empty line for each term the numbers of those it is linked with. It loads in
two milliseconds, which the lines themselves would not. A link is a hint that two texts may be about the same thing,
never more: what shares no word with a prompt is injected only where more speaks for it.
"""

from __future__ import annotations

import os
import re
from functools import lru_cache

from knowbound.text.stems import stem
from knowbound.text.terms import split_words

VERSION = 1  # raise it when terms.txt changes: the terms of items are kept by their numbers
LINKS = {"=": 1.0, "~": 0.7, ">": 0.6}  # by kind: how much of a shared word a link is worth
_LONGEST = 8  # words or ideographs of a term
_WORD = re.compile(r"[^\W_]+")


def terms_in(text: str) -> dict[int, int]:
    """The numbers of the terms that a text has, each with the place of the word where it first begins."""
    known = _table().numbers
    words = stems_of(text)
    found: dict[int, int] = {}
    for place in range(len(words)):
        term = ""
        for word in words[place : place + _LONGEST]:
            term = f"{term} {word}" if term else word
            number = known.get(term)
            if number is not None:
                found.setdefault(number, place)
    for run in [] if text.isascii() else re.findall("[\u4e00-\u9fff]{2,}", text):
        for start in range(len(run) - 1):
            for end in range(start + 2, min(len(run), start + _LONGEST) + 1):
                number = known.get(run[start:end])
                if number is not None:
                    found.setdefault(number, len(words) + start)
    return found


def number_of(term: str) -> int | None:
    """The number of a term (as stems), where it is known."""
    return _table().numbers.get(term)


def mark(number: int) -> str:
    """A term as a word of an index."""
    return f"#{number}"


def links_of(number: int) -> list[tuple[int, float]]:
    """The terms that a term is linked with, and how much each link is worth."""
    links = _table().links[number].decode("ascii").split()
    return [(int(link[1:]), LINKS[link[0]]) for link in links]


def words_of_term(number: int) -> list[str]:
    """The stems of a term."""
    return _table().terms[number].split()


def stems_of(text: str) -> list[str]:
    """The stems of all words of a text, stop words too: "out" matters in "roll out"."""
    return [stem(word) for run in _WORD.findall(text) for word in split_words(run)]


class _Table:
    """The terms by their numbers, and back."""

    def __init__(self, path: str) -> None:
        with open(path, "rb") as file:
            terms, _, links = file.read().partition(b"\n\n")
        self.terms = terms.decode("utf-8").split("\n")
        self.links = links.split(b"\n")
        self.numbers = dict(zip(self.terms, range(len(self.terms)), strict=True))


@lru_cache(maxsize=1)
def _table() -> _Table:
    return _Table(os.path.join(os.path.dirname(__file__), "thesaurus_data", "terms.txt"))
