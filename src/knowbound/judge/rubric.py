"""Scores from 1 to 5 by a judge: by a rubric, or by comparing an answer with its context or a reference.

A failed question is unscored, with the problem: never 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Protocol

import msgspec

from knowbound.judge.models.asking import Asker
from knowbound.judge.models.completion import known_sum
from knowbound.judge.models.questions import AskResult
from knowbound.judge.names import Judge
from knowbound.judge.prompts import load_prompt


class RubricKind(StrEnum):
    """Aspect that is scored, and the name of its prompt."""

    RUBRIC = "rubric"  # the answer meets the rubric
    FAITHFULNESS = "faithfulness"  # the answer says only what the context says
    ANSWER_RELEVANCY = "answer_relevancy"  # the answer is about the question
    CONTEXT_RECALL = "context_recall"  # the context has what the reference answer needs
    SEMANTIC_SIMILARITY = "semantic_similarity"  # the answer says what the reference says


class RubricQuestion(msgspec.Struct, frozen=True):
    """A question for a judge of rubrics: the texts of its prompt. Those that its kind does not need stay empty."""

    kind: RubricKind
    question: str = ""  # that was answered
    answer: str = ""
    rubric: str = ""
    context: str = ""
    reference: str = ""


class RubricScore(msgspec.Struct, frozen=True):
    """A score from 1 to 5, or None with the problem."""

    score: int | None
    reason: str = ""
    judge: str = ""  # the version of the judge
    problem: str = ""
    usd: float | None = None  # None: unknown
    cached: bool = False
    scores: tuple[int, ...] = ()  # of each judge, where several scored


class RubricJudge(Judge, Protocol):
    """Scores answers."""

    def score(self, questions: Sequence[RubricQuestion]) -> list[RubricScore]:
        """Return one score per question, in order."""


class RubricAnswer(msgspec.Struct, frozen=True):
    """Answer of the model."""

    score: Annotated[int, msgspec.Meta(ge=1, le=5)]
    reason: str


class ModelRubricJudge:
    """Scores by asking a model, or a recording of one."""

    def __init__(self, version: str, costs: bool, asker: Asker) -> None:
        self.version, self.costs, self._asker = version, costs, asker

    def score(self, questions: Sequence[RubricQuestion]) -> list[RubricScore]:
        """Return one score per question, in order, asking several at once."""
        scores: dict[int, RubricScore] = {}
        for kind in RubricKind:
            prompt = load_prompt(kind)
            positions = [at for at, question in enumerate(questions) if question.kind is kind]
            inputs = [{name: str(getattr(questions[at], name)) for name in prompt.places} for at in positions]
            asked = self._asker.ask(prompt, inputs, RubricAnswer) if inputs else []
            scores.update({at: self._scored(answer) for at, answer in zip(positions, asked, strict=True)})
        return [scores[at] for at in range(len(questions))]

    def _scored(self, asked: AskResult[RubricAnswer]) -> RubricScore:
        """Return an answer as a score; without an answer, as unscored with the problem."""
        if asked.value is None:
            return RubricScore(None, judge=self.version, problem=asked.problem, usd=asked.usd)
        return RubricScore(
            asked.value.score, asked.value.reason, judge=self.version, usd=asked.usd, cached=asked.cached
        )


class JudgePanel:
    """Several judges: the lower median of their scores, with what each gave."""

    def __init__(self, judges: Sequence[RubricJudge]) -> None:
        self._judges = judges
        self.version = " + ".join(judge.version for judge in judges)
        self.costs = any(judge.costs for judge in judges)

    def score(self, questions: Sequence[RubricQuestion]) -> list[RubricScore]:
        """Return one score per question; unscored only where no judge scored it."""
        return [_median_score(given) for given in zip(*(judge.score(questions) for judge in self._judges), strict=True)]


def panel_of(judges: Sequence[RubricJudge]) -> RubricJudge:
    """Return the judge, or several as one."""
    return judges[0] if len(judges) == 1 else JudgePanel(judges)


def _median_score(given: Sequence[RubricScore]) -> RubricScore:
    """Return the lower median of several judges' scores, with all reasons; unscored only if every judge failed."""
    values = tuple(score.score for score in given if score.score is not None)
    return RubricScore(
        score=sorted(values)[(len(values) - 1) // 2] if values else None,
        reason=" / ".join(f"{score.score}: {score.reason}" for score in given if score.score is not None),
        judge=" + ".join(score.judge for score in given),
        problem="" if values else given[0].problem,
        usd=known_sum(*(score.usd for score in given)),
        cached=all(score.cached for score in given),
        scores=values,
    )
