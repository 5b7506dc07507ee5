"""Competency questions that a model proposes (specification 1, section 9).

The model sees file names, headings and principles, never the text. Where it fails, a note says so, and the questions
made by rules are asked alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from knowbound.core.competency import CompetencyQuestion, QuestionSource
from knowbound.evals.questions.knowledge_text import KnowledgePage, KnowledgeText
from knowbound.judge.models.asking import Asker
from knowbound.judge.prompts import load_prompt
from knowbound.text.markdown import BlockKind

PROMPT = "competency-1"
_MOST_CHARACTERS = 12_000  # of each part of the structure
_MOST_PRINCIPLES = 60


class ProposedQuestion(msgspec.Struct, frozen=True):
    """One question as the model writes it."""

    question: str
    file: str = ""
    why: str = ""


class Proposal(msgspec.Struct, frozen=True):
    """The model's answer."""

    questions: list[ProposedQuestion]


class ProposedQuestions(NamedTuple):
    """The proposals, a note where there are none, and their cost in US dollars (None where unknown)."""

    questions: list[CompetencyQuestion]
    notes: tuple[str, ...]
    usd: float | None


def proposed_by_model(knowledge: KnowledgeText, asker: Asker, count: int) -> ProposedQuestions:
    """The questions that the model would ask of this knowledge base."""
    asked = asker.ask(load_prompt(PROMPT), [_structure(knowledge, count)], Proposal)[0]
    if asked.value is None:
        return ProposedQuestions([], (f"{asker.judge} proposed no questions: {asked.problem}",), asked.usd)
    known = {page.path for page in knowledge.pages}
    questions = [
        CompetencyQuestion(
            " ".join(one.question.split()),
            QuestionSource.MODEL,
            " ".join(one.why.split())[:200] or "proposed from file names, headings and principles",
            one.file if one.file in known else "",
            1 if one.file in known else 0,
            asker.judge,
        )
        for one in asked.value.questions[: 4 * count]
    ]
    return ProposedQuestions(questions, (), asked.usd)


def _structure(knowledge: KnowledgeText, count: int) -> dict[str, str]:
    return {
        "files": _cut(page.path for page in knowledge.pages),
        "headings": _cut(_headings(page) for page in knowledge.pages),
        "principles": _cut(_principles(knowledge)),
        "how_many": str(count),
    }


def _headings(page: KnowledgePage) -> str:
    found = [f"{'  ' * len(one.headings)}{one.headings[-1]}" for one in page.sections if one.headings]
    return "\n".join([page.path, *found])


def _principles(knowledge: KnowledgeText) -> list[str]:
    return [
        block.text[:300]
        for page in knowledge.pages
        if page.is_instructions
        for section in page.sections
        for block in section.blocks
        if block.kind is BlockKind.ITEM
    ][:_MOST_PRINCIPLES]


def _cut(parts: Iterable[str]) -> str:
    text = "\n".join(parts)
    return text if len(text) <= _MOST_CHARACTERS else text[:_MOST_CHARACTERS].rpartition("\n")[0] + "\n…"
