"""The specific words of a text: stems, names, numbers and pairs of Chinese characters, and how rare each of them is.

A word is a place of the text and has one or more terms. A plain word has its stem. A name (`fetchInvoice`,
`GUNICORN_BIND`, `ops/nginx.conf`, `8004`) has its spelling in lower case, and the stems of the words in it. Ideographs
have no spaces: two neighbours are a place, unless one of them is a word of grammar. Stop words have no place.

The rarity of a term in texts about software is known: `specific_data/background.txt` counts stems in the documentation
of some hundred and fifty public projects (`bench/make_background.py`). The judge and the drafts of corrections weigh by
it; the search of items weighs by the store. The hook loads this module for every prompt.
"""

from __future__ import annotations

import math
import os
import re
import unicodedata
from functools import lru_cache

from knowbound.text.english import SEARCH_STOP_WORDS, stem
from knowbound.text.printable import both_ends
from knowbound.text.terms import split_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TypeAlias

    Place: TypeAlias = tuple[int, tuple[str, ...]]  # start of the word, and its terms: a name before its words

VERSION = 1  # raise it when the terms of a text change: indexes are rebuilt
MOST_CHARACTERS = 20_000  # a longer text is cut to its ends
_RAREST_SHARE = 1e-4  # the share of texts with a term that the background does not have
_SHARE_OF_PAIR = 3e-3  # the share of texts with a pair of ideographs, which the background does not count
_PLACES_BETWEEN_REPEATS = 14  # places: a word that is repeated sooner, as in a log, counts once
_TERM_CHARACTERS = 64
# Without the vowel signs (New Tai Lue, Vedic) that are letters in Python but not in SQLite, which would split the term.
_LETTER = "[^\\W_\u19b0-\u19c9\u1cf2\u1cf3]"
_RUN = re.compile(rf"{_LETTER}+(?:[_./\-]+{_LETTER}+)*")
_WORD = re.compile(f"{_LETTER}+")
_FIRST_IDEOGRAPH = "\u30a1"
_HIRAGANA = re.compile("[\u3041-\u309f]+")
_ACCENTS = re.compile("[\u0300-\u036f]")
_GRAMMAR = frozenset(
    "的了是在和与及或请把被吗呢吧啊我你您他她它们这那个么怎什哪为何如果有没不就也都还要会能可以对从到给让很太再又才只所以但并且后前里上下中时候一二两几些点"
)


def readable(text: str) -> str:
    """Return the text to split into words: cut to its ends if too long, letters without accents."""
    text = both_ends(text, MOST_CHARACTERS)
    if text.isascii():
        return text
    # Accents alone: other composed characters (Hangul, kana) stay.
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", text)))


def places(text: str) -> list[Place]:
    """Return the places of the words in a readable text, in order, without stop words."""
    if not text.isascii():
        text = _HIRAGANA.sub(lambda run: " " * len(run.group()), text)  # the grammar of Japanese
    found: list[Place] = []
    last_place: dict[str, int] = {}  # of each term among the places: near repeats are left out
    for run in _RUN.finditer(text):
        for start, terms in _places_of_run(run.group(), run.start()):
            if last_place.get(terms[0], -_PLACES_BETWEEN_REPEATS) <= len(found) - _PLACES_BETWEEN_REPEATS:
                last_place[terms[0]] = len(found)
                found.append((start, terms))
    return found


def all_terms(text: str) -> dict[str, None]:
    """Return the terms of a whole text, however long, each once, in order of their first place."""
    parts = [text[at : at + MOST_CHARACTERS] for at in range(0, len(text), MOST_CHARACTERS)]
    return {term: None for part in parts for _, terms in places(readable(part)) for term in terms}


@lru_cache(maxsize=50_000)
def usual_weight(term: str) -> float:
    """Return the weight of a term in texts about software: from 0 (in all texts) to 1 (in almost none)."""
    share = _SHARE_OF_PAIR if term[0] >= _FIRST_IDEOGRAPH else _background().get(term, _RAREST_SHARE)
    return min(1.0, math.log(share) / math.log(_RAREST_SHARE))


def _places_of_run(run: str, start: int) -> list[Place]:
    """Return the places of a run of characters without a space."""
    if run.isascii():
        terms = _terms_of_word(run)
        return [(start, terms)] if terms else []
    found: list[Place] = []
    at = 0
    for ideographs in _ideographs().finditer(run):
        found += _place_between(run[at : ideographs.start()], start + at)
        found += _chinese_pairs(ideographs.group(), start + ideographs.start())
        at = ideographs.end()
    return found + _place_between(run[at:], start + at)


def _place_between(text: str, start: int) -> list[Place]:
    """Return the place of the text before, between or after ideographs: one word, or nothing."""
    terms = _terms_of_word(text.strip("_./-")) if text else ()
    return [(start, terms)] if terms else []


def _chinese_pairs(run: str, start: int) -> list[Place]:
    """Return each pair of neighbouring ideographs as a place, without pairs that hold a grammar particle."""
    if len(run) == 1:
        return [] if run in _GRAMMAR else [(start, (run,))]
    pairs = ((start + at, run[at : at + 2]) for at in range(len(run) - 1))
    return [(at, (pair,)) for at, pair in pairs if pair[0] not in _GRAMMAR and pair[1] not in _GRAMMAR]


@lru_cache(maxsize=50_000)
def _terms_of_word(run: str) -> tuple[str, ...]:
    """Return the terms of a word: of a name its spelling and the stems of its words; () for a stop word."""
    parts = _WORD.findall(run)
    words = [word for part in parts for word in split_words(part)]
    folder, slash, file = run.rpartition("/")
    names = (run, file, *parts, folder + slash)  # a path has also its file and its folder
    terms = {name.lower(): None for name in names if len(name) <= _TERM_CHARACTERS and _is_compound(name)}
    for word in words:
        if word not in SEARCH_STOP_WORDS and 1 < len(word) <= _TERM_CHARACTERS:
            terms[stem(word)] = None
    return tuple(terms)


def _is_compound(name: str) -> bool:
    """Report whether a name has a digit, a sign or several words: a plain word has only its stem."""
    return bool(name) and (not name.isalpha() or len(split_words(name)) > 1)


@lru_cache(maxsize=1)
def _ideographs() -> re.Pattern[str]:
    """Return the pattern of Katakana, Chinese characters and Hangul; compiling it takes two milliseconds."""
    return re.compile("[\u30a1-\u30fa\u30fc\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff]+")


@lru_cache(maxsize=1)
def _background() -> dict[str, float]:
    """Read the terms and the share of texts that have them: a line for each share."""
    path = os.path.join(os.path.dirname(__file__), "specific_data", "background.txt")
    shares: dict[str, float] = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            share, _, terms = line.partition(" ")
            shares.update(dict.fromkeys(terms.split(), float(share)))
    return shares
