"""Matches the blocks of sections with a question: how much of what is asked each covers, and what it leaves open.

A term is met by the word itself, by a word with the same start, by a synonym or, weakly, by one near in meaning. It
counts fully in the block and its headings, less beside it in the same section, and not at all elsewhere: words that
are scattered over a folder say nothing together.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from operator import mul

from knowbound.documents.answer_kinds import AnswerKind, has_kind
from knowbound.documents.prompt import AskedTerm, ParsedPrompt
from knowbound.documents.relations import CHINESE_CONCEPTS
from knowbound.documents.section_index import IndexedBlock, IndexedSection, SectionIndex
from knowbound.documents.word_weights import character_weight
from knowbound.documents.words import pairs_of
from knowbound.text.embedding import embed, similarity
from knowbound.text.markdown import BlockKind

# How well a term is met, by what meets it.
_EXACT, _SAME_START, _SAME_THING, _PERHAPS_SAME, _LIKE, _SAME_CHARACTER = 1.0, 0.9, 0.9, 0.6, 0.6, 0.4
_ABOVE, _IN_BLOCK, _BESIDE = 0.9, 0.8, 0.6  # factors for what is not in the sentence itself, but around it
_UNMET, _HARDLY_MET = 0.3, 0.4  # met less than this, a term is not met, or hardly
_SPECIFIC = 0.6  # the least weight of a word that names knowledge
# A term that is everywhere in the folder weighs little, one that the folder does not have at all weighs most.
_SLOPE, _COMMONEST, _UNKNOWN = 1.0, 0.1, 1.2
_FEW_SECTIONS = 20  # in a folder with fewer, what is in each of them is still not common
_LONGEST_UNKNOWN, _FAINT_CHARACTERS = 4, 0.2  # of Chinese: characters in one piece, and what such a piece must weigh
_BESIDE_THE_THING = frozenset(
    {AnswerKind.NUMBER, AnswerKind.FREQUENCY, AnswerKind.MOMENT, AnswerKind.DURATION}
)  # these are in the sentence about the thing
_NEARLY_MOST = 0.6  # of what the sentence covers that covers most
_LONG_SECTION = 60  # blocks
_READ_CLOSELY = 20  # blocks


@dataclass(frozen=True, slots=True)
class WeightedTerm:
    """One thing that is asked, and everything in the folder that would meet it."""

    asked: AskedTerm
    weight: float
    known: bool  # the folder has the very word
    vector: bytes  # of its meaning; empty where only itself will do
    meets: dict[str, float]


@dataclass(frozen=True, slots=True)
class BlockMatch:
    """A block of a section, and how it matches a question."""

    indexed: IndexedSection
    entry: IndexedBlock
    met: tuple[float, ...]  # how well each term is met, with what is around the block
    asked: float  # the weight of all that is asked
    coverage: float  # the share of it that is met
    focus: float  # the part of it that the block and its headings meet
    names_missing: tuple[str, ...]
    sentence: frozenset[str] = frozenset()  # the terms of its best sentence
    has_kind: bool = True  # the kind of answer that is wanted
    nearness: float = 0.0  # of its meaning
    promised: float = 0.0  # the most of what is asked in a block that states nothing: a link, a TODO, a heading
    left_open: float = 0.0  # the weightiest word that the folder has elsewhere, and this block lacks
    unknown_open: float = 0.0  # the same for a word that the folder does not know
    name_open: float = 0.0  # the same for a name with a capital
    sought_open: bool = False  # the very thing is not met that is asked for
    one_word: bool = False  # of several words that are asked, no more than one is met, and it is no name
    unmet: tuple[str, ...] = ()

    @property
    def score(self) -> float:
        """For ranking only."""
        code = self.entry.block.kind is BlockKind.CODE
        lacks = 2.0 * bool(self.names_missing) + 0.4 * max(self.left_open, self.unknown_open) + 0.2 * code
        return self.coverage + 0.8 * self.nearness + 0.3 * self.has_kind - lacks


def weighted_terms(prompt: ParsedPrompt, index: SectionIndex) -> list[WeightedTerm]:
    """What is asked, weighed by how rare it is in the folder."""
    return [term for one in prompt.asked for term in (_chinese(one, index) if one.chinese else [_term(one, index)])]


def _chinese(asked: AskedTerm, index: SectionIndex) -> list[WeightedTerm]:
    """A run of Chinese characters as the words that the folder knows, and what is left between them."""
    found = []
    for text in _pieces(asked.text, index):
        pairs = tuple(pairs_of(text))
        known = all(pair in index.mentions for pair in pairs)
        meets = dict.fromkeys(text, _SAME_CHARACTER) | dict.fromkeys(pairs, _EXACT)
        meets.update((concept, _SAME_THING) for word, concept in CHINESE_CONCEPTS.items() if word in text)
        weight = asked.weight * sum(map(character_weight, text)) / sum(map(character_weight, asked.text))
        if weight > _FAINT_CHARACTERS:
            rarity = _rarity(min(index.frequency[pair] for pair in pairs), index) if known else 1.0
            piece = replace(asked, text=text, weight=weight, chinese=pairs)
            found.append(WeightedTerm(piece, weight * rarity, known and len(text) > 1, b"", meets))
    return found


def _pieces(text: str, index: SectionIndex) -> list[str]:
    """The text cut where two neighbouring characters never stand together in the folder."""
    pieces = [text[0]]
    joined = False
    for pair in pairs_of(text) if len(text) > 1 else ():
        known = pair in index.mentions or pair in CHINESE_CONCEPTS
        if known or (not joined and len(pieces[-1]) < _LONGEST_UNKNOWN):
            pieces[-1] += pair[1]
        else:
            pieces.append(pair[1])
        joined = known
    return pieces


def _rarity(holding: int, index: SectionIndex) -> float:
    return max(_COMMONEST, 1.0 - _SLOPE * math.sqrt(holding / max(_FEW_SECTIONS, len(index))))


def _term(asked: AskedTerm, index: SectionIndex) -> WeightedTerm:
    meets: dict[str, float] = {}
    if asked.is_name:
        meets["".join(re.findall(r"[^\W_]+", asked.text.lower()))] = _EXACT
        meets.update(dict.fromkeys(asked.stems, _LIKE))
        return WeightedTerm(asked, asked.weight, True, b"", meets)
    for concept in asked.concepts:
        meets[concept], meets[f"~{concept[1:]}"] = _SAME_THING, _PERHAPS_SAME
    vector = b""
    if len(asked.stems) == 1:
        word = asked.stems[0]
        if not asked.is_proper:
            vector = embed(asked.text)
            for other, cosine in index.near_in_meaning(word, vector):
                meets[other] = max(meets.get(other, 0.0), _credit(cosine))
        for other in index.same_start(word):
            meets[other] = _SAME_START
        meets[word] = _EXACT
    holding = max((index.frequency[one] for one in asked.stems), default=0)
    rarity = _rarity(holding, index)
    if not any(term in index.mentions for term in meets):
        rarity *= _UNKNOWN
    return WeightedTerm(asked, asked.weight * rarity, holding > 0, vector, meets)


def _credit(cosine: float) -> float:
    """How well a word is met by one near in meaning: unrelated words often reach 0.2, synonyms more."""
    return max(0.0, min(_LIKE, 1.4 * (cosine - 0.2)))


def matches_for(prompt: ParsedPrompt, terms: list[WeightedTerm], index: SectionIndex) -> list[BlockMatch]:
    """The best block of each of the likeliest sections, best first; what proves nothing comes last."""
    vector = embed(prompt.core)
    found = []
    promised = 0.0
    asked_for = {one for term in terms for one in term.meets}
    for number in index.candidates([(term.weight, term.meets) for term in terms]):
        indexed = index.sections[number]
        matches = [_match(terms, indexed, entry) for entry in _worth_reading(indexed, asked_for)]
        promised = max([promised, *(one.focus for one in matches if not one.entry.proves)])
        found += matches
    found.sort(key=lambda one: (not one.entry.proves, -one.coverage, one.indexed.section.path, one.entry.block.line))
    near = [_closely(one, terms, index, prompt.wanted, vector, promised) for one in found[:_READ_CLOSELY]]
    near.sort(key=lambda one: (not one.entry.proves, -one.score, one.indexed.section.path, one.entry.block.line))
    first: dict[tuple[str, int], BlockMatch] = {}
    for one in near:
        first.setdefault((one.indexed.section.path, one.indexed.section.line), one)
    return list(first.values())


def _worth_reading(indexed: IndexedSection, asked_for: set[str]) -> Iterable[IndexedBlock]:
    """All blocks of a section; of a very long one those that have something of what is asked."""
    if len(indexed.blocks) <= _LONG_SECTION:
        return indexed.blocks
    return [entry for entry in indexed.blocks if not asked_for.isdisjoint(entry.terms)] or indexed.blocks[:1]


def _match(terms: list[WeightedTerm], indexed: IndexedSection, entry: IndexedBlock) -> BlockMatch:
    """How much of what is asked a block covers: its best sentence, with less of what is around it."""
    total = sum(term.weight for term in terms) or 1.0
    names_missing = tuple(
        term.asked.text for term in terms if term.asked.is_name and not _is_written(term.asked.text, indexed.low)
    )
    over = [_over(term, indexed, entry) for term in terms]
    around = [max(_IN_BLOCK * _best(term, entry.terms), _BESIDE * _best(term, indexed.proving)) for term in terms]
    best = BlockMatch(indexed, entry, (), total, -1.0, 0.0, names_missing)
    for _, words in entry.sentences or (("", frozenset()),):
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


def _over(term: WeightedTerm, indexed: IndexedSection, entry: IndexedBlock) -> float:
    """How well the headings over a block and what introduces it meet what is asked."""
    return max(_best(term, entry.lead_terms), _best(term, indexed.own), _ABOVE * _best(term, indexed.above))


def _closely(
    match: BlockMatch,
    terms: list[WeightedTerm],
    index: SectionIndex,
    wanted: AnswerKind,
    vector: bytes,
    promised: float,
) -> BlockMatch:
    """The match with what is near in meaning, and with what it leaves open."""
    entry, indexed = match.entry, match.indexed
    around = match.sentence | entry.lead_terms | indexed.own | indexed.above
    met = tuple(
        max(have, _credit(index.best_cosine(term.vector, around))) if term.vector and have < _UNMET else have
        for term, have in zip(terms, match.met, strict=True)
    )
    total = sum(term.weight for term in terms) or 1.0
    left = [term for term, one in zip(terms, met, strict=True) if one < _HARDLY_MET and not term.asked.is_name]
    return replace(
        match,
        met=met,
        coverage=sum(term.weight * one for term, one in zip(terms, met, strict=True)) / total,
        has_kind=_gives(wanted, entry, terms),
        nearness=max(0.0, similarity(vector, index.block_vector(indexed.section, entry.block))),
        promised=promised,
        left_open=max((term.weight for term in left if term.known), default=0.0),
        unknown_open=max(
            (term.weight for term in left if not term.known and term.asked.weight >= _SPECIFIC), default=0.0
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


def _gives(wanted: AnswerKind, entry: IndexedBlock, terms: list[WeightedTerm]) -> bool:
    """Whether the sentences that cover most of what is asked give the kind of answer that is wanted."""
    spoken = [(sum(term.weight * _best(term, words) for term in terms), text) for text, words in entry.sentences]
    most = max((weight for weight, _ in spoken), default=0.0) if wanted in _BESIDE_THE_THING else 0.0
    code = entry.block.kind is BlockKind.CODE
    if entry.block.kind is BlockKind.ROW and has_kind(wanted, entry.block.lead, code=False):
        return True  # the head says what the cells are: an owner, a limit
    return any(has_kind(wanted, text, code=code) for weight, text in spoken if weight >= _NEARLY_MOST * most)


def _sought_open(terms: list[WeightedTerm], met: tuple[float, ...]) -> bool:
    """Whether the very thing is not met that is asked for: of "open disputes" the last word that says something."""
    asked_for = [(term, one) for term, one in zip(terms, met, strict=True) if term.asked.is_asked_for]
    specific = [one for term, one in asked_for if term.asked.weight >= _SPECIFIC]
    return bool(specific) and specific[-1] < _HARDLY_MET


def _best(term: WeightedTerm, terms: AbstractSet[str]) -> float:
    """How well a set of terms meets what is asked."""
    if term.asked.chinese:
        return _best_chinese(term.asked.text, terms)
    best = 0.0
    for one, strength in term.meets.items():
        if strength > best and one in terms:
            best = strength
    if len(term.asked.stems) > 1 and best < _SAME_THING:
        best = max(best, _SAME_THING * sum(one in terms for one in term.asked.stems) / len(term.asked.stems))
    return best


def _best_chinese(text: str, terms: AbstractSet[str]) -> float:
    """The share of the characters that are met: in a pair, in a word for the same thing, or by themselves."""
    met = [_SAME_CHARACTER if sign in terms else 0.0 for sign in text]
    for at in range(len(text) - 1):
        if text[at : at + 2] in terms:
            met[at] = met[at + 1] = _EXACT
    for size in (2, 3, 4, 5):
        for at in range(len(text) - size + 1):
            concept = CHINESE_CONCEPTS.get(text[at : at + size])
            if concept in terms:
                met[at : at + size] = [max(one, _SAME_THING) for one in met[at : at + size]]
    weights = [character_weight(sign) for sign in text]
    return float(sum(map(mul, met, weights)) / sum(weights))


def _is_written(name: str, low: str) -> bool:
    """Whether a name stands there as it is written, as a whole."""
    return re.search(rf"(?<![\w-]){re.escape(name.lower().removesuffix('()'))}(?![\w-]|\.\w)", low) is not None
