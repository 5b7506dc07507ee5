"""Gates: exact decisions, honest intervals, every format of `check` (specification 1, section 7.4)."""

from __future__ import annotations

import json
import re
from fractions import Fraction
from xml.etree import ElementTree

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from knowbound.report import GATE_FORMATS
from knowbound.report.evals.gate import Format, GateReport, render_check
from knowbound.report.formats.ci import command
from knowbound.stats.figures import WARNING, RateKind
from knowbound.stats.gate import (
    GateOutcome,
    GateResult,
    Limits,
    about,
    evaluation_gates,
    exit_code,
    gap_rate_regression,
    gate_key,
    limit,
    max_gap_rate,
    max_unsupported,
    run_gates,
)
from knowbound.stats.paired import Pairs, count_pairs
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


# At the limits


@pytest.mark.parametrize(
    ("unseen", "outcome", "settled", "more", "words"),
    [
        (0, GateOutcome.PASSED, True, 0, "passes. The data settle it."),
        (2, GateOutcome.PASSED, True, 0, "passes. The data settle it."),  # even with gaps the rate is at the limit
        (
            3, GateOutcome.PASSED, False, None,
            "passes. The data do not settle it: the tool calls of 3 of 20 samples left no trace.",
        ),
        (
            20, GateOutcome.UNDECIDED, None, None,
            "gap rate 0% (0 of 20, 95% 0–16%) is not above 0.1. No tool call of any sample left a trace: "
            "failed searches were not measured. Nothing is decided.",
        ),
    ],
)  # fmt: skip
def test_unseen_samples_leave_a_pass_open_if_their_gaps_would_turn_it(
    unseen: int, outcome: GateOutcome, settled: bool | None, more: int | None, words: str
) -> None:
    result = max_gap_rate(TENTH if unseen else limit("0.2"), Rate(0, 20), unseen=unseen)
    if unseen == 2:
        result = max_gap_rate(limit("0.2"), Rate(2, 20, 1.0), unseen=unseen)
        assert (result.outcome, result.settled) == (outcome, False)
        assert result.words.endswith("more samples like these would.")
        return
    assert (result.outcome, result.settled, result.more) == (outcome, settled, more)
    assert result.words.endswith(words)


def test_unseen_samples_change_nothing_about_a_failure() -> None:
    seen, unseen = max_gap_rate(TENTH, Rate(9, 20)), max_gap_rate(TENTH, Rate(9, 20), unseen=5)
    assert (seen.words, seen.settled, seen.more) == (unseen.words, unseen.settled, unseen.more)
    assert unseen.words.endswith("is above 0.1: fails. The data settle it.")


def test_one_more_sample_is_one_sample() -> None:
    result = max_gap_rate(limit("0.5"), Rate(0, 3))
    assert (result.settled, result.more) == (False, 1)
    assert result.words.endswith("passes. The data do not settle it; about 1 more sample like these would.")


def test_the_gate_of_unsupported_answers_has_words_of_its_own() -> None:
    above, below, none = (max_unsupported(TENTH, rate) for rate in (Rate(5, 10), Rate(1, 10), Rate()))
    assert (above.name, above.failed, above.key) == ("max-unsupported", True, "max-unsupported")
    assert above.words == "unsupported answers 50% (5 of 10, 95% 24–76%) are above 0.1"
    assert below.words == "unsupported answers 10% (1 of 10, 95% 2–40%) are not above 0.1"
    assert none.words == "unsupported answers unknown: no turn was audited, so nothing is decided."
    assert none.outcome is GateOutcome.UNDECIDED


def test_a_gate_is_stored_under_its_name_and_the_kind_of_its_rate() -> None:
    assert gate_key("max-gap-rate", RateKind.RAW) == "max-gap-rate"
    assert gate_key("max-gap-rate", RateKind.OPEN) == "max-gap-rate open"
    (result,) = run_gates(Limits(TENTH, kind=RateKind.OPEN), Rate(1, 10))
    assert (result.key, result.words[:8]) == ("max-gap-rate open", "open gap")


def test_a_regression_says_both_rates_the_rise_and_what_is_missing() -> None:
    result = gap_rate_regression(TENTH, Rate(6, 20), Rate(2, 20))
    assert result.words == (
        "gap rate 10% (2 of 20, 95% 3–30%) → 30% (6 of 20, 95% 15–52%): +20.0 points (95% −5 to +43), more than 0.1: "
        "fails. The data do not settle it; about 110 more samples like these would."
    )
    assert (result.before, result.settled, result.more) == (Rate(2, 20), False, 102)
    assert result.difference is not None
    assert not result.difference.paired
    at_limit = gap_rate_regression(TENTH, Rate(4, 20), Rate(2, 20))
    assert (at_limit.failed, at_limit.settled, at_limit.more) == (False, False, None)


def pairs(both: int = 0, fixed: int = 0, broken: int = 0, neither: int = 0) -> Pairs:
    cells = [(True, True)] * both + [(True, False)] * fixed + [(False, True)] * broken + [(False, False)] * neither
    return count_pairs([[cell] for cell in cells])


def test_broken_samples_fail_a_gate_that_the_gaps_would_pass() -> None:
    changed = pairs(fixed=1, broken=7, neither=12)
    names = [f"s{at}" for at in range(7)]
    result = gap_rate_regression(
        TENTH, Rate(2, 20), Rate(2, 20), pairs(both=2, neither=18), broken=names, changed=changed
    )
    assert result.failed
    assert result.broken == names
    assert result.words.startswith(
        "gap rate 10% (2 of 20, 95% 3–30%) → 10% (2 of 20, 95% 3–30%): 0 points (95% −16 to +16) paired by sample, "
        "not more than 0.1; 7 of 20 samples broke by an assertion that passed before (s0, s1, s2, s3, s4 and 2 more); "
        "in all 7 broke and 1 were fixed: +30.0 points (95% +3 to +53), more than 0.1: fails. "
    )
    five = gap_rate_regression(TENTH, Rate(2, 20), Rate(2, 20), broken=names[:5], changed=changed)
    assert "(s0, s1, s2, s3, s4);" in five.words
    few = pairs(broken=2, neither=18)  # exactly a tenth
    passed = gap_rate_regression(TENTH, Rate(2, 20), Rate(2, 20), broken=names[:2], changed=few)
    assert (passed.failed, "+10.0 points" in passed.words) == (False, True)
    unnamed = gap_rate_regression(TENTH, Rate(2, 20), Rate(2, 20), changed=changed)
    assert not unnamed.failed


def test_gaps_that_fail_alone_are_not_replaced_by_broken_samples() -> None:
    result = gap_rate_regression(TENTH, Rate(12, 20), Rate(2, 20), broken=["s1"], changed=pairs(broken=9, neither=11))
    assert result.failed
    assert result.difference is not None
    assert result.difference.value == pytest.approx(0.5)


def test_unseen_samples_leave_a_regression_open_if_their_gaps_would_turn_it() -> None:
    before, now = Rate(0, 20), Rate(0, 20)
    assert gap_rate_regression(TENTH, now, before, unseen=2).settled is False
    turned = gap_rate_regression(TENTH, now, before, unseen=3)
    assert turned.words.endswith("the tool calls of 3 of 20 samples left no trace.")
    assert gap_rate_regression(TENTH, now, before, unseen=20).outcome is GateOutcome.UNDECIDED


def test_pairs_without_any_pair_are_no_pairs() -> None:
    alone, empty = (gap_rate_regression(TENTH, Rate(6, 20), Rate(2, 20), one) for one in (None, pairs()))
    assert alone.words == empty.words


def test_the_note_of_a_regression_names_the_baseline_and_how_to_accept_the_rise() -> None:
    before, now = evaluation("g...", id=3), evaluation("gggg", id=4)
    _, result = evaluation_gates(Limits(TENTH, TENTH), now, before)
    assert result.note == (
        f"Against evaluation 3 of 2026-11-15, commit {before.commit[:10]}. A run that fails a gate is no baseline of "
        "the next one. To accept it as the new one: knowbound check --gap-rate-regression 1"
    )
    dirty = msgspec.structs.replace(before, dirty=True, executor="codex")
    (opened,) = evaluation_gates(Limits(None, TENTH, RateKind.OPEN), now, dirty)
    assert (
        "with uncommitted changes. Since that run also changed: the executor (codex → claude). The rise" in opened.note
    )
    assert opened.note.endswith("--gap-rate-regression 1 --rate open")
    (passed,) = evaluation_gates(Limits(None, TENTH), now, msgspec.structs.replace(now, id=3, commit=""))
    assert passed.note == "Against evaluation 3 of 2026-11-15."


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("x", "'x' is not a number. A limit is a fraction from 0 to 1, such as 0.1 for 10%."),
        ("-0.1", "-0.1 is not a fraction from 0 to 1; 10% is 0.1."),
        ("1.5", "1.5 is not a fraction from 0 to 1; 10% is 0.1. Did you mean 0.015?"),
        ("100", "100 is not a fraction from 0 to 1; 10% is 0.1. Did you mean 1?"),
        ("101", "101 is not a fraction from 0 to 1; 10% is 0.1."),
    ],
)
def test_a_wrong_limit_says_what_it_should_be(text: str, shown: str) -> None:
    with pytest.raises(ValueError, match="^" + re.escape(shown) + "$"):
        limit(text)


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (0, "about 0"),
        (99, "about 99"),
        (100, "about 100"),
        (101, "about 110"),
        (999, "about 1,000"),
        (12_001, "about 13,000"),
    ],
)
def test_an_estimate_is_rounded_up_from_three_digits_on(count: int, shown: str) -> None:
    assert about(count) == shown
