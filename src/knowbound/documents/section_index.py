"""An index of the sections of a document folder: which terms occur where, how rare they are, what is near in meaning.

It does not change after it is built, apart from caches in which two threads would write the same value: any number of
threads can use it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from knowbound.documents.pointers import why_block_proves_nothing, why_section_proves_nothing
from knowbound.documents.relations import exclude_each_other
from knowbound.documents.words import terms_of, tokens_of
from knowbound.text.embedding import code_of, embed, similarity
from knowbound.text.markdown import BlockKind, DocumentBlock, DocumentSection, file_words
from knowbound.text.stems import stem

_CLAUSE_END = re.compile(r"(?<=[.!?;])\s+|(?<=[。!?;])")
_REFERS_BACK = re.compile(r"(?:It|They|This|That|These|Those|Both|He|She|Its|Their|Then|Otherwise)\b")
_CANDIDATES = 24
_NEAR_BITS = 104  # of 256: the codes of words whose cosine is over about 0.35 differ in fewer, nearly always
_PERHAPS_NEAR_BITS = 118  # the same for a cosine over about 0.2
_NEAR = 0.40
_NEIGHBOURS = 12
_REMEMBERED = 20_000


@dataclass(frozen=True, slots=True)
class IndexedBlock:
    """A block with its terms, and whether it can prove anything."""

    block: DocumentBlock
    terms: frozenset[str]
    lead_terms: frozenset[str]
    sentences: tuple[tuple[str, frozenset[str]], ...]  # each with its terms
    proves: bool
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class IndexedSection:
    """A section with its terms."""

    section: DocumentSection
    own: frozenset[str]  # of its own heading
    above: frozenset[str]  # of the headings above it and the name of its file
    blocks: tuple[IndexedBlock, ...]
    proving: frozenset[str]  # of the blocks that prove something
    terms: frozenset[str]  # all of them
    low: str  # its text, lower-cased, to look for names as they are written


class SectionIndex:
    """All sections with their statistics."""

    def __init__(self, sections: Iterable[DocumentSection]) -> None:
        every = list(sections)
        self.sections = [_indexed_section(section, _is_empty(every, number)) for number, section in enumerate(every)]
        self.frequency: Counter[str] = Counter()  # by term: sections that can prove something with it
        self.mentions: Counter[str] = Counter()  # by term: sections that have it in whatever way
        self._where: dict[str, list[int]] = defaultdict(list)
        for number, indexed in enumerate(self.sections):
            proving = set(indexed.own | indexed.above)
            for entry in indexed.blocks:
                if entry.proves:
                    proving |= entry.terms | entry.lead_terms
            for term in indexed.terms:
                self.mentions[term] += 1
                self._where[term].append(number)
            if any(entry.proves for entry in indexed.blocks):
                self.frequency.update(proving)
        self.files = len({indexed.section.path for indexed in self.sections})
        self._coded = self._vectors()
        self._near: dict[tuple[str, bytes], list[tuple[str, float]]] = {}
        self._meanings: dict[tuple[str, int], bytes] = {}

    def __len__(self) -> int:
        return len(self.sections)

    def _vectors(self) -> dict[str, tuple[int, bytes]]:
        """The words of the folder with their vectors: by stem, each in the first spelling in which it occurs."""
        spelled: dict[str, str] = {}
        for indexed in self.sections:
            for token in tokens_of(indexed.low):
                spelled.setdefault(stem(token), token)
        found = {}
        for word in sorted(self._where):
            if len(word) < 3 or not word.isascii() or not word.isalpha():
                continue
            vector = embed(spelled.get(word, word))
            if any(vector):
                found[word] = int.from_bytes(code_of(vector), "big"), vector
        return found

    def best_cosine(self, vector: bytes, terms: Iterable[str]) -> float:
        """The cosine of a word with the term that is most like it in meaning; 0 where none is near."""
        code = int.from_bytes(code_of(vector), "big")
        best = 0.0
        for term in terms:
            known = self._coded.get(term)
            if known is not None and (known[0] ^ code).bit_count() < _PERHAPS_NEAR_BITS:
                best = max(best, similarity(vector, known[1]))
        return best

    def near_in_meaning(self, word: str, vector: bytes) -> list[tuple[str, float]]:
        """The terms of the folder that mean nearly the same as a word, with their cosine, best first."""
        if (word, vector) in self._near:
            return self._near[word, vector]
        code = int.from_bytes(code_of(vector), "big")
        near = [
            (other, known) for other, (bits, known) in self._coded.items() if (bits ^ code).bit_count() < _NEAR_BITS
        ]
        scored = [(other, similarity(vector, known)) for other, known in near if other != word]
        scored = [
            (other, cosine) for other, cosine in scored if cosine >= _NEAR and not exclude_each_other(word, other)
        ]
        found = sorted(scored, key=lambda one: (-one[1], one[0]))[:_NEIGHBOURS]
        if len(self._near) < _REMEMBERED:
            self._near[word, vector] = found
        return found

    def block_vector(self, section: DocumentSection, block: DocumentBlock) -> bytes:
        """The vector of a block with its headings."""
        place = (section.path, block.line)
        if place not in self._meanings:
            self._meanings[place] = embed(f"{section.heading} {block.lead} {block.text}")
        return self._meanings[place]

    def same_start(self, word: str) -> list[str]:
        """The terms of the folder that begin like a stem: `config` and `configur`."""
        if len(word) < 5:
            return []
        return [
            other for other in self._coded if other != word and other[:5] == word[:5] and _shares_start(word, other)
        ]

    def candidates(self, expansions: Sequence[tuple[float, dict[str, float]]]) -> list[int]:
        """The sections that hold most of what is asked, by weight; the rest is not looked at closely."""
        scores: dict[int, float] = defaultdict(float)
        for weight, terms in expansions:
            best: dict[int, float] = {}
            for term, strength in terms.items():
                for number in self._where.get(term, ()):
                    if best.get(number, 0.0) < strength:
                        best[number] = strength
            for number, strength in best.items():
                scores[number] += weight * strength
        return sorted(scores, key=lambda number: (-scores[number], number))[:_CANDIDATES]


def _shares_start(one: str, other: str) -> bool:
    shared = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        shared += 1
    return shared >= 5 and shared >= 0.7 * max(len(one), len(other))


def _is_empty(sections: Sequence[DocumentSection], number: int) -> bool:
    """Whether a heading has nothing under it, not even another heading."""
    section = sections[number]
    below = sections[number + 1] if number + 1 < len(sections) else None
    size = len(section.headings)
    return not section.blocks and not (
        below is not None
        and below.path == section.path
        and len(below.headings) > size
        and below.headings[:size] == section.headings
    )


def _indexed_section(section: DocumentSection, is_empty: bool) -> IndexedSection:
    why_not = why_section_proves_nothing(section)
    own_heading = section.headings[-1] if section.headings else ""
    blocks = (_empty_block(section),) if is_empty else tuple(_indexed_block(block, why_not) for block in section.blocks)
    own = frozenset(terms_of(own_heading))
    above = frozenset(terms_of(" . ".join([*section.headings[:-1], file_words(section.path)])))
    proving = frozenset().union(*(one.terms for one in blocks if one.proves))
    every = own.union(above, *(one.terms for one in blocks), *(one.lead_terms for one in blocks))
    low = "\n".join([*section.headings, *(f"{block.lead}\n{block.text}" for block in section.blocks)]).lower()
    return IndexedSection(section, own, above, blocks, proving, every, low)


def _clauses(text: str) -> list[str]:
    """A text cut at full stops and semicolons; a clause that begins with "it" belongs to the one before."""
    found: list[str] = []
    for part in _CLAUSE_END.split(text):
        if found and _REFERS_BACK.match(part):
            found[-1] += f" {part}"
        elif part.strip():
            found.append(part)
    return found


def _empty_block(section: DocumentSection) -> IndexedBlock:
    block = DocumentBlock(BlockKind.PROSE, section.line, section.line, section.headings[-1])
    return IndexedBlock(block, frozenset(), frozenset(), (), False, "a heading without a word under it")


def _indexed_block(block: DocumentBlock, why_not: str) -> IndexedBlock:
    whole = block.kind in (BlockKind.CODE, BlockKind.ROW)
    parts = [block.text] if whole else _clauses(block.text)
    sentences = tuple((part, frozenset(terms_of(part))) for part in parts)
    # A phrase that spans two sentences is none: the terms of a block are those of its sentences.
    terms, lead = frozenset().union(*(one for _, one in sentences)), frozenset(terms_of(block.lead))
    why_not = why_not or why_block_proves_nothing(block, len(terms) + len(lead))
    return IndexedBlock(block, terms, lead, sentences, not why_not, why_not)
