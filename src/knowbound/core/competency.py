"""Competency questions as values: what is asked, why, and which proposals were dropped (specification 1, section 9)."""

from __future__ import annotations

import hashlib
from enum import StrEnum

import msgspec


class QuestionKind(StrEnum):
    """What in the knowledge base a question comes from."""

    STUB = "stub"  # a section without content, a TODO, a link that leads nowhere, an empty cell
    PARALLEL = "parallel"  # most of its kind say it, this one does not
    UNDEFINED_TERM = "undefined_term"  # used in several places, explained in none
    PRINCIPLE = "principle"  # what a rule takes for granted
    MODEL = "model"  # proposed by a model from the same structure
    STRUCTURE = "structure"  # what a reader would ask of a heading


class CompetencyQuestion(msgspec.Struct, frozen=True):
    """A question that the knowledge base should be able to answer by its scope."""

    question: str
    kind: QuestionKind
    why: str
    file: str
    line: int
    provenance: str = "rules"  # or the model that proposed it

    @property
    def id(self) -> str:
        """The same for the same question, wherever it comes from."""
        return "cq-" + hashlib.sha256(" ".join(self.question.lower().split()).encode()).hexdigest()[:10]

    @property
    def place(self) -> str:
        """Where it comes from."""
        return f"{self.file}:{self.line}" if self.line else self.file


class Dropped(msgspec.Struct, frozen=True):
    """A proposal that is not asked, and why."""

    question: str
    reason: str
    kind: QuestionKind = QuestionKind.STRUCTURE
    place: str = ""


class Probe(msgspec.Struct, frozen=True):
    """What is asked of a knowledge base."""

    root: str
    questions: tuple[CompetencyQuestion, ...]
    dropped: tuple[Dropped, ...] = ()
    left: int = 0  # good ones beyond the number that was wanted
    notes: tuple[str, ...] = ()
    usd: float | None = 0.0  # what the model's proposals cost; None where it does not say
