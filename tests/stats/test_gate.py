"""Gates: exact decisions, honest intervals, every format of `check` (specification 1, section 7.4)."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from knowbound.report import GATE_FORMATS
from knowbound.report.evals.gate import Format, GateReport, render_check
from knowbound.report.formats.ci import command
from knowbound.stats.figures import WARNING
from knowbound.stats.gate import (
    GateOutcome,
    GateResult,
    Limits,
    about,
    evaluation_gates,
    exit_code,
    gap_rate_regression,
    limit,
    max_gap_rate,
    run_gates,
)
from knowbound.stats.paired import count_pairs
from knowbound.stats.rate import Rate, wilson
from tests.evaluation_examples import empty_evaluation, everyday_evaluation, hostile_evaluation
from tests.report_examples import empty_report, everyday_report
from tests.trend_examples import evaluation

TENTH = limit("0.1")
rates = st.integers(1, 60).flatmap(lambda n: st.integers(0, n).map(lambda k: Rate(k, n)))
limits = st.integers(0, 100).map(lambda percent: Fraction(percent, 100))


# Limits


@pytest.mark.parametrize(("text", "value"), [("0.1", (1, 10)), ("0", (0, 1)), ("1", (1, 1)), (" .05 ", (1, 20))])
def test_a_limit_is_the_fraction_that_was_written(text: str, value: tuple[int, int]) -> None:
    assert limit(text) == Fraction(*value)


def test_a_limit_of_the_config_is_the_decimal_that_stands_in_the_file() -> None:
    assert limit(0.1) == Fraction(1, 10)


@pytest.mark.parametrize("text", ["10", "-0.1", "1.0001", "ten", "", "nan", "inf", "1/3", "10%"])
def test_what_is_no_fraction_from_0_to_1_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"fraction from 0 to 1"):
        limit(text)


def test_a_percentage_gets_a_suggestion() -> None:
    with pytest.raises(ValueError, match=r"Did you mean 0\.1\?"):
        limit("10")


# The absolute gate


@pytest.mark.parametrize(
    ("rate", "at", "outcome"),
    [
        (Rate(1, 10), "0.1", GateOutcome.PASSED),  # not strictly greater, whatever 0.1 is in binary
        (Rate(3, 30), "0.1", GateOutcome.PASSED),
        (Rate(101, 1000), "0.1", GateOutcome.FAILED),
        (Rate(0, 5), "0", GateOutcome.PASSED),
        (Rate(1, 1000), "0", GateOutcome.FAILED),
        (Rate(5, 5), "1", GateOutcome.PASSED),
        (Rate(0, 0), "1", GateOutcome.UNDECIDED),
    ],
)
def test_only_strictly_greater_fails(rate: Rate, at: str, outcome: GateOutcome) -> None:
    assert max_gap_rate(limit(at), rate).outcome is outcome


@given(rates, limits)
def test_the_decision_is_exact_and_the_interval_says_whether_it_is_settled(rate: Rate, at: Fraction) -> None:
    result = max_gap_rate(at, rate)
    assert result.failed == (rate.k * at.denominator > at.numerator * rate.n)
    low, high = wilson(rate.k / rate.n, rate.n)
    assert result.settled == (low > at if result.failed else high <= at)


@given(rates, limits)
def test_so_many_more_samples_settle_it_and_one_fewer_does_not(rate: Rate, at: Fraction) -> None:
    result = max_gap_rate(at, rate)
    if result.more is None or not 0 < result.more < 100_000:
        return
    share = rate.k / rate.n

    def settled(n: int) -> bool:
        low, high = wilson(share, n)
        return low > at if result.failed else high <= at

    assert settled(rate.n + result.more)
    assert not settled(rate.n + result.more - 1)


def test_a_rate_at_its_limit_is_settled_by_no_number_of_samples() -> None:
    result = max_gap_rate(TENTH, Rate(2, 20))
    assert (result.settled, result.more) == (False, None)
    assert "no number of samples" in result.words


def test_the_sentence_says_rate_interval_decision_and_what_is_missing() -> None:
    assert max_gap_rate(TENTH, Rate(3, 24)).words == (
        "gap rate 12.5% (3 of 24, 95% 4–31%) is above 0.1: fails. "
        "The data do not settle it; about 530 more samples like these would."
    )
    assert max_gap_rate(limit("0.5"), Rate(3, 24)).words == (
        "gap rate 12.5% (3 of 24, 95% 4–31%) is not above 0.5: passes. The data settle it."
    )


def test_nothing_counted_is_undecided_and_never_passed() -> None:
    for result in run_gates(Limits(limit("1"), limit("1")), Rate()):
        assert result.outcome is GateOutcome.UNDECIDED
        assert result.settled is None
        assert "unknown" in result.words
        assert exit_code([result]) == 3


# The regression gate


@pytest.mark.parametrize(
    ("before", "now", "delta", "failed"),
    [
        (Rate(2, 10), Rate(3, 10), "0.1", False),  # 0.3 − 0.2 is not more than 0.1
        (Rate(2, 10), Rate(31, 100), "0.1", True),
        (Rate(2, 10), Rate(2, 10), "0", False),
        (Rate(2, 10), Rate(21, 100), "0", True),
        (Rate(5, 10), Rate(1, 10), "0", False),
    ],
)
def test_only_a_rise_of_strictly_more_fails(before: Rate, now: Rate, delta: str, failed: bool) -> None:
    assert gap_rate_regression(limit(delta), now, before).failed is failed


@pytest.mark.parametrize("before", [None, Rate()])
def test_without_an_earlier_run_that_is_said_and_neither_passed_nor_failed(before: Rate | None) -> None:
    result = gap_rate_regression(TENTH, Rate(1, 10), before)
    assert result.outcome is GateOutcome.NO_BASELINE
    assert result.settled is None
    assert "no earlier run with the same test set" in result.words
    assert exit_code([result]) == 0
    assert exit_code([result], strict=True) == 3


def test_pairing_by_sample_tells_more_than_two_rates() -> None:
    pairs = count_pairs([[(True, True)]] * 10 + [[(False, True)]] * 6 + [[(False, False)]] * 24)
    alone = gap_rate_regression(limit("0"), Rate(16, 40), Rate(10, 40))
    together = gap_rate_regression(limit("0"), Rate(16, 40), Rate(10, 40), pairs)
    assert alone.failed
    assert together.failed
    assert (alone.settled, together.settled) == (False, True)
    assert together.difference is not None
    assert together.difference.paired
    assert "paired by sample" in together.words


def test_evaluations_are_paired_by_their_runs_and_what_else_differs_is_said() -> None:
    before, now = evaluation("g........."), evaluation("gggggggg..", executor="codex")
    absolute, regression = evaluation_gates(Limits(limit("0.9"), TENTH), now, before)
    assert absolute.before is None
    assert absolute.note == ""
    assert regression.failed
    assert regression.settled
    assert regression.difference is not None
    assert regression.difference.paired
    assert "the executor (claude → codex)" in regression.note


def test_evaluations_without_a_baseline_say_so() -> None:
    (result,) = evaluation_gates(Limits(None, TENTH), evaluation("g..."), None)
    assert result.outcome is GateOutcome.NO_BASELINE


# Exit codes


def _result(outcome: GateOutcome, settled: bool | None) -> GateResult:
    return GateResult("max-gap-rate", 0.1, Rate(1, 10), outcome, "", settled=settled)


@pytest.mark.parametrize(
    ("results", "code", "strict_code"),
    [
        ([(GateOutcome.PASSED, True)], 0, 0),
        ([(GateOutcome.PASSED, False)], 0, 3),
        ([(GateOutcome.FAILED, False)], 1, 1),
        ([(GateOutcome.FAILED, True), (GateOutcome.UNDECIDED, None)], 1, 1),
        ([(GateOutcome.PASSED, True), (GateOutcome.UNDECIDED, None)], 3, 3),
        ([(GateOutcome.NO_BASELINE, None)], 0, 3),
        ([], 0, 0),
    ],
)
def test_exit_codes(results: list[tuple[GateOutcome, bool | None]], code: int, strict_code: int) -> None:
    made = [_result(*one) for one in results]
    assert exit_code(made) == code
    assert exit_code(made, strict=True) == strict_code


@pytest.mark.parametrize(
    ("count", "shown"), [(7, "about 7"), (99, "about 99"), (121, "about 130"), (1443, "about 1,500")]
)
def test_an_estimate_has_two_digits(count: int, shown: str) -> None:
    assert about(count) == shown


# The formats of check


def _check(strict: bool = False) -> GateReport:
    run = everyday_evaluation()
    return GateReport(run, tuple(run_gates(Limits(limit("0.3"), limit("0.05")), run.gap.rate)), strict)


@pytest.mark.parametrize("format_", [format_ for format_ in GATE_FORMATS if format_ != "sarif"])
def test_every_format_has_the_watermark_and_every_gate(format_: Format) -> None:
    for run in (everyday_evaluation(), everyday_report()):
        results = tuple(run_gates(Limits(limit("0.3"), limit("0.05")), run.gap.rate))
        shown = render_check(GateReport(run, results), format_).replace("&#x27;", "'").replace("%25", "%")
        assert WARNING in shown
        assert run.watermark.sha256_8 in shown
        assert run.watermark.path in shown
        assert "max-gap-rate" in shown
        assert "gap-rate-regression" in shown
        assert "no earlier run with the same test set" in shown


@pytest.mark.parametrize("format_", ["text", "markdown", "html"])
def test_a_check_shows_inventory_sources_and_coverage(format_: Format) -> None:
    shown = render_check(_check(), format_)
    for words in ("revenue_schema", "repeated failure", "docs/refunds.md", "failed"):
        assert words in shown


@pytest.mark.parametrize("format_", GATE_FORMATS)
def test_nothing_counted_is_shown_as_unknown_in_every_format(format_: Format) -> None:
    for run in (empty_evaluation(), empty_report()):
        check = GateReport(run, tuple(run_gates(Limits(TENTH), run.gap.rate)))
        assert check.code == 3
        assert "unknown" in render_check(check, format_)


def test_json_has_the_decision_and_what_it_rests_on() -> None:
    run = evaluation("gggggggg..")
    before = evaluation("g.........")
    results = evaluation_gates(Limits(TENTH, TENTH), run, before)
    document = json.loads(render_check(GateReport(run, tuple(results), strict=True), "json"))
    assert document["format"] == "knowbound.check/1"
    assert set(document["watermark"]) == {"path", "samples", "sha256_8", "warning"}
    assert (document["outcome"], document["exit_code"], document["strict"]) == ("failed", 1, True)
    absolute, regression = document["gates"]
    assert (absolute["name"], absolute["limit"], absolute["failed"]) == ("max-gap-rate", 0.1, True)
    assert set(absolute["rate"]) == {"k", "n", "value", "low", "high"}
    assert regression["difference"]["value"] == pytest.approx(0.7)
    assert regression["before"]["k"] == 1
    assert len(document["inventory"]) == 8
    assert document["run"]["kind"] == "evaluation"


def test_junit_fails_a_failed_gate_and_skips_an_undecided_one() -> None:
    suite = ElementTree.fromstring(render_check(_check(), "junit")).find("testsuite")
    assert suite is not None
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("2", "1", "1")
    absolute, regression = suite.findall("testcase")
    assert absolute.find("failure") is not None
    assert regression.find("skipped") is not None


def test_github_has_an_error_for_a_failed_gate() -> None:
    lines = render_check(_check(), "github").splitlines()
    assert lines[0].startswith("::error title=Gate max-gap-rate 0.3%3A failed")
    assert lines[1].startswith("::notice title=")
    assert render_check(_check(strict=True), "github").splitlines()[1].startswith("::warning title=")


@given(st.text(), st.text())
def test_no_text_can_make_a_workflow_command_of_its_own(title: str, message: str) -> None:
    line = command("notice", title, message)
    assert "\n" not in line
    assert "\r" not in line
    head, _, rest = line.partition("::notice title=")[2].partition("::")
    assert ":" not in head
    assert "," not in head
    assert re.sub("%(25|0A|0D)", "", rest).count("%") == 0


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "| a | `b` @c", "a\x1b[31mb\ufffe", "]]> &amp;"])
def test_hostile_text_is_shown_and_never_obeyed(text: str) -> None:
    check, harmless = (
        GateReport(run, tuple(run_gates(Limits(TENTH), run.gap.rate)))
        for run in (hostile_evaluation(text), hostile_evaluation("x"))
    )
    page = render_check(check, "html")
    assert page.count("<script") == render_check(harmless, "html").count("<script")
    parser = MarkdownIt("commonmark").enable("table")
    tags, safe = (re.findall(r"<(\w+)", parser.render(render_check(one, "markdown"))) for one in (check, harmless))
    assert tags == safe
    ElementTree.fromstring(render_check(check, "junit"))
    assert "\x1b" not in render_check(check, "text")
