"""Sources of competency questions: pages and words of a knowledge base (specification 1, section 9)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from knowbound.files import read_text
from knowbound.text.markdown import BlockKind, DocumentBlock, DocumentSection, file_words, sections_of
from knowbound.text.stems import stem
from knowbound.text.stop_words import STOP_WORDS
from knowbound.text.terms import split_words

_MOST_PRINCIPLES = 60
_MOST_BYTES = 1_000_000  # of one file; a knowledge file is prose, not data
# Pages about the project rather than of it: nobody asks a knowledge base for them.
_NO_KNOWLEDGE = re.compile(
    r"(?:^|/)(?:changelog|changes|history|license|licence|copying|code_of_conduct|code-of-conduct|sponsors|authors|"
    r"contributors|release[-_]?notes?|news|security|funding)(?:[-_.][\w.-]*)?$",
    re.IGNORECASE,
)
_INDEX = re.compile(r"(?:^|/)(?:index|readme|_?sidebar|summary|toc)\.\w+$", re.IGNORECASE)
_INSTRUCTIONS = re.compile(
    r"(?:^|/)(?:CLAUDE(?:\.local)?|AGENTS?(?:\.override)?|GEMINI|copilot-instructions)\.md$|\.\w+rules$|/rules/",
    re.IGNORECASE,
)
# Words that occur in any question: they do not say what it is about.
_FRAME_WORDS = frozenset(
    "documentation say says written mean means use used using work works happen happens need needs handle handled keep "
    "make made take takes give know known".split()
)
_CHINESE_FRAME = re.compile(r"是什么|什么是|为什么|什么|如何|怎么办|怎么|怎样|何时")


class KnowledgePage(NamedTuple):
    """One knowledge file."""

    path: str
    text: str
    sections: list[DocumentSection]

    @property
    def title(self) -> str:
        """Its first heading, or else what its file name says."""
        return next((section.headings[0] for section in self.sections if section.headings), "") or self.name

    @property
    def name(self) -> str:
        """The words of its file name; of its folder where every such file has the same name (SKILL.md)."""
        folder, file = file_words(self.path).split(" ", 1)
        name = folder if folder and file.lower() in ("skill", "readme", "index", "claude", "agents") else file
        return " ".join(re.split(r"[-_ ]+", name)).strip()

    @property
    def is_index(self) -> bool:
        """Report whether the page only links to other pages."""
        return bool(_INDEX.search(self.path))

    @property
    def is_instructions(self) -> bool:
        """Report whether the page is CLAUDE.md, AGENTS.md or the like: its bullets are principles."""
        return bool(_INSTRUCTIONS.search(self.path))

    @property
    def blocks(self) -> list[DocumentBlock]:
        """Its paragraphs, items, rows and code, in order."""
        return [block for section in self.sections for block in section.blocks]

    @property
    def heading_lines(self) -> str:
        """Its path and its headings below it, indented."""
        found = [f"{'  ' * len(one.headings)}{one.headings[-1]}" for one in self.sections if one.headings]
        return "\n".join([self.path, *found])


class KnowledgeText:
    """The pages of a knowledge base, and what is counted over all of them."""

    def __init__(self, pages: Sequence[KnowledgePage]) -> None:
        self.pages = list(pages)

    @cached_property
    def principles(self) -> list[str]:
        """The bullets of instruction files, the first of them."""
        return [
            block.text[:300]
            for page in self.pages
            if page.is_instructions
            for block in page.blocks
            if block.kind is BlockKind.ITEM
        ][:_MOST_PRINCIPLES]


def read_knowledge(root: Path, files: Iterable[str]) -> KnowledgeText:
    """The text of these files, paths relative to the root; links and what cannot be read are left out."""
    folder = Path(os.path.realpath(root))
    pages = []
    for path in sorted(set(files)):
        if _NO_KNOWLEDGE.search(path.rpartition(".")[0] or path):
            continue
        text = read_text(folder, path, _MOST_BYTES)
        if text is not None:
            pages.append(KnowledgePage(path, text, sections_of(path, text)))
    return KnowledgeText(pages)


def content_stems(text: str) -> frozenset[str]:
    """The stems of the words that say what a text is about; Chinese text as pairs of characters."""
    found: set[str] = set()
    for token in re.findall(r"\w+", _CHINESE_FRAME.sub(" ", text)):
        for word in split_words(token):
            if "\u4e00" <= word[0] <= "\u9fff":
                found.update(word[at : at + 2] for at in range(len(word) - 1))
            elif len(word) > 1 and not word.isdigit() and word not in STOP_WORDS and word not in _FRAME_WORDS:
                found.add(stem(word))
    return frozenset(found)
