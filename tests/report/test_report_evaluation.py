"""Every format of an evaluation's report, from evaluations made by hand."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
from markdown_it import MarkdownIt

from knowbound.core.signal import SignalType
from knowbound.report import EVERY_FORMAT
from knowbound.report.evals.evaluation import Format
from knowbound.report.evals.samples import (
    evaluation_entries,
    groups,
    rows_to_read_first,
    sample_rows,
    unscored,
)
from knowbound.report.formats.plain import cells
from knowbound.stats.evaluation import Evaluation, RunEnding
from knowbound.stats.figures import WARNING
from knowbound.stats.rate import Rate
from tests.evaluation_examples import (
    NUDGE,
    ROOT,
    empty_evaluation,
    evaluation_of,
    everyday_evaluation,
    gates_of,
    hostile_evaluation,
    probed_evaluation,
    rendered_evaluation,
    repeated_evaluation,
    sample_run,
)
from tests.report.test_report import HOSTILE, UNSEEN, _elements, _unseen, _without_assets
from tests.report_examples import figures

GOLDEN = Path(__file__).parents[1] / "golden"
FOR_PEOPLE: tuple[Format, ...] = ("text", "markdown", "html")


def shown(evaluation: Evaluation, format_: Format, **more: Any) -> str:
    return rendered_evaluation(evaluation, format_, here=ROOT, **more)


def everything(format_: Format, **more: Any) -> str:
    """The everyday evaluation with gates, nudge and competency questions beside it."""
    evaluation = everyday_evaluation()
    beside, gates = probed_evaluation(), gates_of(evaluation, Rate(2, 8))
    return shown(evaluation, format_, gates=gates, nudge=NUDGE, beside=beside, **more)


# The formats as a whole


@pytest.mark.parametrize(
    ("example", "format_"),
    [
        *(("everyday", format_) for format_ in EVERY_FORMAT),
        ("repeated", "text"),
        ("empty", "text"),
        ("empty", "markdown"),
    ],
)
def test_the_report_reads_as_before(example: str, format_: Format) -> None:
    made = {"repeated": repeated_evaluation, "empty": empty_evaluation}
    page = _without_assets(everything(format_) if example == "everyday" else shown(made[example](), format_))
    golden = GOLDEN / f"evaluation-{example}.{format_}"
    if os.environ.get("KNOWBOUND_UPDATE_GOLDEN"):
        golden.write_text(page, encoding="utf-8")
    assert page == golden.read_text(encoding="utf-8"), "KNOWBOUND_UPDATE_GOLDEN=1 writes the golden files anew"


# The watermark (specification 1, section 7.1)


@pytest.mark.parametrize("format_", [format_ for format_ in EVERY_FORMAT if format_ != "jsonl"])
@pytest.mark.parametrize("evaluation", [everyday_evaluation(), empty_evaluation()], ids=["everyday", "empty"])
def test_no_format_shows_a_rate_without_the_watermark(format_: Format, evaluation: Evaluation) -> None:
    page = shown(evaluation, format_).replace("&#x27;", "'")
    assert WARNING in page
    assert evaluation.watermark.path in page
    assert evaluation.watermark.sha256_8 in page


def test_a_line_of_a_run_carries_the_watermark_and_shows_no_rate() -> None:
    lines = [json.loads(line) for line in shown(everyday_evaluation(), "jsonl").splitlines()]
    assert len(lines) == 10
    assert {line["test_set"] for line in lines} == {"5f0c2a9e"}
    assert {line["watermark"]["warning"] for line in lines} == {WARNING}
    assert not {"rate", "coverage"} & set(lines[0])


@pytest.mark.parametrize("format_", FOR_PEOPLE)
def test_competency_questions_stand_beside_with_a_watermark_of_their_own(format_: Format) -> None:
    alone, both = shown(everyday_evaluation(), format_), everything(format_)
    assert both.replace("&#x27;", "'").count(WARNING) == alone.replace("&#x27;", "'").count(WARNING) + 1
    assert "c81e40d7" in both
    assert "1 of 6 samples" in both
    assert "4 of 8 samples" in both  # the written ones are as they were: nothing was added
    assert "5 of 14" not in both


# Which knowledge, who answered, what it cost


@pytest.mark.parametrize("format_", FOR_PEOPLE)
def test_the_report_says_which_knowledge_and_who_answered(format_: Format) -> None:
    page = " ".join(everything(format_).split())
    for words in ("3f9a1c07d5", "Say who owns which table", "with uncommitted changes", "claude", "openai:small"):
        assert words in page


def test_knowledge_outside_git_is_said_to_be() -> None:
    assert "not in git" in shown(empty_evaluation(), "text")


@pytest.mark.parametrize("format_", FOR_PEOPLE)
def test_a_cost_that_is_not_told_is_unknown_and_never_zero(format_: Format) -> None:
    assert "$0.16 and 2 runs of unknown cost" in everything(format_)
    assert "cost unknown" in shown(empty_evaluation(), format_)


# What was left out


@pytest.mark.parametrize("format_", FOR_PEOPLE)
def test_runs_that_left_the_denominators_are_shown_with_their_reason(format_: Format) -> None:
    page = everything(format_)
    assert "2 runs not in the rates" in page
    assert "the agent ended with exit code 1: rate limited" in page
    assert "took too long" in page


def test_a_sample_without_a_complete_run_has_an_unknown_gap() -> None:
    rows = {row["sample"]: row for row in json.loads(everything("json"))["samples"]}
    assert rows["s008"]["gap"] == {"k": 0, "n": 0, "value": None, "low": None, "high": None}
    assert (rows["s008"]["open"], rows["s008"]["composite"], rows["s008"]["endings"]) == (None, None, ["crashed"])
    assert rows["s001"]["open"] is False


@pytest.mark.parametrize("format_", FOR_PEOPLE)
def test_without_a_complete_run_the_figures_are_unknown_and_never_zero(format_: Format) -> None:
    page = _without_assets(shown(empty_evaluation(), format_))
    assert "unknown" in page
    assert not re.search(r"\b0(\.0)?%", page.replace("green under 10%", ""))


@pytest.mark.parametrize("format_", FOR_PEOPLE)
def test_unscored_grades_are_counted_with_their_reason(format_: Format) -> None:
    page = everything(format_)
    assert "1 grade" in page
    assert "the judge did not answer within 60 s" in page


def test_unscored_is_counted_by_reason() -> None:
    assert unscored(everyday_evaluation()) == {"the judge did not answer within 60 s": 1}


# Following a number back


@pytest.mark.parametrize("format_", FOR_PEOPLE)
def test_every_entry_leads_to_its_sample_and_to_its_trace(format_: Format) -> None:
    page = everything(format_)
    assert "samples.yaml:30" in page
    assert ".knowbound/evals/7/v0/0003-1/1/trace.jsonl:4" in page


def test_text_shows_an_entry_as_the_specification_does() -> None:
    assert (
        "  Sample s003 / step 4 / [failed search] open\n"
        '    Grep "revenue_schema" in docs/ → no matches\n'
        "    agent self-report: need to verify which domain the revenue field definitions live in\n"
    ) in everything("text")


def test_open_and_hard_signals_come_first() -> None:
    entries = evaluation_entries(everyday_evaluation())
    assert [entry.signal.sample for entry in entries] == ["s003", "s005", "s007", "s007", "s004"]
    assert entries[0].signal.type is SignalType.FAILED_SEARCH


def test_signals_of_a_lost_run_are_in_no_inventory() -> None:
    gap = everyday_evaluation().runs[2].signals
    runs = [sample_run(1, signals=gap, ending=RunEnding.INCOMPLETE, problem="no answer of the agent"), sample_run(2)]
    assert evaluation_entries(evaluation_of(runs)) == []


def test_a_page_leads_from_a_sample_to_its_gap_and_back() -> None:
    page = everything("html")
    links = set(re.findall(r'href="#([^"]+)"', page))
    anchors = set(re.findall(r'id="([^"]+)"', page))
    assert links <= anchors
    assert {"sample-3", "gap-1", "failed-sample-3"} <= links


@pytest.mark.parametrize("format_", FOR_PEOPLE)
def test_failed_assertions_say_what_was_asked_and_why_it_failed(format_: Format) -> None:
    page = everything(format_).replace("&quot;", '"')
    assert 'contains "finance.revenue_daily"' in page
    assert "the answer does not contain it" in page
    assert 'not-contains "probably"' not in page  # it passed


# Samples, groups, repeats


def test_samples_with_something_to_see_come_first() -> None:
    order = [row.sample for row in rows_to_read_first(sample_rows(everyday_evaluation()))]
    assert order[:6] == ["s003", "s005", "s007", "s004", "s008", "s009"]
    assert order[6:] == ["s001", "s002", "s006", "s010"]


def test_a_long_table_is_cut_in_text_and_whole_on_the_page() -> None:
    evaluation = evaluation_of([sample_run(number) for number in range(1, 41)])
    assert "+15 more: --format json" in shown(evaluation, "text")
    assert shown(evaluation, "html").count('<tr role="row" id="sample-') == 40


def test_rows_by_capability_and_difficulty() -> None:
    found = groups(everyday_evaluation()).values()
    groups_by_name = {group.name: group for of_kind in found for group in of_kind}
    assert (groups_by_name["billing"].samples, groups_by_name["billing"].gap) == (5, Rate(3, 4))
    assert (groups_by_name["accounts"].samples, groups_by_name["accounts"].gap) == (5, Rate(1, 4))
    assert (groups_by_name["easy"].samples, groups_by_name["easy"].gap) == (4, Rate(2, 4))
    for format_ in FOR_PEOPLE:
        assert "billing" in everything(format_)


def test_without_capabilities_there_is_no_such_section() -> None:
    assert "By capability" not in shown(evaluation_of([sample_run(1, capability=[], difficulty="")]), "text")


def test_repeated_samples_are_counted_as_samples_and_their_runs_are_shown() -> None:
    page = shown(repeated_evaluation(), "text")
    assert "1 of 3 samples" in page
    assert "3 samples · 9 runs (1 not in the rates)" in page
    assert "s003    2 of 2" in page
    assert "Sample s003 (run 2) / step 4" in page


def test_runs_that_0_1_0_counted_are_called_runs() -> None:
    everyday_gap = figures(samples=8, strong=2, weak=0, still_open=2, turns=Rate(2, 8))
    stored = msgspec.structs.replace(repeated_evaluation(), gap=everyday_gap)
    assert "2 of 8 runs" in shown(stored, "text")


def test_a_group_counts_its_samples_once() -> None:
    (group,) = groups(repeated_evaluation())["difficulty"]
    assert (group.gap, group.samples) == (Rate(1, 3), 3)


# Gates and the nudge


@pytest.mark.parametrize("format_", FOR_PEOPLE)
def test_gates_say_how_they_came_out_and_whether_the_data_settle_it(format_: Format) -> None:
    page = everything(format_)
    assert "max-gap-rate 0.3" in page
    assert "failed, not settled" in page
    assert re.sub(r"\s+", " ", page).count("The data do not settle it") == 2


def test_a_gate_without_a_baseline_says_so() -> None:
    evaluation = everyday_evaluation()
    assert "nothing to compare with" in shown(evaluation, "text", gates=gates_of(evaluation))


@pytest.mark.parametrize("format_", FOR_PEOPLE)
def test_the_nudge_is_there_word_for_word(format_: Format) -> None:
    page = re.sub(r"\s+", " ", everything(format_).replace("&quot;", '"').replace("&#x27;", "'"))
    assert NUDGE in page


# JSON that others rely on


def test_json_has_the_keys_that_others_rely_on() -> None:
    document = json.loads(everything("json"))
    assert document["format"] == "knowbound.evaluation/1"
    assert set(document["watermark"]) == {"path", "samples", "sha256_8", "warning"}
    assert set(document["gap"]) >= {
        "rate",
        "weighted",
        "open",
        "per_turn",
        "soft_share",
        "by_type",
        "band",
        "confidence",
    }
    assert set(document["gap"]["rate"]) == {"k", "n", "value", "low", "high"}
    assert set(document["composite"]) == {"n", "value", "low", "high"}
    assert document["knowledge"]["dirty"] is True
    assert [gate["outcome"] for gate in document["gates"]] == ["failed", "failed"]
    assert document["beside"]["gap"]["rate"]["n"] == 6
    assert document["cost"] == {"usd": pytest.approx(0.16), "unknown_runs": 2}
    assert document["runs"][2]["signals"][0]["sample"] == "s003"
    assert document["runs"][7]["gap"] is None


def test_json_of_nothing_has_null() -> None:
    document = json.loads(shown(empty_evaluation(), "json"))
    assert document["gap"]["rate"]["value"] is None
    assert document["composite"]["value"] is None
    assert document["cost"]["usd"] is None
    assert document["knowledge"]["commit"] is None
    assert document["nudge"] is document["beside"] is None


def test_the_documentation_names_every_key() -> None:
    told = (Path(__file__).parents[2] / "docs" / "json.md").read_text(encoding="utf-8")
    part = told[told.index("knowbound.evaluation/1") : told.index("knowbound.investigation/1")]
    document = json.loads(everything("json"))
    for key in (*document, *document["samples"][0], *document["runs"][0], *document["gates"][0], *document["totals"]):
        assert f'"{key}"' in part, key


# Text from samples, traces and models is data


@pytest.mark.parametrize("text", UNSEEN)
@pytest.mark.parametrize("format_", FOR_PEOPLE)
def test_control_and_direction_characters_are_stripped(format_: Format, text: str) -> None:
    assert not _unseen(shown(hostile_evaluation(f"before {text} after"), format_))


@pytest.mark.parametrize("text", HOSTILE)
def test_a_page_shows_markup_and_never_obeys_it(text: str) -> None:
    page = _elements(shown(hostile_evaluation(text), "html"))
    harmless = _elements(shown(hostile_evaluation("harmless"), "html"))
    assert page.elements == harmless.elements
    assert page.attributes == harmless.attributes
    assert page.elements.count("script") == page.elements.count("style") == 1
    assert all(link.startswith("#") or link == "data:," for link in page.links)


@pytest.mark.parametrize("text", HOSTILE)
def test_markdown_shows_markup_and_never_obeys_it(text: str) -> None:
    parser = MarkdownIt("commonmark").enable("table")
    page = _elements(parser.render(shown(hostile_evaluation(text), "markdown")))
    assert page.elements == _elements(parser.render(shown(hostile_evaluation("harmless"), "markdown"))).elements


@pytest.mark.parametrize("format_", EVERY_FORMAT)
def test_broken_unicode_does_not_break_the_output(format_: Format) -> None:
    page = shown(hostile_evaluation("caf\udce9 \ud800"), format_)
    assert "caf\ufffd" in page
    page.encode("utf-8")


@pytest.mark.parametrize("width", [80, 100, 140])
def test_text_keeps_to_the_width_but_for_what_people_copy(width: int) -> None:
    copied = (".jsonl", "Test set ", "knowbound report")
    for line in everything("text", width=width).splitlines():
        assert cells(line) <= width or line.strip() == WARNING or any(words in line for words in copied), line


def test_colour_changes_nothing_but_colour() -> None:
    assert re.sub(r"\x1b\[\d+m", "", everything("text", colour=True)) == everything("text")


def test_a_step_summary_stays_short_however_many_samples_there_are() -> None:
    evaluation = evaluation_of([msgspec.structs.replace(run, sample=f"s{at}") for at, run in _many(1000)])
    assert len(shown(evaluation, "markdown").encode()) < 100_000  # GitHub takes 1 MiB


def _many(number: int) -> list[tuple[int, Any]]:
    runs = everyday_evaluation().runs
    return [(at, runs[at % len(runs)]) for at in range(number)]


# The page in a real browser


def test_the_page_runs_under_its_policy_in_a_browser(tmp_path: Path) -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("chromium is not installed")
    file = tmp_path / "report.html"
    file.write_text(everything("html"), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom"]
    done = subprocess.run(
        [chromium, *options, f"--user-data-dir={tmp_path}/profile", file.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "5 / 5" in done.stdout
    assert "CONSOLE" not in done.stderr


# What was asked and answered


def test_html_folds_the_whole_prompt_and_the_answer_as_they_were_written() -> None:
    run = sample_run(1, prompt="Why? " * 60, answer="First line\n  second <b>line</b>")
    page = shown(evaluation_of([run]), "html")
    assert "<pre>First line\n  second &lt;b&gt;line&lt;/b&gt;</pre>" in page
    assert f"<pre>{('Why? ' * 60).rstrip()}" in page
    assert '<details class="asked">' in page


def test_answers_that_differ_between_repeats_are_all_there() -> None:
    runs = [sample_run(1, repeat=number, answer=f"Answer {min(number, 2)}.") for number in (1, 2, 3)]
    page = shown(evaluation_of(runs, repeat=3), "html")
    assert [page.count(f"<pre>Answer {number}.</pre>") for number in (1, 2)] == [1, 1]


@pytest.mark.parametrize("format_", ["text", "markdown"])
def test_the_prompt_of_a_sample_with_a_gap_is_shown(format_: Format) -> None:
    assert "Which table holds the daily revenue, and who owns it?" in shown(everyday_evaluation(), format_)


@pytest.mark.parametrize("format_", FOR_PEOPLE)
@pytest.mark.parametrize("width", [60, 100])
def test_of_the_built_in_executor_a_miss_claims_no_more_than_it_can_know(format_: Format, width: int) -> None:
    runs = [run for run in everyday_evaluation().runs if run.sample in ("s001", "s003")]
    page = " ".join(shown(evaluation_of(runs, executor="investigate"), format_, width=width).split())
    assert "write it, or see the" in page
    assert "not where it looked" not in page
    assert "it is missing" not in page
    by_agent = " ".join(shown(evaluation_of(runs), format_, width=width).split())
    assert "not there, or not where it looked" in by_agent
    assert "it is missing, or not where they look" in by_agent
