"""Two variants on the same samples: the verdict in one sentence, in every format, and when it is undecided."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from knowbound.core.signal import InjectedText
from knowbound.report import EVERY_FORMAT
from knowbound.report.evals.comparison import verdict_words
from knowbound.report.evals.evaluation import Format
from knowbound.stats.comparison import Comparison, Verdict, compare
from knowbound.stats.evaluation import AssertionGrade, Evaluation, Grade, SampleRun
from tests.evaluation_examples import REVENUE, evaluation_of, rendered_evaluation, sample_run

ITEM = InjectedText("hook:UserPromptSubmit", "", "The port is 8080.", 17, 3, "k1")


def graded(number: int, passed: bool | None, **more: object) -> SampleRun:
    assertions = () if passed is None else (AssertionGrade("contains", '"8080"', passed=passed),)
    return sample_run(number, grade=Grade(assertions=assertions), **more)


def sides(one: Sequence[bool | None], other: Sequence[bool | None]) -> tuple[Evaluation, Evaluation]:
    """Two evaluations: whether each sample passes on either side, where it has assertions."""
    ones = [graded(number, passed, tokens_in=10, tokens_out=5) for number, passed in enumerate(one, 1)]
    others = [
        graded(number, passed, tokens_in=30 + number, tokens_out=5, injected=[ITEM])
        for number, passed in enumerate(other, 1)
    ]
    first, second = evaluation_of(ones, id=6, variant="a"), evaluation_of(others, id=7, inject=True, compared_with=6)
    return first, evaluation_of(others, id=second.id, inject=True, compared_with=6, variant="b")


def compared(one: Sequence[bool | None], other: Sequence[bool | None]) -> Comparison:
    return compare(*sides(one, other))


@pytest.mark.parametrize(
    ("one", "other", "verdict", "words"),
    [
        ([False] * 9 + [True] * 3, [True] * 12, Verdict.BETTER, "B answers 9 of 12 more, p = 0.0039."),
        ([True] * 9, [False] * 9, Verdict.WORSE, "B answers 9 of 9 fewer, p = 0.0039."),
        (
            [False] * 4 + [True] * 27,
            [True] * 3 + [False] + [True] * 26 + [False],
            Verdict.UNDECIDED,
            "Undecided: b answers 2 of 31 more, p = 0.62; about 250 more samples would.",
        ),
        ([True, False], [False, True], Verdict.UNDECIDED, "no reasonable number of samples like these would decide"),
        ([True] * 40, [True] * 40, Verdict.UNDECIDED, "of 40 samples; one of 24% would be seen in 4 of 5 cases."),
        ([None] * 3, [None] * 3, Verdict.UNDECIDED, "No difference: both answer the same of 3 samples."),
        ([], [], Verdict.UNDECIDED, "Nothing to compare: no sample is complete on both sides."),
    ],
)
def test_the_verdict_is_what_the_pairs_settle(
    one: Sequence[bool | None], other: Sequence[bool | None], verdict: Verdict, words: str
) -> None:
    found = compared(one, other)
    assert found.verdict is verdict
    assert words in verdict_words(found)


def test_where_a_sample_has_no_assertions_its_gap_decides() -> None:
    gap = [graded(number, None, signals=[REVENUE]) for number in range(1, 10)]
    none = [graded(number, None) for number in range(1, 10)]
    found = compare(evaluation_of(gap), evaluation_of(none, inject=True))
    assert (found.verdict, found.answered.fixed) == (Verdict.BETTER, 9)


def test_a_rubric_below_three_is_no_answer() -> None:
    bad, good = ([sample_run(number, grade=Grade(judge=score)) for number in range(1, 10)] for score in (2.9, 3.0))
    assert compare(evaluation_of(bad), evaluation_of(good)).answered.fixed == 9


def test_means_are_of_samples_that_have_the_value_on_both_sides() -> None:
    found = compared([True] * 4, [True] * 4)
    assert (found.tokens.n, found.tokens.value) == (4, 22.5)
    assert found.tokens.low is not None
    assert found.tokens.low < 22.5


@pytest.mark.parametrize("format_", [one for one in EVERY_FORMAT if one not in ("jsonl", "sarif", "github")])
def test_every_report_begins_with_the_verdict(format_: Format) -> None:
    first, second = sides([False] * 9, [True] * 9)
    shown = rendered_evaluation(second, format_, comparison=compare(first, second), width=200)
    assert "B answers 9 of 9 more" in shown
    assert "k1" in shown or format_ == "junit"
    assert "answers" not in rendered_evaluation(first, format_, width=200)


def test_a_page_has_the_answers_side_by_side() -> None:
    first, second = sides([False] * 9, [True] * 9)
    page = rendered_evaluation(second, "html", comparison=compare(first, second))
    assert "answer: a" in page
    assert page.index("answer: a") < page.index("answer: b") < page.index("not answered")


def test_json_has_both_sides_and_every_run_its_items() -> None:
    first, second = sides([False] * 9, [True] * 8 + [False])
    document = json.loads(rendered_evaluation(second, "json", comparison=compare(first, second)))
    found = document["comparison"]
    assert (found["names"], found["verdict"]) == (["a", "b"], "better")
    assert (found["answered"]["before"], found["answered"]["after"], found["answered"]["fixed"]) == (0, 8, 8)
    assert document["runs"][0]["injected"] == [
        {"item": "k1", "source": "hook:UserPromptSubmit", "excerpt": "The port is 8080."}
    ]


def test_no_item_in_any_run_is_said() -> None:
    shown = rendered_evaluation(evaluation_of([graded(1, True)], inject=True), "text", width=200)
    assert "No item was injected in any run" in shown


def test_a_comparison_of_the_two_sides_says_that_injection_is_the_difference() -> None:
    caveats = compare(*sides([False] * 3, [True] * 3)).caveats
    assert caveats == ["The knowledge files are the same on both sides: what differs is injection."]
