"""JUnit XML: what fails, what is an error, what is skipped, and that any text makes valid XML."""

from __future__ import annotations

from typing import Any
from xml.etree.ElementTree import Element, fromstring

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.report.observe import render_observe
from knowbound.stats.evaluation import Evaluation, Grade, RunEnding
from knowbound.stats.figures import WARNING
from knowbound.stats.rate import Rate
from tests.evaluation_examples import (
    CONTAINS_TABLE,
    ROOT,
    evaluation_of,
    everyday_evaluation,
    everyday_runs,
    gates_of,
    hostile_evaluation,
    rendered_evaluation,
    repeated_evaluation,
    sample_run,
)
from tests.report_examples import everyday_report, figures, hostile_report


def suites(evaluation: Evaluation, **more: Any) -> list[Element]:
    return list(fromstring(rendered_evaluation(evaluation, "junit", here=ROOT, **more)))


def case(evaluation: Evaluation, name: str) -> Element:
    (found,) = [one for one in suites(evaluation)[0].iter("testcase") if one.get("name") == name]
    return found


def outcome(one: Element) -> tuple[str, str]:
    """What came of a testcase, and of which type."""
    for kind in ("failure", "error", "skipped"):
        found = one.find(kind)
        if found is not None:
            return kind, found.get("type", "")
    return "passed", ""


@pytest.mark.parametrize(
    ("sample", "came_of_it"),
    [
        ("s001", ("passed", "")),
        ("s003", ("failure", "failed_search")),
        ("s004", ("passed", "")),  # found later
        ("s005", ("failure", "repeated_failure")),
        ("s006", ("passed", "")),  # a judge that did not answer
        ("s007", ("failure", "explicit_marker")),
        ("s008", ("error", "crashed")),
        ("s009", ("error", "timeout")),
    ],
)
def test_a_sample_fails_by_what_still_stands(sample: str, came_of_it: tuple[str, str]) -> None:
    assert outcome(case(everyday_evaluation(), sample)) == came_of_it


def test_a_failed_assertion_without_a_gap_is_a_failure_too() -> None:
    evaluation = evaluation_of([sample_run(1, grade=Grade(assertions=(CONTAINS_TABLE,), composite=1.0))])
    assert outcome(case(evaluation, "s001")) == ("failure", "assertion")


def test_a_sample_that_the_budget_left_out_is_skipped() -> None:
    runs = [sample_run(1), sample_run(2, ending=RunEnding.BUDGET, problem="not run: the budget of $1 is spent")]
    assert outcome(case(evaluation_of(runs), "s002")) == ("skipped", "")


def test_repeats_are_inside_one_testcase_and_a_lost_one_is_said() -> None:
    evaluation = repeated_evaluation()
    (suite,) = suites(evaluation)
    assert [one.get("name") for one in suite.iter("testcase")] == ["s001", "s002", "s003"]
    assert outcome(case(evaluation, "s003")) == ("failure", "failed_search")
    told = case(evaluation, "s003").findtext("system-out") or ""
    assert "s003 (run 3): trace not complete" in told


def test_the_counts_agree_with_the_testcases() -> None:
    evaluation = everyday_evaluation()
    top = fromstring(rendered_evaluation(evaluation, "junit", gates=gates_of(evaluation, Rate(2, 8)), here=ROOT))
    for suite in (*top, top):
        cases = list(suite.iter("testcase"))
        assert int(suite.get("tests", "")) == len(cases)
        for count, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.get(count, "")) == sum(one.find(kind) is not None for one in cases)


def test_open_failures_are_those_of_the_open_gap_rate() -> None:
    evaluation = everyday_evaluation()
    failures = [one for one in suites(evaluation)[0].iter("testcase") if outcome(one)[0] == "failure"]
    assert len(failures) == evaluation.gap.open.k


def test_gates_are_testcases_of_their_own() -> None:
    evaluation = everyday_evaluation()
    _, gates = suites(evaluation, gates=gates_of(evaluation))
    came = {one.get("name"): outcome(one) for one in gates.iter("testcase")}
    assert came == {"max-gap-rate 0.3": ("failure", "max-gap-rate"), "gap-rate-regression 0.05": ("skipped", "")}


def test_every_suite_carries_the_watermark() -> None:
    evaluation = everyday_evaluation()
    for suite in suites(evaluation, gates=gates_of(evaluation)):
        told = {one.get("name"): one.get("value") for one in suite.iter("property")}
        assert told["watermark"] == "Test set: samples.yaml · 10 samples · sha256 5f0c2a9e"
        assert told["watermark.warning"] == WARNING
        assert (told["headline"] or "").startswith("Gap rate 50% (4 of 8 samples, 95% ")


def test_a_testcase_names_the_line_of_its_sample() -> None:
    found = case(everyday_evaluation(), "s003")
    assert (found.get("file"), found.get("line")) == ("samples.yaml", "30")


# Observed work


def test_a_skill_fails_by_a_red_open_band_and_never_on_few_samples() -> None:
    general, few = everyday_report().skills
    gap = figures(samples=20, strong=8, weak=0, still_open=6, turns=Rate(9, 41), by_type=(12, 1, 2, 3))
    rows = [msgspec.structs.replace(general, gap=gap), few]
    (suite,) = fromstring(render_observe(everyday_report(skills=rows), "junit"))
    came = {one.get("name"): outcome(one)[0] for one in suite.iter("testcase")}
    assert came == {"general": "failure", "release-notes": "skipped"}


def test_a_skill_whose_open_band_is_yellow_passes_whatever_was_resolved() -> None:
    gap = figures(samples=20, strong=12, weak=0, still_open=4, turns=Rate(4, 40), by_type=(4, 0, 0, 0))
    report = everyday_report()
    rows = [msgspec.structs.replace(report.skills[0], gap=gap)]
    (suite,) = fromstring(render_observe(everyday_report(skills=rows), "junit"))
    assert outcome(next(suite.iter("testcase"))) == ("passed", "")


# Any text


@given(st.text(alphabet=st.characters(codec=None, exclude_categories=()), max_size=30))
def test_any_text_makes_valid_xml(text: str) -> None:
    for shown in (
        rendered_evaluation(hostile_evaluation(text), "junit"),
        render_observe(hostile_report(text), "junit"),
    ):
        fromstring(shown.encode("utf-8"))


def test_characters_that_xml_forbids_are_replaced() -> None:
    shown = rendered_evaluation(hostile_evaluation("a\x00\x08\x0b\ufffe\ud800b"), "junit")
    fromstring(shown)
    assert not {"\x00", "\x08", "\x0b", "\ufffe", "\ud800"} & set(shown)


def test_a_run_without_a_sample_file_has_no_place() -> None:
    evaluation = evaluation_of([msgspec.structs.replace(everyday_runs()[0], file="", line=0)])
    assert case(evaluation, "s001").get("file") is None
