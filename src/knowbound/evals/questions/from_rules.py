"""Competency questions from headings, file names and principles, without a model (specification 1, section 9).

A heading is quoted as it is written: whether "Release notes" is a noun or an instruction, rules cannot tell. None of
this looks at whether the knowledge base has the answer: running the questions shows that.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from knowbound.evals.questions.knowledge_text import KnowledgePage, KnowledgeText
from knowbound.stats.evaluation import CompetencyQuestion, QuestionSource
from knowbound.text.markdown import BlockKind, DocumentSection

CHINESE = re.compile(r"[\u4e00-\u9fff]")
_NUMBERING = re.compile(
    r"^(?:(?:step|part|chapter|section|phase)\s+)?\d+(?:\.\d+)*\s*[.):–—-]+\s+"
    r"|^(?:run-?book|play-?book|how-?to|guide|tutorial|recipe|skill|rfc|adr)(?:\s*:|\s[–—-])\s+",
    re.IGNORECASE,
)
_VERSION_OR_DATE = re.compile(r"^\W*v?\d+(?:[.x-]\d+)+")
_SUBTITLE = re.compile(r":\s.*$|\s[–—-]\s.*$|,\s(?:the|an?|our)\s.*$|\s*\([^()]*\)$", re.IGNORECASE)
_MOST_WORDS = 8  # of a heading; a longer one is a sentence, and says itself what it is about
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
_LONGEST_PRINCIPLE = 140  # characters
_COMMAND = re.compile(r"\b(?:run|execute|with|using)\s+`([^`<>]{3,50})`", re.IGNORECASE)
_RULE_END = re.compile(r"[.;:!](?:\s|$).*|\s[–—(].*")


def questions_by_rules(knowledge: KnowledgeText) -> Iterator[CompetencyQuestion]:
    """Every question of the rules: sections without content first, then principles, then the other headings."""
    found = [one for page in knowledge.pages for one in (*_of_sections(page), *_of_principles(page))]
    order = list(QuestionSource)
    yield from sorted(found, key=lambda one: order.index(one.kind))


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
    if not name or name.lower() in _GENERIC or _VERSION_OR_DATE.match(name) or len(name.split()) > _MOST_WORDS:
        return ""
    if name.endswith(("?", "？")):
        return name
    if CHINESE.search(name):
        return f"关于“{name}”，文档怎么说？"
    subject = name if name.startswith("`") or '"' in name else f'"{name}"'
    parents = [one for one in map(plain_heading, above) if one.lower() not in _GENERIC]
    context = f" ({parents[-1]})" if parents and " " not in name else ""
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
        if _PRINCIPLE.search(rule) and len(rule) <= _LONGEST_PRINCIPLE:
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
