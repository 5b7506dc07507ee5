"""The pages of a knowledge base, the questions that rules make of them, and which texts are no question.

A heading is quoted as it is written: whether "Release notes" is a noun or an instruction, rules cannot tell. Whether
the knowledge base has the answer is not looked at: running the questions shows that (specification 1, section 9).
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple, TypeVar

from knowbound.files import read_text
from knowbound.kms.screening import screened
from knowbound.stats.evaluation import CompetencyQuestion, QuestionSource
from knowbound.text.embedding import embed, similarity
from knowbound.text.english import STOP_WORDS, stem
from knowbound.text.markdown import BlockKind, DocumentBlock, DocumentSection, file_words, sections_of
from knowbound.text.redact import redact
from knowbound.text.terms import split_words

_T = TypeVar("_T")
_MOST_PRINCIPLES = 60
_MOST_FILE_BYTES = 1_000_000  # of one file; a knowledge file is prose, not data
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
CHINESE = re.compile(r"[\u4e00-\u9fff]")
_NUMBERING = re.compile(
    r"^(?:(?:step|part|chapter|section|phase)\s+)?\d+(?:\.\d+)*\s*[.):–—-]+\s+"
    r"|^(?:run-?book|play-?book|how-?to|guide|tutorial|recipe|skill|rfc|adr)(?:\s*:|\s[–—-])\s+",
    re.IGNORECASE,
)
_VERSION_OR_DATE = re.compile(r"^\W*v?\d+(?:[.x-]\d+)+")
_SUBTITLE = re.compile(r":\s.*$|\s[–—-]\s.*$|,\s(?:the|an?|our)\s.*$|\s*\([^()]*\)$", re.IGNORECASE)
_MOST_HEADING_WORDS = 8  # of a heading; a longer one is a sentence, and says itself what it is about
_GENERIC = frozenset(
    "overview|introduction|about|summary|contents|table of contents|note|notes|see also|further reading|related|links|"
    "resources|references|reference|next steps|license|changelog|changes|credits|example|examples|misc|other|appendix|"
    "conclusion|index|readme|documentation|general|details|description|basics|unreleased|added|fixed|removed|history|"
    "status|faq|support|glossary|background|roadmap|todo|to do|backlog|open questions|open points|open issues|ideas|"
    "afterwards|gotchas|runbooks|release notes|rules|ground rules|steps|type|size|use|behaviour|behavior|commands|"
    "options|概述|简介|目录|示例|附录|参考|更新日志|待办|路线图"
    .split("|")
)  # fmt: skip
_UNFINISHED = re.compile(r"^\W*(?:TODO|TBD|TBC|FIXME|coming soon|待补充|待定|待完善)\b.{0,60}$", re.IGNORECASE)
_PRINCIPLE = re.compile(r"^(?:never|always|do not|don't|avoid|prefer)\b|\b(?:must|should)\b", re.IGNORECASE)
_PRINCIPLE_CHARACTERS = 140  # of a rule that is asked about
_COMMAND = re.compile(r"\b(?:run|execute|with|using)\s+`([^`<>]{3,50})`", re.IGNORECASE)
_RULE_END = re.compile(r"[.;:!](?:\s|$).*|\s[–—(].*")


class KnowledgePage(NamedTuple):
    """One knowledge file."""

    path: str
    text: str
    sections: list[DocumentSection]

    @property
    def title(self) -> str:
        """The first heading of the page, or else what its file name says."""
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
        """The paragraphs, items, rows and code of the page, in order."""
        return [block for section in self.sections for block in section.blocks]

    @property
    def heading_lines(self) -> str:
        """The path of the page and its headings below it, indented."""
        headings = [section.headings for section in self.sections if section.headings]
        return "\n".join([self.path, *(f"{'  ' * len(names)}{names[-1]}" for names in headings)])


class KnowledgeText(NamedTuple):
    """The pages of a knowledge base."""

    pages: list[KnowledgePage]

    @property
    def principles(self) -> list[str]:
        """The bullets of instruction files, the first of them."""
        blocks = (block for page in self.pages if page.is_instructions for block in page.blocks)
        return [block.text[:300] for block in blocks if block.kind is BlockKind.ITEM][:_MOST_PRINCIPLES]


def read_knowledge(root: Path, files: Iterable[str]) -> KnowledgeText:
    """The text of these files, paths relative to the root; links and what cannot be read are left out."""
    folder = Path(os.path.realpath(root))
    pages = []
    for path in sorted(set(files)):
        if _NO_KNOWLEDGE.search(path.rpartition(".")[0] or path):
            continue
        text = read_text(folder, path, _MOST_FILE_BYTES)
        if text is not None:
            pages.append(KnowledgePage(path, text, sections_of(path, text)))
    return KnowledgeText(pages)


def in_turn(groups: Iterable[Iterable[_T]]) -> list[_T]:
    """Return the first of each group, then the second of each, and so on."""
    return [item for drawn in zip_longest(*groups) for item in drawn if item is not None]


def content_stems(text: str) -> frozenset[str]:
    """The stems of the words that say what a text is about; Chinese text as pairs of characters."""
    found: set[str] = set()
    for token in re.findall(r"\w+", _CHINESE_FRAME.sub(" ", text)):
        for word in split_words(token):
            if "\u4e00" <= word[0] <= "\u9fff":
                found.update(word[start : start + 2] for start in range(len(word) - 1))
            elif len(word) > 1 and not word.isdigit() and word not in STOP_WORDS and word not in _FRAME_WORDS:
                found.add(stem(word))
    return frozenset(found)


def questions_by_rules(knowledge: KnowledgeText) -> Iterator[CompetencyQuestion]:
    """Every question of the rules: sections without content first, then principles, then the other headings."""
    found = [question for page in knowledge.pages for question in (*_of_sections(page), *_of_principles(page))]
    order = list(QuestionSource)
    yield from sorted(found, key=lambda question: order.index(question.kind))


def section_questions(page: KnowledgePage) -> list[tuple[str, DocumentSection]]:
    """A page's questions, each with its section; the deepest sections come first."""
    found = []
    for section in page.sections:
        names = section.headings or (page.name,)
        if len(names) == 1 and (page.is_index or page.is_instructions):
            continue  # the title of such a page names the project
        if asked := question_of_heading(names[-1], names[:-1]):
            found.append((asked, section))
    return sorted(found, key=lambda pair: -len(pair[1].headings))


def question_of_heading(heading: str, above: Sequence[str] = ()) -> str:
    """Return a reader's question about a heading below the headings `above`; "" if it names no subject."""
    name = plain_heading(heading)
    if not name or name.lower() in _GENERIC or _VERSION_OR_DATE.match(name) or len(name.split()) > _MOST_HEADING_WORDS:
        return ""
    if name.endswith(("?", "？")):
        return name
    if CHINESE.search(name):
        return f"关于“{name}”，文档怎么说？"
    subject = name if name.startswith("`") or '"' in name else f'"{name}"'
    parents = [parent for parent in map(plain_heading, above) if parent.lower() not in _GENERIC]
    context = f" ({parents[-1]})" if parents and " " not in name else ""  # one word alone could be anything
    return f"What is written about {subject}{context}?"


def written_headings(page: KnowledgePage) -> set[tuple[str, ...]]:
    """Return the headings with content below them, directly or in a deeper section; "TODO" is no content."""
    return {
        section.headings[:depth]
        for section in page.sections
        if any(not _UNFINISHED.match(block.text) for block in section.blocks)
        for depth in range(len(section.headings) + 1)
    }


def _of_sections(page: KnowledgePage) -> Iterator[CompetencyQuestion]:
    """Yield a question for each section, marked as a stub if the section has no content."""
    written = written_headings(page)
    for asked, section in section_questions(page):
        kind, why = QuestionSource.STRUCTURE, f"heading {plain_heading((section.headings or (page.name,))[-1])!r}"
        if section.headings not in written:
            kind, why = QuestionSource.STUB, "a section without content"
        yield CompetencyQuestion(asked, kind, why, page.path, section.line)


def _of_principles(page: KnowledgePage) -> Iterator[CompetencyQuestion]:
    """Yield questions about the bullets of CLAUDE.md and the like: why a rule holds, or what if its command fails."""
    for block in page.blocks if page.is_instructions else ():
        rule = _RULE_END.sub("", block.text).strip()
        if block.kind is not BlockKind.ITEM:
            continue
        if _PRINCIPLE.search(rule) and len(rule) <= _PRINCIPLE_CHARACTERS:
            asked = f'Why is there the rule "{rule}"?'
        elif match := _COMMAND.search(rule):
            asked = f"What do you do when `{match[1]}` fails?"
        else:
            continue
        yield CompetencyQuestion(asked, QuestionSource.PRINCIPLE, f"the rule {rule[:80]!r}", page.path, block.line)


def plain_heading(heading: str) -> str:
    """A heading without numbering, emoji, anchor, subtitle and closing mark."""
    name = re.sub(r"[\U0001f000-\U0001faff\u2600-\u27bf\ufe0f\u200d]+|\s*\{#?[^}]*\}$", "", " ".join(heading.split()))
    name = _NUMBERING.sub("", name.strip())
    return _SUBTITLE.sub("", name).strip().rstrip(":.。：").strip() or name


# ---- texts that are no question, or the same one

_SAME_FROM = 0.80  # mean of cosine and shared words, from which two questions are the same
_CONTAINED_FROM = 0.65  # cosine, where one question has every content word of the other
_QUESTION_CHARACTERS = 180
_LEAST_WORDS = 3
_BEGINNING = re.compile(
    r"(?:can|could|may|must|should|is|are|do|does|did|was|were|will|has|have)\b|.*[\u4e00-\u9fff]", re.IGNORECASE
)
_ROLE_TAG = re.compile(r"<\s*/?\s*(?:script|system|assistant|user|tool)\b", re.IGNORECASE)
_QUESTION_WORD = re.compile(r"\b(?:who|when|where|which|why|how|what)\w*", re.IGNORECASE)


def unfit(question: str) -> str:
    """Return the reason why a text is never asked, or an empty string."""
    if len(question) > _QUESTION_CHARACTERS:
        return f"too long: more than {_QUESTION_CHARACTERS} characters"
    if not question.endswith(("?", "？")) or not (_QUESTION_WORD.search(question) or _BEGINNING.match(question)):
        return "not a question"
    if question.count("?") + question.count("？") > 2:
        return "several questions in one"
    if redact(question) != question:
        return "holds a secret"
    if gives_orders(question):
        return "gives its reader an order"
    if question.isascii() and len(question.split()) < _LEAST_WORDS:
        return "too short to be clear"
    return ""


def gives_orders(text: str) -> bool:
    """Report whether a text tries to instruct the agent that reads it."""
    return screened(text) is not None or bool(_ROLE_TAG.search(text))


class Duplicates:
    """The questions so far, to find out whether a new one asks the same."""

    def __init__(self) -> None:
        self._questions: list[tuple[str, frozenset[str], bytes, str]] = []  # question word, stems, embedding, text
        self._with_stem: dict[str, list[int]] = defaultdict(list)  # only questions that share a word can be the same

    def add(self, question: str) -> None:
        """Remember a question."""
        stems = content_stems(question)
        for word in stems:
            self._with_stem[word].append(len(self._questions))
        self._questions.append((_question_word(question), stems, question_vector(question), question))

    def same_as(self, question: str) -> str:
        """The question known already that asks the same, or an empty string.

        Only questions with the same question word can: why a thing is so is another question than what it is.
        """
        word, stems, vector = _question_word(question), content_stems(question), question_vector(question)
        for index in sorted({index for word_stem in stems for index in self._with_stem.get(word_stem, ())}):
            other_word, other_stems, other_vector, other = self._questions[index]
            shared = len(stems & other_stems)
            overlap = 2 * shared / (len(stems) + len(other_stems))
            is_contained = min(len(stems), len(other_stems)) == shared >= 2
            if word != other_word or (not is_contained and overlap < 2 * _SAME_FROM - 1):
                continue  # even with a cosine of 1 the mean would be too low
            cosine = max(0.0, similarity(vector, other_vector))
            is_same = stems == other_stems or (cosine + overlap) / 2 >= _SAME_FROM
            if is_same or (is_contained and cosine >= _CONTAINED_FROM):
                return other
        return ""


def _question_word(question: str) -> str:
    found = _QUESTION_WORD.search(question)
    return found[0].lower() if found else ""


@lru_cache(maxsize=1024)
def question_vector(question: str) -> bytes:
    """The embedding of a question without its stop words."""
    return embed(" ".join(word for word in question.split() if word.lower() not in STOP_WORDS))
