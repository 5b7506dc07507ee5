"""Reading sections for a question: how much of what is asked each block speaks of, and what it leaves open.

What is asked is met by the word itself, by a relative of it, by a word for the same thing, or, weakly, by one that is
near in meaning. It counts fully in the block and its headings, less beside it in the same section, and not at all
elsewhere: words that are scattered over a folder say nothing together.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from operator import mul

from knowbound.documents.kinds import Wanted, has_kind
from knowbound.documents.relations import CHINESE_CONCEPTS
from knowbound.documents.request import Asked, Request
from knowbound.documents.section_index import Said, Shelf, Shelved
from knowbound.documents.sections import BlockKind
from knowbound.documents.weights import sign_weight
from knowbound.documents.words import pairs_of
from knowbound.text.embedding import embed, similarity

# How well a term is met, by what meets it.
_EXACT, _AKIN, _SAME_THING, _PERHAPS_SAME, _LIKE, _SAME_SIGN = 1.0, 0.9, 0.9, 0.6, 0.6, 0.4
_ABOVE, _IN_BLOCK, _BESIDE = 0.9, 0.8, 0.6  # how much counts what stands not in the sentence itself, but around it
_UNMET, _HARDLY_MET = 0.3, 0.4  # met less than this, a term is not met, or hardly
_TELLING = 0.6  # what weighs as much by itself names knowledge
# A term that is everywhere in the folder tells little, one that the folder does not know at all tells most.
_SLOPE, _COMMONEST, _UNKNOWN = 1.0, 0.1, 1.2
_FEW_SECTIONS = 20  # in a folder with fewer, what is in each of them is still not common
_LONGEST_UNKNOWN, _FAINT_SIGNS = 4, 0.2  # of Chinese: characters in one piece, and what such a piece must weigh
_BESIDE_THE_THING = frozenset(
    {Wanted.NUMBER, Wanted.TIME, Wanted.MOMENT, Wanted.DURATION}
)  # these stand in the sentence that speaks of the thing
_NEARLY_MOST = 0.6  # of what the sentence has that speaks most of what is asked
_LONG_SECTION = 60  # blocks
_READ_CLOSELY = 20  # blocks


@dataclass(frozen=True, slots=True)
class Term:
    """One thing that is asked, and everything in the folder that would meet it."""

    asked: Asked
    weight: float
    known: bool  # the folder has the very word
    vector: bytes  # of its meaning; empty where only itself will do
    meets: dict[str, float]


@dataclass(frozen=True, slots=True)
class Reading:
    """A block of a section read for a question."""

    shelved: Shelved
    said: Said
    met: tuple[float, ...]  # how well each term is met, with what stands around the block
    asked: float  # the weight of all that is asked
    coverage: float  # the share of it that is met
    focus: float  # the part of it that the block and its headings meet
    names_missing: tuple[str, ...]
    sentence: frozenset[str] = frozenset()  # the terms of its best sentence
    has_kind: bool = True  # the kind of answer that is wanted
    nearness: float = 0.0  # of its meaning
    promised: float = 0.0  # the most of what is asked that a place has which says nothing: a link, a TODO, a heading
    left_open: float = 0.0  # the most telling word that the folder has elsewhere, and this place lacks
    unknown_open: float = 0.0  # the same for a word that the folder does not know
    name_open: float = 0.0  # the same for a name with a capital
    sought_open: bool = False  # the very thing is not met that is asked for
    one_word: bool = False  # of several words that are asked, no more than one is met, and it is no name
    unmet: tuple[str, ...] = ()

    @property
    def score(self) -> float:
        """For ranking only."""
        code = self.said.block.kind is BlockKind.CODE
        lacks = 2.0 * bool(self.names_missing) + 0.4 * max(self.left_open, self.unknown_open) + 0.2 * code
        return self.coverage + 0.8 * self.nearness + 0.3 * self.has_kind - lacks


def terms_for(request: Request, shelf: Shelf) -> list[Term]:
    """What is asked, weighed by how rare it is in the folder."""
    return [term for one in request.asked for term in (_chinese(one, shelf) if one.chinese else [_term(one, shelf)])]


def _chinese(asked: Asked, shelf: Shelf) -> list[Term]:
    """A run of Chinese characters as the words that the folder knows, and what is left between them."""
    found = []
    for text in _pieces(asked.text, shelf):
        pairs = tuple(pairs_of(text))
        known = all(pair in shelf.mentions for pair in pairs)
        meets = dict.fromkeys(text, _SAME_SIGN) | dict.fromkeys(pairs, _EXACT)
        meets.update((concept, _SAME_THING) for word, concept in CHINESE_CONCEPTS.items() if word in text)
        weight = asked.weight * sum(map(sign_weight, text)) / sum(map(sign_weight, asked.text))
        if weight > _FAINT_SIGNS:
            rarity = _rarity(min(shelf.frequency[pair] for pair in pairs), shelf) if known else 1.0
            piece = replace(asked, text=text, weight=weight, chinese=pairs)
            found.append(Term(piece, weight * rarity, known and len(text) > 1, b"", meets))
    return found


def _pieces(text: str, shelf: Shelf) -> list[str]:
    """The text cut where two neighbouring characters never stand together in the folder."""
    pieces = [text[0]]
    joined = False
    for pair in pairs_of(text) if len(text) > 1 else ():
        known = pair in shelf.mentions or pair in CHINESE_CONCEPTS
        if known or (not joined and len(pieces[-1]) < _LONGEST_UNKNOWN):
            pieces[-1] += pair[1]
        else:
            pieces.append(pair[1])
        joined = known
    return pieces


def _rarity(holding: int, shelf: Shelf) -> float:
    return max(_COMMONEST, 1.0 - _SLOPE * math.sqrt(holding / max(_FEW_SECTIONS, len(shelf))))


def _term(asked: Asked, shelf: Shelf) -> Term:
    meets: dict[str, float] = {}
    if asked.is_name:
        meets["".join(re.findall(r"[^\W_]+", asked.text.lower()))] = _EXACT
        meets.update(dict.fromkeys(asked.roots, _LIKE))
        return Term(asked, asked.weight, True, b"", meets)
    for concept in asked.concepts:
        meets[concept], meets[f"~{concept[1:]}"] = _SAME_THING, _PERHAPS_SAME
    vector = b""
    if len(asked.roots) == 1:
        word = asked.roots[0]
        if not asked.is_proper:
            vector = embed(asked.text)
            for other, cosine in shelf.like(word, vector):
                meets[other] = max(meets.get(other, 0.0), _credit(cosine))
        for other in shelf.akin(word):
            meets[other] = _AKIN
        meets[word] = _EXACT
    holding = max((shelf.frequency[one] for one in asked.roots), default=0)
    rarity = _rarity(holding, shelf)
    if not any(term in shelf.mentions for term in meets):
        rarity *= _UNKNOWN
    return Term(asked, asked.weight * rarity, holding > 0, vector, meets)


def _credit(cosine: float) -> float:
    """What nearness in meaning is worth: the best of unrelated words often reach 0.2, words for the same thing more."""
    return max(0.0, min(_LIKE, 1.4 * (cosine - 0.2)))


def readings_of(request: Request, terms: list[Term], shelf: Shelf) -> list[Reading]:
    """The best block of each of the likeliest sections, best first; what proves nothing comes last."""
    vector = embed(request.core)
    found = []
    promised = 0.0
    sought = {one for term in terms for one in term.meets}
    for number in shelf.candidates([(term.weight, term.meets) for term in terms]):
        shelved = shelf.sections[number]
        readings = [_read(terms, shelved, said) for said in _worth_reading(shelved, sought)]
        promised = max([promised, *(one.focus for one in readings if not one.said.proves)])
        found += readings
    found.sort(key=lambda one: (not one.said.proves, -one.coverage, one.shelved.section.path, one.said.block.line))
    near = [_closely(one, terms, shelf, request.wanted, vector, promised) for one in found[:_READ_CLOSELY]]
    near.sort(key=lambda one: (not one.said.proves, -one.score, one.shelved.section.path, one.said.block.line))
    first: dict[tuple[str, int], Reading] = {}
    for one in near:
        first.setdefault((one.shelved.section.path, one.shelved.section.line), one)
    return list(first.values())


def _worth_reading(shelved: Shelved, sought: set[str]) -> Iterable[Said]:
    """All blocks of a section; of a very long one those that have something of what is asked."""
    if len(shelved.said) <= _LONG_SECTION:
        return shelved.said
    return [said for said in shelved.said if not sought.isdisjoint(said.terms)] or shelved.said[:1]


def _read(terms: list[Term], shelved: Shelved, said: Said) -> Reading:
    """How much of what is asked a block speaks of: its best sentence, with less of what stands around it."""
    total = sum(term.weight for term in terms) or 1.0
    names_missing = tuple(
        term.asked.text for term in terms if term.asked.is_name and not _is_written(term.asked.text, shelved.low)
    )
    over = [_over(term, shelved, said) for term in terms]
    around = [max(_IN_BLOCK * _best(term, said.terms), _BESIDE * _best(term, shelved.proving)) for term in terms]
    best = Reading(shelved, said, (), total, -1.0, 0.0, names_missing)
    for _, words in said.sentences or (("", frozenset()),):
        here = [max(high, _best(term, words)) for term, high in zip(terms, over, strict=True)]
        met = tuple(
            0.0 if term.asked.text in names_missing else max(one, other)
            for term, one, other in zip(terms, here, around, strict=True)
        )
        covered = sum(term.weight * one for term, one in zip(terms, met, strict=True)) / total
        focus = sum(term.weight * one for term, one in zip(terms, here, strict=True)) / total
        if covered > best.coverage:
            best = replace(best, met=met, coverage=covered, focus=focus, sentence=words)
    return best


def _over(term: Term, shelved: Shelved, said: Said) -> float:
    """How well the headings over a block and what introduces it meet what is asked."""
    return max(_best(term, said.lead_terms), _best(term, shelved.own), _ABOVE * _best(term, shelved.above))


def _closely(
    reading: Reading, terms: list[Term], shelf: Shelf, wanted: Wanted, vector: bytes, promised: float
) -> Reading:
    """The reading with what is near in meaning, and with what it leaves open."""
    said, shelved = reading.said, reading.shelved
    around = reading.sentence | said.lead_terms | shelved.own | shelved.above
    met = tuple(
        max(have, _credit(shelf.likeness(term.vector, around))) if term.vector and have < _UNMET else have
        for term, have in zip(terms, reading.met, strict=True)
    )
    total = sum(term.weight for term in terms) or 1.0
    left = [term for term, one in zip(terms, met, strict=True) if one < _HARDLY_MET and not term.asked.is_name]
    return replace(
        reading,
        met=met,
        coverage=sum(term.weight * one for term, one in zip(terms, met, strict=True)) / total,
        has_kind=_gives(wanted, said, terms),
        nearness=max(0.0, similarity(vector, shelf.meaning(shelved.section, said.block))),
        promised=promised,
        left_open=max((term.weight for term in left if term.known), default=0.0),
        unknown_open=max(
            (term.weight for term in left if not term.known and term.asked.weight >= _TELLING), default=0.0
        ),
        name_open=max((term.weight for term in left if term.asked.is_proper), default=0.0),
        sought_open=_sought_open(terms, met),
        one_word=len(terms) > 1 >= sum(one >= _HARDLY_MET for one in met) and not any(t.asked.is_name for t in terms),
        unmet=tuple(
            term.asked.text
            for term, one in zip(terms, met, strict=True)
            if one < _UNMET and term.asked.weight >= _UNMET  # what weighs less names nothing
        ),
    )


def _gives(wanted: Wanted, said: Said, terms: list[Term]) -> bool:
    """Whether the sentences that speak most of what is asked give the kind of answer that is wanted."""
    spoken = [(sum(term.weight * _best(term, words) for term in terms), text) for text, words in said.sentences]
    most = max((weight for weight, _ in spoken), default=0.0) if wanted in _BESIDE_THE_THING else 0.0
    code = said.block.kind is BlockKind.CODE
    if said.block.kind is BlockKind.ROW and has_kind(wanted, said.block.lead, code=False):
        return True  # the head says what the cells are: an owner, a limit
    return any(has_kind(wanted, text, code=code) for weight, text in spoken if weight >= _NEARLY_MOST * most)


def _sought_open(terms: list[Term], met: tuple[float, ...]) -> bool:
    """Whether the very thing is not met that is asked for: of "open disputes" the last word that says something."""
    sought = [(term, one) for term, one in zip(terms, met, strict=True) if term.asked.is_sought]
    telling = [one for term, one in sought if term.asked.weight >= _TELLING]
    return bool(telling) and telling[-1] < _HARDLY_MET


def _best(term: Term, terms: AbstractSet[str]) -> float:
    """How well a set of terms meets what is asked."""
    if term.asked.chinese:
        return _best_chinese(term.asked.text, terms)
    best = 0.0
    for one, strength in term.meets.items():
        if strength > best and one in terms:
            best = strength
    if len(term.asked.roots) > 1 and best < _SAME_THING:
        best = max(best, _SAME_THING * sum(one in terms for one in term.asked.roots) / len(term.asked.roots))
    return best


def _best_chinese(text: str, terms: AbstractSet[str]) -> float:
    """The share of the characters that are met: in a pair, in a word for the same thing, or by themselves."""
    met = [_SAME_SIGN if sign in terms else 0.0 for sign in text]
    for at in range(len(text) - 1):
        if text[at : at + 2] in terms:
            met[at] = met[at + 1] = _EXACT
    for size in (2, 3, 4, 5):
        for at in range(len(text) - size + 1):
            concept = CHINESE_CONCEPTS.get(text[at : at + size])
            if concept in terms:
                met[at : at + size] = [max(one, _SAME_THING) for one in met[at : at + size]]
    weights = [sign_weight(sign) for sign in text]
    return float(sum(map(mul, met, weights)) / sum(weights))


def _is_written(name: str, low: str) -> bool:
    """Whether a name stands there as it is written, as a whole."""
    return re.search(rf"(?<![\w-]){re.escape(name.lower().removesuffix('()'))}(?![\w-]|\.\w)", low) is not None
