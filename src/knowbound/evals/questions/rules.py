"""Competency questions from the structure of a knowledge base, without a model (specification 1, section 9).

Each rule yields questions with the file and line they come from. None of them looks at whether the knowledge base has
the answer: that is what running them shows.
"""

from __future__ import annotations

from collections.abc import Iterator

from knowbound.core.competency import CompetencyQuestion
from knowbound.evals.questions.base import KnowledgeBase
from knowbound.evals.questions.parallels import parallels
from knowbound.evals.questions.phrases import Asking
from knowbound.evals.questions.principles import principles
from knowbound.evals.questions.structure import structure
from knowbound.evals.questions.stubs import stubs
from knowbound.evals.questions.terms import undefined_terms


def all_questions(base: KnowledgeBase) -> Iterator[CompetencyQuestion]:
    """Every question of every rule; of two that ask the same the first stays, so the telling ones come first."""
    asking = Asking(base)
    yield from stubs(base, asking)
    yield from parallels(base, asking)
    yield from undefined_terms(base)
    yield from principles(base, asking)
    yield from structure(base, asking)
