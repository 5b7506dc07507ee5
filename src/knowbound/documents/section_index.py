"""The sections of a folder of knowledge, indexed once: which terms stand where, how rare they are, what is like them.

What it says never changes after it is built; it only remembers what it has worked out, in dictionaries where two
threads that come at once write the same. So any number of threads can ask it.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from knowbound.documents.pointers import why_block_proves_nothing, why_section_proves_nothing
from knowbound.documents.relations import exclude_each_other
from knowbound.documents.sections import Block, BlockKind, Section, file_words
from knowbound.documents.words import terms_of, tokens_of
from knowbound.text.embedding import code_of, embed, similarity
from knowbound.text.stems import stem

_SENTENCE = re.compile(r"(?<=[.!?;])\s+|(?<=[。!?;])")
_REFERS_BACK = re.compile(r"(?:It|They|This|That|These|Those|Both|He|She|Its|Their|Then|Otherwise)\b")
_CANDIDATES = 24
_NEAR_BITS = 104  # of 256: the codes of words whose cosine is over about 0.35 differ in fewer, nearly always
_PERHAPS_NEAR_BITS = 118  # the same for a cosine over about 0.2
_ALIKE = 0.40
_NEIGHBOURS = 12
_REMEMBERED = 20_000


@dataclass(frozen=True, slots=True)
class Said:
    """A block with its terms, and whether it can prove anything."""

    block: Block
    terms: frozenset[str]
    lead_terms: frozenset[str]
    sentences: tuple[tuple[str, frozenset[str]], ...]  # each with its terms
    proves: bool
    why_not: str = ""


@dataclass(frozen=True, slots=True)
class Shelved:
    """A section with its terms."""

    section: Section
    own: frozenset[str]  # of its own heading
    above: frozenset[str]  # of the headings above it and the name of its file
    said: tuple[Said, ...]
    proving: frozenset[str]  # of the blocks that prove something
    terms: frozenset[str]  # all of them
    low: str  # its text in small letters, for names as they are written


class Shelf:
    """All sections with their statistics."""

    def __init__(self, sections: Iterable[Section]) -> None:
        every = list(sections)
        self.sections = [_shelved(section, _is_hollow(every, number)) for number, section in enumerate(every)]
        self.frequency: Counter[str] = Counter()  # by term: sections that can prove something with it
        self.mentions: Counter[str] = Counter()  # by term: sections that have it in whatever way
        self._where: dict[str, list[int]] = defaultdict(list)
        for number, shelved in enumerate(self.sections):
            proving = set(shelved.own | shelved.above)
            for said in shelved.said:
                if said.proves:
                    proving |= said.terms | said.lead_terms
            for term in shelved.terms:
                self.mentions[term] += 1
                self._where[term].append(number)
            if any(said.proves for said in shelved.said):
                self.frequency.update(proving)
        self.files = len({shelved.section.path for shelved in self.sections})
        self._coded = self._vectors()
        self._alike: dict[tuple[str, bytes], list[tuple[str, float]]] = {}
        self._meanings: dict[tuple[str, int], bytes] = {}

    def __len__(self) -> int:
        return len(self.sections)

    def _vectors(self) -> dict[str, tuple[int, bytes]]:
        """The words of the folder with their vectors: by root, each in the first spelling in which it occurs."""
        spelled: dict[str, str] = {}
        for shelved in self.sections:
            for token in tokens_of(shelved.low):
                spelled.setdefault(stem(token), token)
        found = {}
        for word in sorted(self._where):
            if len(word) < 3 or not word.isascii() or not word.isalpha():
                continue
            vector = embed(spelled.get(word, word))
            if any(vector):
                found[word] = int.from_bytes(code_of(vector), "big"), vector
        return found

    def likeness(self, vector: bytes, terms: Iterable[str]) -> float:
        """The cosine of a word with the term that is most like it in meaning; 0 where none is near."""
        code = int.from_bytes(code_of(vector), "big")
        best = 0.0
        for term in terms:
            known = self._coded.get(term)
            if known is not None and (known[0] ^ code).bit_count() < _PERHAPS_NEAR_BITS:
                best = max(best, similarity(vector, known[1]))
        return best

    def like(self, word: str, vector: bytes) -> list[tuple[str, float]]:
        """The terms of the folder that mean nearly the same as a word, with their cosine, best first."""
        if (word, vector) in self._alike:
            return self._alike[word, vector]
        code = int.from_bytes(code_of(vector), "big")
        near = [
            (other, known) for other, (bits, known) in self._coded.items() if (bits ^ code).bit_count() < _NEAR_BITS
        ]
        scored = [(other, similarity(vector, known)) for other, known in near if other != word]
        scored = [
            (other, cosine) for other, cosine in scored if cosine >= _ALIKE and not exclude_each_other(word, other)
        ]
        found = sorted(scored, key=lambda one: (-one[1], one[0]))[:_NEIGHBOURS]
        if len(self._alike) < _REMEMBERED:
            self._alike[word, vector] = found
        return found

    def meaning(self, section: Section, block: Block) -> bytes:
        """The vector of a block with its headings."""
        place = (section.path, block.line)
        if place not in self._meanings:
            self._meanings[place] = embed(f"{section.heading} {block.lead} {block.text}")
        return self._meanings[place]

    def akin(self, word: str) -> list[str]:
        """The terms of the folder that are spelled as relatives of a root: `config` and `configur`."""
        if len(word) < 5:
            return []
        return [other for other in self._coded if other != word and other[:5] == word[:5] and _same_family(word, other)]

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


def _same_family(one: str, other: str) -> bool:
    shared = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        shared += 1
    return shared >= 5 and shared >= 0.7 * max(len(one), len(other))


def _is_hollow(sections: Sequence[Section], number: int) -> bool:
    """A heading with nothing under it, not even another heading: a promise."""
    section = sections[number]
    below = sections[number + 1] if number + 1 < len(sections) else None
    size = len(section.headings)
    return not section.blocks and not (
        below is not None
        and below.path == section.path
        and len(below.headings) > size
        and below.headings[:size] == section.headings
    )


def _shelved(section: Section, hollow: bool) -> Shelved:
    why_not = why_section_proves_nothing(section)
    own_heading = section.headings[-1] if section.headings else ""
    said = tuple(_said(block, why_not) for block in section.blocks)
    if hollow:
        said = (_promise(section),)
    own = frozenset(terms_of(own_heading))
    above = frozenset(terms_of(" . ".join([*section.headings[:-1], file_words(section.path)])))
    proving = frozenset().union(*(one.terms for one in said if one.proves))
    every = own.union(above, *(one.terms for one in said), *(one.lead_terms for one in said))
    low = "\n".join([*section.headings, *(f"{block.lead}\n{block.text}" for block in section.blocks)]).lower()
    return Shelved(section, own, above, said, proving, every, low)


def _sentences(text: str) -> list[str]:
    """The sentences of a text; one that begins with "it" belongs to the one before."""
    found: list[str] = []
    for part in _SENTENCE.split(text):
        if found and _REFERS_BACK.match(part):
            found[-1] += f" {part}"
        elif part.strip():
            found.append(part)
    return found


def _promise(section: Section) -> Said:
    block = Block(BlockKind.PROSE, section.line, section.line, section.headings[-1])
    return Said(block, frozenset(), frozenset(), (), False, "a heading without a word under it")


def _said(block: Block, why_not: str) -> Said:
    whole = block.kind in (BlockKind.CODE, BlockKind.ROW)
    parts = [block.text] if whole else _sentences(block.text)
    sentences = tuple((part, frozenset(terms_of(part))) for part in parts)
    # A phrase that spans two sentences is none: the terms of a block are those of its sentences.
    terms, lead = frozenset().union(*(one for _, one in sentences)), frozenset(terms_of(block.lead))
    why_not = why_not or why_block_proves_nothing(block, len(terms) + len(lead))
    return Said(block, terms, lead, sentences, not why_not, why_not)
