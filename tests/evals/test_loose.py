"""Assertions that say nothing, judges that disagree, samples whose repeats differ."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from knowbound.evals.grading import loose_samples, loose_words
from knowbound.evals.samples.values import Assertion, Criterion, EvalSample
from knowbound.judge.rubric import RubricKind, RubricQuestion, RubricScore, panel_of
from knowbound.report.evals.evaluation import flaky_samples
from knowbound.stats.evaluation import AssertionGrade, CriterionScore, Grade
from tests.evaluation_examples import evaluation_of, rendered_evaluation, sample_run


@pytest.mark.parametrize(
    ("assertion", "is_loose"),
    [
        (Assertion(type="contains", value="timeout"), True),  # a word of the question
        (Assertion(type="contains", value="documentation"), True),
        (Assertion(type="contains_any", values=("5 seconds", "docs", "find")), True),
        (Assertion(type="not_contains", value="Tuesday"), True),
        (Assertion(type="contains", value="5 seconds"), False),
        (Assertion(type="regex", pattern=r"\d+ s"), False),
    ],
)
def test_what_a_refusal_passes_is_named(assertion: Assertion, is_loose: bool) -> None:
    sample = EvalSample(id="s1", prompt="What is the default timeout?", assertions=(assertion,))
    assert bool(list(loose_samples([sample]))) is is_loose
    assert ("s1" in loose_words([sample])) is is_loose


def test_a_sample_that_a_judge_or_a_second_assertion_decides_is_not_loose() -> None:
    word = Assertion(type="contains", value="timeout")
    strict = EvalSample(id="a", prompt="timeout?", assertions=(word, Assertion(type="contains", value="5 s")))
    judged = EvalSample(id="b", prompt="timeout?", assertions=(word,), rubric=(Criterion("rubric", "It says 5 s"),))
    assert list(loose_samples([strict, judged])) == []


class Judge:
    costs = True

    def __init__(self, version: str, *scores: int | None) -> None:
        self.version, self._scores = version, scores

    def score(self, questions: Sequence[RubricQuestion]) -> list[RubricScore]:
        return [RubricScore(one, "why", self.version, "" if one else "no answer", 0.5) for one in self._scores]


def test_several_judges_give_the_lower_median_and_what_each_said() -> None:
    questions = [RubricQuestion(RubricKind.RUBRIC)] * 3
    panel = panel_of([Judge("a", 4, None, None), Judge("b", 2, 5, None)])
    first, second, third = panel.score(questions)
    assert (first.score, first.scores, first.usd, first.reason) == (2, (4, 2), 1.0, "4: why / 2: why")
    assert (second.score, second.scores) == (5, (5,))
    assert (third.score, third.problem) == (None, "no answer")
    assert panel.version == "a + b"


def test_a_report_shows_flaky_samples_apart_and_how_far_judges_agree() -> None:
    def graded(number: int, repeat: int, passed: bool, *scores: int) -> Grade:
        return Grade((AssertionGrade("contains", "x", passed=passed),), (CriterionScore("rubric", 3, scores=scores),))

    runs = [
        sample_run(1, repeat=1, grade=graded(1, 1, True, 3, 4)),
        sample_run(1, repeat=2, grade=graded(1, 2, False, 3, 3)),
        sample_run(2, repeat=1, grade=graded(2, 1, True, 1, 5)),
        sample_run(2, repeat=2, grade=graded(2, 2, True, 2, 2)),
    ]
    found = evaluation_of(runs)
    assert flaky_samples(found) == {runs[0].sample: (1, 2)}
    shown = " ".join(rendered_evaluation(found, "text", width=200).split())
    assert "Flaky samples" in shown
    assert "the same score for 2 of 4 scores, and differ by one point at most for 3" in shown
