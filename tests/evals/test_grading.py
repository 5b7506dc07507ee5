"""Grades: layers from 1 to 5, the composite of what is present, and nothing undecided counted against an answer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.evals.assertions import AgentAnswer
from knowbound.evals.grading import grade
from knowbound.evals.samples.values import Assertion, Criterion, EvalSample
from knowbound.judge.rubric import RubricKind, RubricQuestion, RubricScore
from knowbound.stats.evaluation import Grade

ANSWER = AgentAnswer(answer="alpha beta", seconds=1.0, usd=0.01, steps=2)
YES, NO = Assertion("contains", value="alpha"), Assertion("contains", value="gamma")
SHORT, LONG = Assertion("max_length", value=100), Assertion("min_length", value=100)
OPEN = Assertion("mock_hit", value="Bash:1")


class Scripted:
    """A judge that gives these scores in turn and remembers what it was asked."""

    version, costs = "scripted", True

    def __init__(self, *scores: RubricScore) -> None:
        self.scores, self.asked = list(scores), list[RubricQuestion]()

    def score(self, questions: Sequence[RubricQuestion]) -> list[RubricScore]:
        self.asked += questions
        return [self.scores.pop(0) for _ in questions]


def sample(*assertions: Assertion, **fields: object) -> EvalSample:
    return EvalSample(id="s", prompt="Say it", assertions=assertions, **fields)  # type: ignore[arg-type]


def graded_by(judge: Scripted | None, one: EvalSample, folder: Path = Path(), *, allow_run: bool = False) -> Grade:
    return grade(one, ANSWER, judge, allow_run=allow_run, folder=folder)


@pytest.mark.parametrize(
    ("assertions", "fact", "behavior", "composite", "unscored"),
    [
        ((), None, None, None, 0),
        ((YES,), 5, None, 5, 0),
        ((NO,), 1, None, 1, 0),
        ((YES, NO), 3, None, 3, 0),
        ((YES, Assertion("contains", value="gamma", weight=3)), 2, None, 2, 0),
        ((YES, SHORT, LONG), 5, 3, 4, 0),
        ((YES, OPEN), 5, None, 5, 1),
        ((OPEN,), None, None, None, 1),
        ((Assertion("cost_max", value=0.001), OPEN), None, 1, 1, 1),
        # A set of both layers counts in neither.
        ((Assertion("assert-set", children=(NO, LONG)), YES), 5, None, 5, 0),
        ((Assertion("assert-set", children=(NO, YES)), YES), 3, None, 3, 0),
    ],
)
def test_layers_and_composite(
    assertions: tuple[Assertion, ...],
    fact: float | None,
    behavior: float | None,
    composite: float | None,
    unscored: int,
) -> None:
    found = graded_by(None, sample(*assertions))
    assert (found.fact, found.behavior, found.composite, found.unscored) == (fact, behavior, composite, unscored)
    assert found.judge is None
    assert found.usd == 0.0


def test_a_rubric_is_the_weighted_mean_of_its_criteria() -> None:
    one = sample(YES, rubric=(Criterion("a", "A?", 3), Criterion("b", "B?", 1)))
    judge = Scripted(RubricScore(5, "good", "j", usd=0.5), RubricScore(1, "bad", "j", usd=0.25))
    found = graded_by(judge, one)
    assert found.judge == 4
    assert found.composite == (5 + 4) / 2
    assert [(score.name, score.score, score.reason) for score in found.criteria] == [("a", 5, "good"), ("b", 1, "bad")]
    assert found.usd == 0.75
    assert [question.rubric for question in judge.asked] == ["A?", "B?"]


def test_a_judge_that_fails_leaves_it_unscored_and_never_0() -> None:
    one = sample(YES, rubric=(Criterion("a", "A?", 3), Criterion("b", "B?", 1)))
    found = graded_by(Scripted(RubricScore(None, problem="timeout"), RubricScore(2, usd=0.1)), one)
    assert found.judge == 2
    assert found.unscored == 1
    assert (found.criteria[0].score, found.criteria[0].problem) == (None, "timeout")
    assert found.usd is None  # what the failed question cost is not known


def test_without_a_judge_everything_that_needs_one_is_unscored() -> None:
    judged = Assertion("answer_relevancy", negated=True)
    found = graded_by(None, sample(YES, judged, rubric=(Criterion("rubric", "R?"),)))
    assert found.composite == 5
    assert found.unscored == 2
    assert found.assertions[1].passed is None
    assert found.assertions[1].reason == found.criteria[0].problem == "no judge is in force"


@pytest.mark.parametrize(
    ("threshold", "score", "negated", "passed"),
    [(None, 3, False, True), (None, 2, False, False), (4, 3, False, False), (4, 4, True, False), (5, 4, True, True)],
)
def test_a_judged_assertion_passes_from_its_threshold(
    threshold: float | None, score: int, negated: bool, passed: bool
) -> None:
    one = sample(Assertion("answer_relevancy", threshold=threshold, negated=negated))
    found = graded_by(Scripted(RubricScore(score, "why", usd=0.0)), one)
    assert found.assertions[0].passed is passed
    assert found.fact == (5 if passed else 1)
    assert "why" in found.assertions[0].reason


def test_what_each_judged_assertion_compares() -> None:
    own, context = "the reference", "the context"
    one = sample(
        Assertion("faithfulness"),
        Assertion("faithfulness", reference=own),
        Assertion("context_recall"),
        Assertion("semantic_similarity", reference=own),
        Assertion("answer_relevancy"),
        context=context,
    )
    judge = Scripted(*[RubricScore(5, usd=0.0)] * 5)
    graded_by(judge, one)
    asked = judge.asked
    assert [question.kind for question in asked] == [
        RubricKind.FAITHFULNESS,
        RubricKind.FAITHFULNESS,
        RubricKind.CONTEXT_RECALL,
        RubricKind.SEMANTIC_SIMILARITY,
        RubricKind.ANSWER_RELEVANCY,
    ]
    assert [question.context for question in asked[:2]] == [context, own]
    assert (asked[2].reference, asked[2].context) == (context, ANSWER.answer)
    assert asked[3].reference == own
    assert {question.answer for question in asked} == {ANSWER.answer}


def test_a_judge_of_a_rubric_sees_the_context_too() -> None:
    judge = Scripted(RubricScore(5, usd=0.0))
    graded_by(judge, sample(context="def f(): ...", rubric=(Criterion("rubric", "R?"),)))
    assert judge.asked[0].question == "Say it\n\n```\ndef f(): ...\n```"


def test_a_cached_score_costs_nothing() -> None:
    judge = Scripted(RubricScore(4, cached=True, usd=0.5))
    assert graded_by(judge, sample(rubric=(Criterion("rubric", "R?"),))).usd == 0.0


@pytest.mark.parametrize("before", ["", "x" * 60 + " "])
def test_secrets_are_taken_out_of_what_is_kept(before: str) -> None:
    secret = "ghp_" + "a1B2" * 9
    one = sample(
        *(Assertion(kind, value="x") for kind in ("equals", "starts_with", "ends_with")),
        Assertion("not_contains", value=secret),
        rubric=(Criterion("r", "R?"),),
    )
    judge = Scripted(RubricScore(1, f"It says {secret}", usd=0.0))
    found = grade(one, AgentAnswer(answer=f"{before}{secret} {before}"), judge, allow_run=False, folder=Path())
    assert found.assertions[3].passed is False  # what is asserted is asserted of the answer as it was
    assert "a1B2a1B2" not in str(found)


def test_a_judge_is_not_asked_for_nothing() -> None:
    judge = Scripted()
    graded_by(judge, sample(YES))
    assert judge.asked == []


def test_programs_run_only_where_that_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "c.py").write_text("open('ran', 'w'); print('{\"pass\": false, \"message\": \"m\"}')", "utf-8")
    one = sample(Assertion("custom", fn="c.py", negated=True))
    refused = graded_by(None, one, tmp_path).assertions[0]
    assert (refused.passed, refused.reason) == (None, "programs are not run unless --allow-run is given")
    assert not (tmp_path / "ran").exists()
    allowed = graded_by(None, one, tmp_path, allow_run=True)
    assert (allowed.assertions[0].passed, allowed.behavior) == (True, 5)
    assert (tmp_path / "ran").exists()


CHOICES = st.lists(st.tuples(st.sampled_from([YES, NO, SHORT, LONG, OPEN]), st.floats(0.01, 100)), max_size=8)


@given(CHOICES, st.lists(st.tuples(st.none() | st.integers(1, 5), st.floats(0.01, 100)), max_size=4))
def test_scores_stay_between_1_and_5_and_what_is_unscored_changes_none(
    chosen: list[tuple[Assertion, float]], criteria: list[tuple[int | None, float]]
) -> None:
    def of(pairs: list[tuple[Assertion, float]], rubric: list[tuple[int | None, float]]) -> Grade:
        assertions = [Assertion(one.type, value=one.value, weight=weight) for one, weight in pairs]
        named = tuple(Criterion(f"c{n}", "?", weight) for n, (_, weight) in enumerate(rubric))
        return graded_by(
            Scripted(*(RubricScore(score, usd=0.0) for score, _ in rubric)), sample(*assertions, rubric=named)
        )

    whole = of(chosen, criteria)
    for score in (whole.fact, whole.behavior, whole.judge, whole.composite):
        assert score is None or 1 <= score <= 5 + 1e-9
    decided = of(
        [(one, weight) for one, weight in chosen if one is not OPEN],
        [(score, weight) for score, weight in criteria if score is not None],
    )
    assert (decided.fact, decided.behavior, decided.judge) == (whole.fact, whole.behavior, whole.judge)
    assert decided.composite == whole.composite
    assert decided.unscored == 0
