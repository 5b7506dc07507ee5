"""What an evaluation says about injection, in every format, and when it says that it cannot tell."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from knowbound.core.signal import InjectedText
from knowbound.report.evaluation import Format, render_evaluation
from knowbound.report.format_names import EVERY_FORMAT
from knowbound.report.injection import verdict_words
from knowbound.stats.comparison import compare
from knowbound.stats.evaluation import AssertionGrade, Evaluation, Grade, SampleRun
from knowbound.stats.injection import Effect, InjectionEffect, injection_effect
from tests.evaluation_examples import REVENUE, evaluation_of, sample_run

ITEM = InjectedText("hook:UserPromptSubmit", "", "The port is 8080.", 17, 3, "k1")


def graded(number: int, passed: bool | None, **more: object) -> SampleRun:
    assertions = () if passed is None else (AssertionGrade("contains", '"8080"', passed=passed),)
    return sample_run(number, grade=Grade(assertions=assertions), **more)


def sides(without: Sequence[bool | None], injected: Sequence[bool | None]) -> tuple[Evaluation, Evaluation]:
    """Two evaluations: whether each sample passes on either side, where it has assertions."""
    ones = [graded(number, passed, tokens_in=10, tokens_out=5) for number, passed in enumerate(without, 1)]
    others = [
        graded(number, passed, tokens_in=30 + number, tokens_out=5, injected=[ITEM])
        for number, passed in enumerate(injected, 1)
    ]
    return evaluation_of(ones, id=6), evaluation_of(others, id=7, inject=True, compared_with=6)


def effect_of(without: Sequence[bool | None], injected: Sequence[bool | None]) -> InjectionEffect:
    return injection_effect(*sides(without, injected))


@pytest.mark.parametrize(
    ("without", "injected", "effect", "words"),
    [
        ([False] * 9, [True] * 9, Effect.HELPS, "Injection helps: the pass rate changes by +100.0 points"),
        ([True] * 9, [False] * 9, Effect.HARMS, "Injection harms: the pass rate changes by −100.0 points"),
        ([False] * 3, [True, True, False], Effect.UNDECIDED, "more samples like these would tell"),
        ([True, False], [False, True], Effect.UNDECIDED, "no reasonable number of samples like these would tell"),
        ([True] * 4, [True] * 4, Effect.UNDECIDED, "the pass rate is the same in 4 pairs"),
        ([None] * 3, [None] * 3, Effect.UNDECIDED, "the gap rate is the same in 3 pairs"),
        ([], [], Effect.UNDECIDED, "no sample is complete on both sides"),
    ],
)
def test_the_verdict_is_what_the_pairs_settle(
    without: Sequence[bool | None], injected: Sequence[bool | None], effect: Effect, words: str
) -> None:
    found = effect_of(without, injected)
    assert found.effect is effect
    assert words in verdict_words(found)


def test_where_no_sample_has_assertions_the_gap_rate_decides() -> None:
    gap = [graded(number, None, signals=[REVENUE]) for number in range(1, 10)]
    none = [graded(number, None) for number in range(1, 10)]
    found = injection_effect(evaluation_of(gap), evaluation_of(none, inject=True))
    assert (found.by_passes, found.effect) == (False, Effect.HELPS)
    assert "the gap rate changes by −100.0 points" in verdict_words(found)


def test_means_are_of_samples_that_have_the_value_on_both_sides() -> None:
    found = effect_of([True] * 4, [True] * 4)
    assert (found.tokens.n, found.tokens.value) == (4, 22.5)
    assert found.tokens.low is not None
    assert found.tokens.low < 22.5


@pytest.mark.parametrize("format_", [one for one in EVERY_FORMAT if one not in ("jsonl", "sarif", "github")])
def test_every_report_says_whether_injection_helps(format_: Format) -> None:
    without, injected = sides([False] * 9, [True] * 9)
    shown = render_evaluation(injected, format_, effect=injection_effect(without, injected), width=200)
    assert "Injection helps" in shown
    assert "k1" in shown or format_ == "junit"
    plain = render_evaluation(without, format_, width=200)
    assert "njection help" not in plain


def test_json_has_both_sides_and_every_run_its_items() -> None:
    without, injected = sides([False] * 9, [True] * 8 + [False])
    document = json.loads(render_evaluation(injected, "json", effect=injection_effect(without, injected)))
    passes = document["injection"]["pass_rate"]
    assert (passes["without"], passes["with"], passes["n"], passes["fixed"]) == (0, 8, 9, 8)
    assert passes["difference"]["value"] == pytest.approx(8 / 9)
    assert passes["difference"]["low"] < passes["difference"]["value"] < passes["difference"]["high"]
    assert document["runs"][0]["injected"] == [
        {"item": "k1", "source": "hook:UserPromptSubmit", "excerpt": "The port is 8080."}
    ]


def test_no_item_in_any_run_is_said() -> None:
    shown = render_evaluation(evaluation_of([graded(1, True)], inject=True), "text", width=200)
    assert "No item was injected in any run" in shown


def test_a_comparison_of_the_two_sides_says_that_injection_is_the_difference() -> None:
    caveats = compare(*sides([False] * 3, [True] * 3)).caveats
    assert caveats == ["The knowledge files are the same on both sides: what differs is injection."]
