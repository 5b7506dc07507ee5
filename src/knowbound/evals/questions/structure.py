"""What a reader would ask of a heading, of a table and of a skill (specification 1, section 9)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from knowbound.core.competency import CompetencyQuestion, QuestionKind
from knowbound.documents.sections import BlockKind, Section
from knowbound.evals.questions.base import Document, KnowledgeBase, question_of
from knowbound.evals.questions.phrases import Asking, cleaned, weight
from knowbound.evals.questions.tables import of_filled_cells
from knowbound.evals.questions.words import TROUBLE

_RULE = re.compile(r"\b(?:must|never|always|only|do not|don't|no|not|should|shall)\b", re.IGNORECASE)
_LEAST = 3


def structure(base: KnowledgeBase, asking: Asking) -> Iterator[CompetencyQuestion]:
    """What a reader would ask of a heading, of a table and of a skill; of each file the telling questions first."""
    for document in base.documents:
        found: list[tuple[int, CompetencyQuestion]] = []
        for section in document.sections:
            if section.headings and section.blocks:
                depth = len(section.headings)
                found += [(weight(one.question, depth), one) for one in _of_whole_section(document, section, asking)]
        yield from (one for _, one in sorted(found, key=lambda pair: -pair[0]))


def section_questions(document: Document, asking: Asking) -> list[tuple[str, Section]]:
    """The questions that a document's own sections answer, each with its section, the telling ones first."""
    found: list[tuple[int, str, Section]] = []
    for section in document.sections:
        if not section.headings or not section.blocks:
            continue
        is_front = section.line == 1 and document.text.lstrip().startswith("---")
        asked = _of_description(section, asking) if is_front else _of_section(document, section, asking)
        if asked:
            found.append((weight(asked, len(section.headings)), asked, section))
    return [(asked, section) for _, asked, section in sorted(found, key=lambda one: -one[0])]


def _of_whole_section(document: Document, section: Section, asking: Asking) -> Iterator[CompetencyQuestion]:
    own = section.headings[-1]
    is_front = section.line == 1 and document.text.lstrip().startswith("---")
    if is_front and (asked := _of_description(section, asking)):
        yield question_of(asked, QuestionKind.STRUCTURE, f"describes {own!r}", document, section.blocks[0].line)
    elif asked := _of_section(document, section, asking):
        yield question_of(asked, QuestionKind.STRUCTURE, f"heading {cleaned(own)!r}", document, section.line)
    if _is_procedure(section) and (asked := asking.when_it_fails(own)):
        yield question_of(asked, QuestionKind.STRUCTURE, f"steps of {cleaned(own)!r}", document, section.line)
    yield from of_filled_cells(document, section)


def _of_section(document: Document, section: Section, asking: Asking) -> str:
    own, above = section.headings[-1], section.headings[:-1]
    if not above and (document.is_index or document.gives_principles):
        return asking.of_title(own)
    if _is_list_of_rules(document, section) and (asked := asking.of_rules(own)):
        return asked
    return asking.of_heading(own, above, document.path)


def _is_list_of_rules(document: Document, section: Section) -> bool:
    """A page that is one list, with rules in it, or a section of nothing but rules."""
    items = [block for block in section.blocks if block.kind is BlockKind.ITEM]
    rules = sum(bool(_RULE.search(block.text)) for block in items)
    if len(items) < _LEAST or len(items) < len(section.blocks):
        return False
    return rules == len(items) or (rules > 0 and len(document.sections) == 1)


def _is_procedure(section: Section) -> bool:
    """Steps to follow, without a word on what may go wrong."""
    items = [block for block in section.blocks if block.kind is BlockKind.ITEM]
    return len(items) >= 3 and not any(TROUBLE.search(block.text) for block in section.blocks)


def _of_description(section: Section, asking: Asking) -> str:
    """A skill's description begins with what it does: "Add a migration to a service. Use it for …"."""
    first = re.split(r"(?<=[.。])\s", section.blocks[0].text, maxsplit=1)[0].rstrip(".。")
    name = section.headings[-1]
    asked = asking.of_instruction(first) if len(first.split()) <= 14 else ""
    return asked or f"When is {name!r} used?".replace("'", "`")
