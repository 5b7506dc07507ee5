"""Values of evaluations: causes of failed samples, and competency questions (specification 1, section 9)."""

from __future__ import annotations

import hashlib
from enum import StrEnum

import msgspec


class Cause(StrEnum):
    """Cause of a failed sample, in the order of a report."""

    MISSING = "missing"  # no passage of the knowledge says it
    NOT_FOUND = "not_found"  # a passage says it, and the agent's tools did not return it
    NOT_USED = "not_used"  # the agent had the passage before its eyes
    CONTRADICTED = "contradicted"  # passages disagree about it
    AGENT_FAILED = "agent_failed"  # crashed, took too long, left no whole trace
    SAMPLE_BAD = "sample_bad"  # a right answer fails
    UNDECIDED = "undecided"  # rules cannot decide, and no model did


class SampleCause(msgspec.Struct, frozen=True):
    """The cause of one failed sample, with what shows it."""

    sample: str
    cause: Cause
    why: str = ""
    path: str = ""  # of the quotation; of a missing answer, the file that it belongs in
    line: int = 0
    quote: str = ""  # verbatim in that file
    other_path: str = ""  # of what contradicts it
    other_line: int = 0
    other_quote: str = ""
    fix: str = ""
    expected: str = ""  # the right answer, by the sample's author
    by: str = "rules"
    problem: str = ""  # why a model did not decide


class QuestionSource(StrEnum):
    """Part of the knowledge base that a question comes from."""

    STUB = "stub"  # a heading with nothing written below it
    PRINCIPLE = "principle"  # a rule in CLAUDE.md or the like
    MODEL = "model"  # proposed by a model from file names, headings and principles
    STRUCTURE = "structure"  # a heading or a file name


class CompetencyQuestion(msgspec.Struct, frozen=True):
    """A question within the scope of the knowledge base, and the line that it comes from."""

    question: str
    kind: QuestionSource
    why: str
    file: str
    line: int
    provenance: str = "rules"  # or the model that proposed it

    @property
    def id(self) -> str:
        """Hash of the words of the question."""
        return "cq-" + hashlib.sha256(" ".join(self.question.lower().split()).encode()).hexdigest()[:10]

    @property
    def place(self) -> str:
        """Source of the question as FILE:LINE."""
        return f"{self.file}:{self.line}" if self.line else self.file


class Dropped(msgspec.Struct, frozen=True):
    """A proposal that is not asked, with the reason."""

    question: str
    reason: str
    kind: QuestionSource = QuestionSource.STRUCTURE
    place: str = ""


class Probe(msgspec.Struct, frozen=True):
    """The questions to one knowledge base, and the dropped proposals."""

    root: str
    questions: tuple[CompetencyQuestion, ...]
    dropped: tuple[Dropped, ...] = ()
    left: int = 0  # questions beyond the requested number
    notes: tuple[str, ...] = ()
    usd: float | None = 0.0  # cost of the model's proposals; None: not reported
