"""The screen of `quality status`: what it says first, what it never claims, and that text of traces stays text."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
from msgspec.structs import replace

from knowbound.core.quality import Counts, DayRollup, Durations, Metric
from knowbound.report import PAGE_FORMATS, PageFormat
from knowbound.report.formats.charts import metric_svg
from knowbound.report.formats.text import metric_line
from knowbound.report.judging import LABEL
from knowbound.report.quality.items import render_item
from knowbound.report.quality.model import JudgeWorth, QualityStatus
from knowbound.report.quality.status import render_quality
from knowbound.report.sections import MetricChart
from knowbound.stats.judge_gate import GateReason, GateState, MetricGate, WeeklySample
from knowbound.stats.quality import TARGETS, MetricStatus, QualityMetric, WindowRates
from knowbound.stats.rate import Rate
from knowbound.stats.rollout import Baseline, EventKind, Leg, LegStatus, RolloutEvent, RolloutState, RolloutStatus
from tests.report.quality_examples import empty_status, everyday_status, item_page, judge, rolling

GOLDEN = Path(__file__).parents[1] / "golden"
SVG = "{http://www.w3.org/2000/svg}"


def screen(status: QualityStatus) -> str:
    return render_quality(status, "text")


def first_line(status: QualityStatus) -> str:
    return screen(status).splitlines()[0].removeprefix("knowbound quality status  ")


def with_rates(status: QualityStatus, **rates: Rate) -> QualityStatus:
    """The same with these rates, and nothing to compare them with."""
    metrics = [MetricStatus(one.metric, rates.get(one.metric, one.now), Rate()) for one in status.metrics]
    return replace(status, metrics=tuple(metrics))


def good() -> QualityStatus:
    """Every metric meets its target, and no item is to be fixed."""
    rates = {"on_topic": Rate(950, 1000), "used": Rate(800, 1000), "contradicted": Rate(5, 1000)}
    status = replace(everyday_status(), items=(), pages=(), unscored={})
    return with_rates(status, **rates, discovery=Rate(95, 100))


@pytest.mark.parametrize("format_", PAGE_FORMATS)
@pytest.mark.parametrize("example", ["everyday", "empty", "item"])
def test_the_status_reads_as_before(format_: PageFormat, example: str) -> None:
    status = empty_status() if example == "empty" else everyday_status()
    shown = render_item(item_page(), format_) if example == "item" else render_quality(status, format_)
    if format_ == "html":  # the golden page is about its content
        shown = re.sub(r"<(style|script)>.*?</\1>", r"<\1></\1>", shown, flags=re.DOTALL)
        shown = re.sub(r"'sha256-[^']+'", "'sha256-…'", shown)
    golden = GOLDEN / f"quality-{example}.{format_}"
    if os.environ.get("KNOWBOUND_UPDATE_GOLDEN"):
        golden.write_text(shown, encoding="utf-8")
    assert shown == golden.read_text(encoding="utf-8"), "KNOWBOUND_UPDATE_GOLDEN=1 writes the golden files anew"


# The first line


def test_an_empty_log_says_what_to_do() -> None:
    text = screen(empty_status())
    assert "Nothing is measured yet" in text
    assert "knowbound install claude-code" in text
    assert "knowbound quality score" in text
    assert "0%" not in text


def test_wrong_items_come_first() -> None:
    assert first_line(everyday_status()) == "Correct an item that agents contradicted, first k7m2p."


def test_a_judge_that_errs_too_often_is_no_reason_to_correct_anything() -> None:
    measured = judge().measured
    killed = replace(measured[Metric.CONTRADICTED], gate=MetricGate(GateState.KILLED, GateReason.FAR_BELOW))
    worth = replace(judge(), measured={**measured, Metric.CONTRADICTED: killed})
    assert first_line(replace(everyday_status(), judge=worth)).startswith("The judge errs too often")


def test_a_slow_hook_is_named() -> None:
    slow = replace(good().window, stop_ms=Durations({900: 20}))
    assert first_line(replace(good(), window=slow)) == "The stop hook is too slow: run knowbound doctor."
    few = replace(good().window, stop_ms=Durations({900: 19}))
    assert "too slow" not in str(first_line(replace(good(), window=few)))


def test_a_hook_is_slow_only_for_certain() -> None:
    near = replace(good().window, stop_ms=Durations({542: 20}))
    assert "slow" not in first_line(replace(good(), window=near))


def test_without_a_verdict_the_judge_is_to_be_run_again() -> None:
    window = replace(good().window, injected=Counts(unjudged=4))
    assert "knowbound quality score --again" in first_line(replace(good(), window=window))


def test_without_an_injection_nothing_can_be_said() -> None:
    assert "Nothing was injected" in first_line(replace(good(), window=DayRollup("2026-11-16", turns=3)))


@pytest.mark.parametrize(
    ("rates", "words"),
    [
        ({"on_topic": Rate(300, 1000)}, "Too little of what is injected is on topic"),
        ({"used": Rate(300, 1000)}, "Too little of what is injected is used"),
        ({"contradicted": Rate(300, 1000)}, "Too much of what is injected is contradicted"),
        ({"discovery": Rate(3, 100)}, "Too few of the contradicted items were corrected"),
        ({"on_topic": Rate(30, 37)}, "more turns have to be measured"),
        ({}, "Nothing to do"),
    ],
)
def test_the_first_line_names_what_misses_its_target(rates: dict[str, Rate], words: str) -> None:
    assert words in first_line(with_rates(good(), **rates))


def test_where_all_is_good_but_the_judge_is_unmeasured_labels_are_asked_for() -> None:
    status = replace(good(), judge=JudgeWorth({"rules-1": 35}))
    assert first_line(status).startswith("Label turns")
    assert LABEL in screen(status)


# The screen


def test_the_status_fits_on_one_screen() -> None:
    wrong = everyday_status().items[0]
    full = replace(everyday_status(), items=(wrong,) * 9)
    lines = screen(full).splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100
    assert "+4 more" in screen(full)


def test_a_narrow_terminal_gets_all_metrics() -> None:
    text = render_quality(everyday_status(), "text", width=60)
    assert all(name in text for name in ("on topic", "used", "contradicted", "then corrected"))


def test_every_item_has_its_numbers_its_way_back_and_its_command() -> None:
    text = screen(everyday_status())
    assert "contradicted 3 times · last 2026-11-14 · session 5f0c2a9e… · turn turn-9" in text
    assert 'knowbound quality corrections accept k7m2p --content "…"' in text
    assert "knowbound kms show x3f9a then narrow it, or knowbound kms delete x3f9a" in text
    assert "knowbound kms update 'it'\"'\"'s 1' --content \"…\" or leave it: not being used is no fault" in text


def test_what_is_unknown_is_said_to_be_unknown() -> None:
    status = with_rates(everyday_status(), used=Rate(), discovery=Rate())
    (used,) = (line for line in screen(status).splitlines() if line.startswith("  used"))
    assert used.split() == ["used", "unknown", "≥", "50%", "unknown", "–"]


def test_a_window_that_is_not_of_today_says_so() -> None:
    assert "the newest that were measured" in screen(replace(everyday_status(), is_current=False))


def test_an_unmeasured_judge_says_how_to_measure_it() -> None:
    text = screen(replace(everyday_status(), judge=JudgeWorth({"rules-1": 35})))
    assert "unmeasured" in text
    assert LABEL in text


def test_a_weekly_sample_that_is_due_is_asked_for() -> None:
    measured = {metric: one for metric, one in judge().measured.items() if metric is not Metric.CONTRADICTED}
    weekly = WeeklySample(labelled=3, due="2026-11-12T00:00:00Z", is_due=True)
    text = screen(replace(everyday_status(), judge=replace(judge(), measured=measured, weekly=weekly)))
    assert "3 of 10 turns labelled" in text


# Text of traces is data


@pytest.mark.parametrize("format_", ["text", "markdown", "html"])
def test_text_of_traces_stays_text(format_: PageFormat) -> None:
    shown = render_quality(everyday_status(), format_)
    assert "\x1b" not in shown
    if format_ == "html":
        assert "<script>alert" not in shown
        assert "<b>never" not in shown
        assert "<b>.md" not in shown


def test_the_page_has_no_style_attribute_and_every_link_leads_somewhere() -> None:
    page = render_quality(everyday_status(), "html")
    assert "style=" not in page.replace("<style>", "")
    anchors = set(re.findall(r' id="([^"]+)"', page))
    assert set(re.findall(r'href="#([^"]+)"', page)) <= anchors


# The charts


def chart(*windows: WindowRates, metric: QualityMetric = QualityMetric.ON_TOPIC) -> MetricChart:
    return MetricChart("On topic", metric, TARGETS[metric], windows)


def of_rates(*rates: Rate) -> tuple[WindowRates, ...]:
    return tuple(
        WindowRates(f"2026-11-{at:02d}", dict.fromkeys(QualityMetric, rate)) for at, rate in enumerate(rates, 1)
    )


def points(drawing: str, name: str) -> list[int]:
    found = ElementTree.fromstring(drawing).iter(SVG + name)
    return [len(one.attrib["points"].split()) for one in found]


def test_a_line_breaks_where_nothing_was_counted() -> None:
    drawing = metric_svg(chart(*of_rates(Rate(1, 4), Rate(2, 4), Rate(), Rate(3, 4), Rate(3, 4), Rate(4, 4))))
    assert points(drawing, "polyline") == [2, 3]
    assert points(drawing, "polygon") == [4, 6]


def test_a_chart_without_data_says_so() -> None:
    assert "nothing was counted yet" in metric_svg(chart())
    assert "nothing was counted yet" in metric_svg(chart(*of_rates(Rate(), Rate())))
    assert "nothing was counted" in metric_line(chart())


@pytest.mark.parametrize("metric", list(QualityMetric))
def test_everything_drawn_is_inside_the_drawing(metric: QualityMetric) -> None:
    drawing = metric_svg(chart(*rolling(), metric=metric))
    _, _, width, height = map(float, ElementTree.fromstring(drawing).attrib["viewBox"].split())
    numbers = re.findall(r"([-\d.]+),([-\d.]+)", " ".join(re.findall(r'points="([^"]+)"', drawing)))
    assert numbers
    assert all(0 <= float(x) <= width and 0 <= float(y) <= height for x, y in numbers)


def test_rare_answers_get_a_scale_of_their_own() -> None:
    few = of_rates(Rate(1, 100), Rate(2, 100))
    assert chart(*few, metric=QualityMetric.CONTRADICTED).top == 0.1
    assert chart(*of_rates(Rate(40, 100)), metric=QualityMetric.CONTRADICTED).top == 1.0
    assert chart(*few).top == 1.0


def test_a_line_of_characters_has_a_mark_per_window() -> None:
    line = metric_line(chart(*of_rates(Rate(0, 4), Rate(), Rate(4, 4))))
    assert line == "On topic        ▁·█  0% → 100%"


# JSON


def test_json_has_all_items_and_null_for_what_is_unknown() -> None:
    wrong = everyday_status().items[0]
    status = with_rates(replace(everyday_status(), items=(wrong,) * 9), used=Rate())
    found = json.loads(render_quality(status, "json"))
    assert found["format"] == "knowbound.quality/1"
    assert len(found["items"]) == 9
    assert found["metrics"]["used"]["now"]["value"] is None
    assert found["metrics"]["used"]["state"] == "unknown"
    assert found["metrics"]["contradicted"]["target"] == {"share": 0.05, "kind": "at_most"}
    assert len(found["series"]) == 30


def test_the_charts_show_where_legs_began_and_what_reverts_the_present_one() -> None:
    event = RolloutEvent(f"{everyday_status().series[3].date}T10:00:00Z", EventKind.ADVANCED, 0, 1)
    baseline = Baseline("2026-10-01", "2026-10-07", {QualityMetric.ON_TOPIC: Rate(8, 10)})
    state = RolloutState(1, event.time, ("sqlite",), {1: baseline}, history=(event,))
    page = render_quality(
        replace(everyday_status(), rollout=RolloutStatus((LegStatus(Leg(1, ("sqlite",)), is_current=True),), state)),
        "html",
    )
    assert page.count(">leg 1<") == 4
    assert page.count(">kill line<") == 1
