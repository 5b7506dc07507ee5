"""Competency questions that a model proposes from the same structure (specification 1, section 9).

The model sees file names, headings and principles, never the text. What it proposes passes the same filters, and a
failure of it is a note: the questions of the rules stand by themselves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from knowbound.core.competency import CompetencyQuestion, QuestionKind
from knowbound.documents.sections import BlockKind
from knowbound.evals.questions.base import Document, KnowledgeBase
from knowbound.judge.models.asking import Asker
from knowbound.judge.prompts import load_prompt

PROMPT = "competency-1"
_MOST_CHARACTERS = 12_000  # of each part of the structure
_MOST_PRINCIPLES = 60


class Wanted(msgspec.Struct, frozen=True):
    """One proposal of the model."""

    question: str
    file: str = ""
    why: str = ""


class Proposal(msgspec.Struct, frozen=True):
    """What the model answers."""

    questions: list[Wanted]


class Proposed(NamedTuple):
    """The proposals, what there is to say about them, and what they cost."""

    questions: list[CompetencyQuestion]
    notes: tuple[str, ...]
    usd: float | None


def proposed_by_model(base: KnowledgeBase, asker: Asker, count: int) -> Proposed:
    """What the model would ask of this knowledge base."""
    asked = asker.ask(load_prompt(PROMPT), [_structure(base, count)], Proposal)[0]
    if asked.value is None:
        return Proposed([], (f"{asker.judge} proposed no questions: {asked.problem}",), asked.usd)
    lines = {document.path: 1 for document in base.documents}
    questions = [
        CompetencyQuestion(
            " ".join(one.question.split()),
            QuestionKind.MODEL,
            " ".join(one.why.split())[:200] or "proposed from the structure",
            one.file if one.file in lines else "",
            lines.get(one.file, 0),
            asker.judge,
        )
        for one in asked.value.questions[: 4 * count]
    ]
    return Proposed(questions, (), asked.usd)


def _structure(base: KnowledgeBase, count: int) -> dict[str, str]:
    return {
        "files": _cut(document.path for document in base.documents),
        "headings": _cut(_headings(document) for document in base.documents),
        "principles": _cut(_principles(base)),
        "how_many": str(count),
    }


def _headings(document: Document) -> str:
    found = [f"{'  ' * len(one.headings)}{one.headings[-1]}" for one in document.sections if one.headings]
    return "\n".join([document.path, *found])


def _principles(base: KnowledgeBase) -> list[str]:
    return [
        block.text[:300]
        for document in base.documents
        if document.gives_principles
        for section in document.sections
        for block in section.blocks
        if block.kind is BlockKind.ITEM
    ][:_MOST_PRINCIPLES]


def _cut(parts: Iterable[str]) -> str:
    text = "\n".join(parts)
    return text if len(text) <= _MOST_CHARACTERS else text[:_MOST_CHARACTERS].rpartition("\n")[0] + "\n…"
