"""The grade of an answer: assertions by rules, programs and judges, rubrics by judges, and their composite.

Each layer is scored from 1 to 5 by the weight of what passed among what was decided; the composite is the mean of the
layers that are present. What is undecided is counted and left out: it is never a failure and never 0. A grade is
stored, so secrets are removed from the texts in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from knowbound.evals.assertions import SAID, AgentAnswer, CheckResult, decide, detail_of, layer_of, negated, short
from knowbound.evals.custom_assertions import run_custom
from knowbound.evals.samples.assertion_types import BEHAVIOR, FACT, JUDGE, PROGRAM, TYPES
from knowbound.evals.samples.values import Assertion, Criterion, EvalSample
from knowbound.judge.rubric import RubricJudge, RubricKind, RubricQuestion, RubricScore
from knowbound.stats.evaluation import AssertionGrade, CriterionScore, Grade
from knowbound.text.redact import redact

SCORE = 3.0  # from which a judged assertion passes where it gives no threshold (the samples format)
_NO_JUDGE = RubricScore(None, problem="no judge is in force", usd=0.0)  # a key of `unscored` in JSON


def grade(
    sample: EvalSample, answered: AgentAnswer, judge: RubricJudge | None, *, allow_run: bool, folder: Path
) -> Grade:
    """Grade one answer; `folder` is where the samples file is, for custom assertions."""
    questions = _questions(sample, answered)
    scores = judge.score(questions) if judge is not None and questions else [_NO_JUDGE] * len(questions)
    following = iter(scores)
    assertions = tuple(
        _assertion(assertion, sample, answered, following, allow_run, folder) for assertion in sample.assertions
    )
    criteria = tuple(_criterion(one, next(following)) for one in sample.rubric)
    layers = (_layer(assertions, FACT), _layer(assertions, BEHAVIOR), _judged(criteria))
    present = [layer for layer in layers if layer is not None]
    return Grade(
        assertions=assertions,
        criteria=criteria,
        fact=layers[0],
        behavior=layers[1],
        judge=layers[2],
        composite=sum(present) / len(present) if present else None,
        unscored=sum(assertion.passed is None for assertion in assertions)
        + sum(criterion.score is None for criterion in criteria),
        usd=_usd(scores),
    )


def judged_parts(sample: EvalSample) -> int:
    """Return how many questions about an answer to a sample are for a judge."""
    return sum(TYPES[assertion.type].decided_by == JUDGE for assertion in sample.assertions) + len(sample.rubric)


def _questions(sample: EvalSample, answered: AgentAnswer) -> list[RubricQuestion]:
    """Return the questions to the judge: the judged assertions of the sample, then the criteria of its rubric."""
    judged = [
        _question(assertion, sample, answered)
        for assertion in sample.assertions
        if TYPES[assertion.type].decided_by == JUDGE
    ]
    return judged + [
        RubricQuestion(RubricKind.RUBRIC, prompt=sample.asked, answer=answered.answer, rubric=one.text)
        for one in sample.rubric
    ]


def _question(assertion: Assertion, sample: EvalSample, answered: AgentAnswer) -> RubricQuestion:
    """Return the question to the judge, with the texts that this assertion type compares (the samples format)."""
    kind = RubricKind(assertion.type)
    source = assertion.reference or sample.context
    if kind is RubricKind.FAITHFULNESS:
        return RubricQuestion(kind, prompt=sample.prompt, answer=answered.answer, context=source)
    if kind is RubricKind.CONTEXT_RECALL:
        # How much of the reference is in the answer: the answer is what is searched for its facts.
        return RubricQuestion(
            kind, prompt=sample.prompt, answer=answered.answer, context=answered.answer, reference=source
        )
    return RubricQuestion(kind, prompt=sample.asked, answer=answered.answer, reference=assertion.reference)


def _assertion(
    assertion: Assertion,
    sample: EvalSample,
    answered: AgentAnswer,
    scores: Iterator[RubricScore],
    allow_run: bool,
    folder: Path,
) -> AssertionGrade:
    decided_by = TYPES[assertion.type].decided_by
    if decided_by == JUDGE:
        result = negated(assertion, _by_score(assertion, next(scores)))
    elif decided_by == PROGRAM:
        allowed = run_custom(assertion, sample, answered, folder) if allow_run else _NOT_ALLOWED
        result = negated(assertion, allowed)
    else:
        result = decide(assertion, answered)
    return AssertionGrade(
        type=assertion.type,
        detail=detail_of(assertion),
        weight=assertion.weight,
        passed=result.passed,
        reason=result.reason,
        layer=layer_of(assertion),
    )


_NOT_ALLOWED = CheckResult(None, "programs are not run unless --allow-run is given")


def _by_score(assertion: Assertion, score: RubricScore) -> CheckResult:
    if score.score is None:
        return CheckResult(None, score.problem or "the judge gave no score")
    needed = SCORE if assertion.threshold is None else assertion.threshold
    return CheckResult(
        score.score >= needed, f"{score.score} of 5, {needed:g} needed. {short(score.reason, SAID)}".strip()
    )


def _criterion(criterion: Criterion, score: RubricScore) -> CriterionScore:
    problem = score.problem if score.score is not None else score.problem or "the judge gave no score"
    reason = redact(score.reason)
    return CriterionScore(
        criterion.name, score.score, criterion.weight, reason, score.judge, redact(problem), score.scores
    )


def _layer(assertions: Sequence[AssertionGrade], layer: str) -> float | None:
    """1 + 4 × passed weight / decided weight; None where nothing was decided."""
    decided = [assertion for assertion in assertions if assertion.layer == layer and assertion.passed is not None]
    whole = sum(one.weight for one in decided)
    return 1 + 4 * sum(one.weight for one in decided if one.passed) / whole if whole else None


def _judged(criteria: Sequence[CriterionScore]) -> float | None:
    """The weighted mean of the criteria that were scored."""
    scored = [(criterion.score, criterion.weight) for criterion in criteria if criterion.score is not None]
    whole = sum(weight for _, weight in scored)
    return sum(score * weight for score, weight in scored) / whole if whole else None


def _usd(scores: Sequence[RubricScore]) -> float | None:
    """Return the cost of judging; None if unknown. Cached scores cost nothing."""
    costs = [0.0 if one.cached else one.usd for one in scores]
    return None if None in costs else sum(cost for cost in costs if cost is not None)
