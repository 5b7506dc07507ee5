"""What a knowledge base says about itself: its documents, their sections, and how it writes its own words.

Specification 1, section 9: file names, section titles and principles are what competency questions are made from. How
the base spells a word (`Flask` or `flask`) and whether it puts an article before it is taken from its own prose.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from knowbound.core.competency import CompetencyQuestion, QuestionKind
from knowbound.documents.sections import BlockKind, Section, file_words, sections_of
from knowbound.files import read_text
from knowbound.text.terms import canonical, stem

_MOST_BYTES = 1_000_000  # of one file; a knowledge file is prose, not data
_WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*")
_INSIDE = re.compile(r"(?<=[a-z,;)] )[A-Za-z][A-Za-z'’-]*")  # not the first word of a sentence
_TERM = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)*|[\u4e00-\u9fff]{2,}")
_ARTICLE = re.compile(r"\b(?:the|an?|this|your|our|each|every)\s+$")
_PLACES = 200  # of a phrase that are looked at
_CODE = re.compile(r"`+[^`]*`+")
_NAMED = re.compile(r"(?<!`)`([a-z][a-z0-9-]+)`(?!`)")
# Pages about the project rather than of it: nobody asks a knowledge base for them.
_NO_KNOWLEDGE = re.compile(
    r"(?:^|/)(?:changelog|changes|history|license|licence|copying|code_of_conduct|code-of-conduct|sponsors|authors|"
    r"contributors|release[-_]?notes?|news|security|funding)(?:[-_.][\w.-]*)?$",
    re.IGNORECASE,
)
_INDEX = re.compile(r"(?:^|/)(?:index|readme|_?sidebar|summary|toc)\.\w+$", re.IGNORECASE)
_INSTRUCTIONS = re.compile(
    r"(?:^|/)(?:CLAUDE(?:\.local)?|AGENTS?(?:\.override)?|GEMINI)\.md$|copilot-instructions\.md$"
    r"|\.(?:cursor|windsurf)rules$|/rules/",
    re.IGNORECASE,
)
# Names and nouns that end as a plural does. Of those in "as" the plurals are fewer: "atlas", "canvas", "alias".
_SINGULAR = frozenset("kubernetes postgres jenkins rails windows kudos chaos news series species https dns aws".split())
_PLURALS_IN_AS = frozenset(
    "areas ideas schemas replicas quotas formulas deltas lambdas personas cameras agendas visas betas extras".split()
)
# Words of questions and of grammar: they do not tell what a question is about.
STOP = frozenset(
    "a an and any are as at be been being but by can cannot could did do does done for from get had has have here how "
    "i if in instead into is it its may mean means might must not of on one or our own shall should so that the their "
    "them then there these they this those to us use used using very was we were what when where which while who whom "
    "whose why will with within without work works would you your about after all also before between both each "
    "every give given happen happens handle handled kept keep know known make made more most need needed needs new no "
    "only other out over same set some such take takes than through up down via way ways".split()
)


class Document(NamedTuple):
    """One knowledge file."""

    path: str
    text: str
    sections: list[Section]

    @property
    def title(self) -> str:
        """Its first heading, or what the name of the file says."""
        return next((one.headings[0] for one in self.sections if one.headings), "") or _name_of(self.path)

    @property
    def is_index(self) -> bool:
        """A page that leads to others."""
        return bool(_INDEX.search(self.path))

    @property
    def gives_principles(self) -> bool:
        """CLAUDE.md, AGENTS.md and their kin: bullets in them are rules."""
        return bool(_INSTRUCTIONS.search(self.path))


def _name_of(path: str) -> str:
    """What a file's name says: that of its folder where every such file has the same name (SKILL.md)."""
    folders, _, name = path.rpartition("/")
    stem_ = name.partition(".")[0]
    if stem_.lower() in ("skill", "readme", "index", "claude", "agents") and folders:
        stem_ = folders.rpartition("/")[2]
    return re.sub(r"[-_]+", " ", stem_).strip()


class KnowledgeBase:
    """The documents, and what is counted over all of them."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = list(documents)
        self._articles: dict[str, bool] = {}

    @cached_property
    def prose(self) -> str:
        """What is said in sentences, without code."""
        return "\n".join(
            _CODE.sub(" ", block.text)
            for document in self.documents
            for section in document.sections
            for block in section.blocks
            if block.kind in (BlockKind.PROSE, BlockKind.ITEM)
        )

    @cached_property
    def names(self) -> frozenset[str]:
        """The words that stand alone in code: a service `orders` is one thing, whatever its name looks like."""
        return frozenset(span for document in self.documents for span in _NAMED.findall(document.text))

    @cached_property
    def _casing(self) -> Counter[str]:
        return Counter(_INSIDE.findall(self.prose))

    @cached_property
    def _lower_prose(self) -> str:
        return self.prose.lower()

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word that occurs anywhere, by its stem."""
        return frozenset(
            root
            for document in self.documents
            for text in (document.text, document.path)
            for root in telling_words(text)
        )

    @cached_property
    def scope(self) -> frozenset[str]:
        """The words it is about: those of its headings and file names, and those that several files share."""
        named: set[str] = set()
        files: Counter[str] = Counter()
        times: Counter[str] = Counter()
        for document in self.documents:
            named |= telling_words(file_words(document.path))
            here: Counter[str] = Counter()
            for section in document.sections:
                for heading in section.headings[-1:]:
                    named |= telling_words(heading)
                for text in (*section.headings, *(f"{block.lead} {block.text}" for block in section.blocks)):
                    here.update(telling_words(text))
            files.update(here.keys())
            times.update(here)
        shared = {word for word, count in files.items() if count >= 2 and times[word] >= 3}
        return frozenset(named | shared)

    def spelled(self, word: str, *, is_alone: bool = False) -> str:
        """A capitalised word as it stands inside sentences: a name keeps its capital; unknown and alone it is one."""
        plain = word.strip("()[],.:;!?\"'’")
        if plain in ("A", "An", "The"):
            return word.lower()
        if not plain[:1].isupper() or not plain[1:].islower() or not plain.isalpha():
            return word
        as_name, as_word = self._casing[plain], self._casing[plain.lower()]
        is_name = as_name > as_word or (is_alone and not as_word)
        return word if is_name else word.replace(plain, plain.lower(), 1)

    def with_article(self, phrase: str) -> str:
        """The phrase with `the` where its own prose puts an article before it."""
        low = phrase.lower()
        if not low or low.split()[0] in ("the", "a", "an", "your", "our"):
            return phrase
        if low not in self._articles:
            self._articles[low] = self._has_article(low)
        return f"the {phrase}" if self._articles[low] else phrase

    def _has_article(self, low: str) -> bool:
        """Whether a third of the places where the phrase stands have an article or its like before it."""
        prose, found, with_one, at = self._lower_prose, 0, 0, -1
        while found < _PLACES and (at := prose.find(low, at + 1)) >= 0:
            end = at + len(low)
            if (at and prose[at - 1].isalnum()) or prose[end : end + 1].isalnum():
                continue
            found += 1
            with_one += bool(_ARTICLE.search(prose[max(0, at - 6) : at]))
        return with_one * 3 >= found > 0


def read_base(root: Path, files: Iterable[str]) -> KnowledgeBase:
    """The knowledge base of these files, paths relative to the root; links and what cannot be read are left out."""
    folder = Path(os.path.realpath(root))
    documents = []
    for path in sorted(set(files)):
        if _NO_KNOWLEDGE.search(path.rpartition(".")[0] or path):
            continue
        text = read_text(folder, path, _MOST_BYTES)
        if text is None:
            continue
        documents.append(Document(path, text, sections_of(path, text)))
    return KnowledgeBase(documents)


def telling_words(text: str) -> frozenset[str]:
    """The words of a text that say what it is about, by their stems; a name in code also by its parts."""
    found: set[str] = set()
    for token in _TERM.findall(text):
        if "\u4e00" <= token[0] <= "\u9fff":
            found.update(token[at : at + 2] for at in range(len(token) - 1))
            continue
        for part in {token, *re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+", token)}:
            low = part.lower()
            if len(low) > 1 and low not in STOP and not low.isdigit():
                found.add(stem(low))
    return frozenset(found)


def is_plural(word: str) -> bool:
    """Whether a noun looks plural."""
    low = word.lower()
    if low in _SINGULAR or (low.endswith("as") and low not in _PLURALS_IN_AS):
        return False
    return low.endswith("s") and not low.endswith(("ss", "us", "is", "ics", "ness")) and canonical(low) != low


def is_generic(heading: str, silent: frozenset[str]) -> bool:
    """Whether every word of a heading asks nothing."""
    words = [word.lower() for word in _WORD.findall(heading)]
    return " ".join(words) in silent or all(word in silent or word in STOP for word in words)


def question_of(asked: str, kind: QuestionKind, why: str, document: Document, line: int) -> CompetencyQuestion:
    """A question with the place it comes from."""
    return CompetencyQuestion(" ".join(asked.split()), kind, why, document.path, line)
