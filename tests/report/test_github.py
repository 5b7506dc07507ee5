"""GitHub workflow commands: at the line of the sample, escaped, no more than GitHub shows."""

from __future__ import annotations

import re
from typing import Any, NamedTuple
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.report.observe import render_observe
from knowbound.stats.evaluation import Evaluation, RunEnding
from knowbound.stats.figures import WARNING
from knowbound.stats.rate import Rate
from tests.evaluation_examples import (
    NUDGE,
    REVENUE,
    ROOT,
    UNSURE,
    evaluation_of,
    everyday_evaluation,
    gates_of,
    hostile_evaluation,
    rendered_evaluation,
    sample_run,
)
from tests.report_examples import REFUND_POLICY, TRACES, everyday_report, hostile_report, topic_of


class Command(NamedTuple):
    level: str
    properties: dict[str, str]
    message: str


def parsed(shown: str) -> list[Command]:
    """The commands as the runner reads them: one per line, properties and data unescaped."""
    commands = []
    for line in shown.removesuffix("\n").split("\n"):
        found = re.fullmatch(r"::(\w+) ([^:]*)::(.*)", line)
        assert found, line
        properties = dict(one.split("=", 1) for one in found[2].split(","))
        commands.append(
            Command(found[1], {key: unquote(value) for key, value in properties.items()}, unquote(found[3]))
        )
    return commands


def commands(evaluation: Evaluation, **more: Any) -> list[Command]:
    return parsed(rendered_evaluation(evaluation, "github", here=ROOT, **more))


def titled(found: list[Command], title: str) -> Command:
    return next(one for one in found if one.properties["title"] == title)


def test_a_gap_is_annotated_at_its_sample() -> None:
    found = titled(commands(everyday_evaluation()), "Knowledge gap in sample s003")
    assert found.level == "warning"
    assert (found.properties["file"], found.properties["line"]) == ("samples.yaml", "30")
    assert found.message.startswith('[failed search] open: Grep "revenue_schema" in docs/ → no matches')


@pytest.mark.parametrize(
    ("title", "level"),
    [
        ("Knowledge gap in sample s007", "notice"),  # soft signals only
        ("Knowledge gap in sample s004", "notice"),  # found later
        ("Sample s008: crashed", "warning"),
    ],
)
def test_the_level_follows_from_what_still_stands(title: str, level: str) -> None:
    assert titled(commands(everyday_evaluation()), title).level == level


def test_a_gate_that_failed_is_an_error_and_errors_come_first() -> None:
    evaluation = everyday_evaluation()
    found = commands(evaluation, gates=gates_of(evaluation, Rate(2, 8)))
    assert [one.level for one in found[:2]] == ["error", "error"]
    assert "max-gap-rate 0.3 failed" in found[0].properties["title"]


def test_a_gate_that_nothing_settles_is_a_notice() -> None:
    evaluation = everyday_evaluation()
    found = commands(evaluation, gates=gates_of(evaluation))
    assert titled(found, "Gate gap-rate-regression 0.05 nothing to compare with").level == "notice"


def test_the_nudge_is_a_notice_and_never_more() -> None:
    assert titled(commands(everyday_evaluation(), nudge=NUDGE), "The gap rate is near 0").level == "notice"


def test_the_last_notice_carries_the_watermark() -> None:
    observed = parsed(render_observe(everyday_report(), "github"))
    for found, rate in ((commands(everyday_evaluation()), "Gap rate"), (observed, "Open rate")):
        assert found[-1].level == "notice"
        assert WARNING in found[-1].message
        assert re.match(rf"{rate} \S+% \(\d+ of \d+ samples, 95% ", found[-1].message)


def many(number: int) -> Evaluation:
    hard = [sample_run(at, signals=[REVENUE]) for at in range(1, number + 1)]
    soft = [sample_run(at, signals=[UNSURE]) for at in range(number + 1, 2 * number + 1)]
    return evaluation_of([*hard, *soft])


def test_no_more_than_ten_of_each_level_and_the_rest_is_counted() -> None:
    found = commands(many(25))
    assert [one.level for one in found].count("warning") == 10
    assert [one.level for one in found].count("notice") == 10
    assert "Not shown, GitHub takes 10 of each: 15 warnings, 16 notices." in found[-1].message


def test_what_fits_is_shown_without_a_count() -> None:
    found = commands(many(9))
    assert len(found) == 9 + 9 + 1
    assert "Not shown" not in found[-1].message


def test_nothing_to_see_leaves_the_watermark() -> None:
    (only,) = commands(evaluation_of([sample_run(1)], topics=[], warnings=[]))
    assert "1 samples" in only.message or "1 sample" in only.message


def test_a_sample_that_never_ran_is_no_gap() -> None:
    runs = [sample_run(1, ending=RunEnding.BUDGET, problem="not run: the budget of $1 is spent")]
    assert titled(commands(evaluation_of(runs)), "Sample s001: over the budget").level == "warning"


def test_observed_work_is_annotated_by_topic() -> None:
    found = parsed(render_observe(everyday_report(), "github", here=TRACES))
    assert [one.level for one in found[:2]] == ["warning", "warning"]
    assert found[0].message.startswith("refund_policy: 3 sessions · 9 calls · 12 s, found 2×, asked the user 1×\n")
    assert "\nanswer: docs/refunds.md:12\n" in found[0].message
    assert found[0].properties["line"] == str(REFUND_POLICY.line)


def test_a_trace_outside_the_workspace_is_named_in_the_message_only() -> None:
    found = parsed(render_observe(everyday_report(), "github", here="/elsewhere"))
    assert "file" not in found[0].properties
    assert f"{REFUND_POLICY.file}:{REFUND_POLICY.line}" in found[0].message


def test_ten_topics_are_shown_and_the_others_counted() -> None:
    topics = [topic_of(f"query_{at}", REFUND_POLICY) for at in range(14)]
    found = parsed(render_observe(everyday_report(topics=topics), "github"))
    assert [one.level for one in found].count("warning") == 10
    assert "4 warnings" in found[-1].message


@pytest.mark.parametrize(
    "text",
    ["x\n::error::owned", "\r::stop-commands::x", "##[error]owned", "a,line=9::b", "100%0A::x", "\u2028::error::x"],
)
def test_text_of_a_trace_cannot_give_a_command(text: str) -> None:
    harmless = parsed(rendered_evaluation(hostile_evaluation("harmless"), "github"))
    found = parsed(rendered_evaluation(hostile_evaluation(text), "github"))
    assert [(one.level, set(one.properties)) for one in found] == [(one.level, set(one.properties)) for one in harmless]


@given(st.text(max_size=40))
def test_every_line_is_one_command(text: str) -> None:
    for shown in (
        rendered_evaluation(hostile_evaluation(text), "github"),
        render_observe(hostile_report(text), "github"),
    ):
        parsed(shown)
