from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from msgspec.structs import replace

from knowbound.core.item import Item
from knowbound.core.quality import Counts, ItemVerdict, LoggedCall, LoggedItem, Metric, QualityTurn, TurnEnding
from knowbound.errors import InputError
from knowbound.judge.registry import turn_judge_version
from knowbound.kms.validation import ItemEdit
from knowbound.quality.status import quality_of_item, quality_status
from knowbound.report.quality.items import render_item
from knowbound.report.quality.model import Fault, ItemToFix, QualityStatus
from knowbound.report.quality.status import render_quality
from knowbound.stats.calibration import Pair, calibrate
from knowbound.stats.judge_gate import MeasuredMetric, gate
from knowbound.stats.quality import MetricStatus, QualityMetric, TargetState, day_before
from knowbound.store.judges import TurnJudgeCalibration, keep_turn_judge_calibrations
from knowbound.text.clock import utc_now
from tests.quality.measured_project import TODAY, MeasuredProject, logged, turn

PORT = Item(id="port", content="The staging database listens on port 5432.")
TABS = Item(id="tabs", content="Ada prefers tabs in Makefiles.")
NIGHT = Item(id="night", content="The nightly export runs at 02:00 UTC.")
MOVED = "It moved to port 6432 in March."


@pytest.fixture
def project(tmp_path: Path) -> MeasuredProject:
    return MeasuredProject(tmp_path, [PORT, TABS, NIGHT])


def shown(project: MeasuredProject, today: str = TODAY) -> QualityStatus:
    return quality_status(project.settings, today=today)


def metric(status: QualityStatus, name: QualityMetric) -> MetricStatus:
    return next(one for one in status.metrics if one.metric is name)


def faults(project: MeasuredProject) -> list[tuple[str, Fault]]:
    return [(one.id, one.fault) for one in shown(project).items]


def contradicted(date: str = TODAY, number: int = 0, item: Item = PORT) -> QualityTurn:
    return turn(date, number, [logged(item, "-tc", correction=MOVED)])


def several(item: Item, said: str, times: int, date: str = TODAY) -> Iterator[QualityTurn]:
    for number in range(times):
        yield turn(date, number + 100 * (item.id == "tabs"), [logged(item, said)])


# The metrics


def test_an_empty_log_is_unknown_and_not_zero(project: MeasuredProject) -> None:
    found = shown(project)
    assert found.is_empty
    assert {one.state for one in found.metrics} == {TargetState.UNKNOWN}
    assert found.items == ()
    assert found.series == ()


def test_the_four_metrics_are_those_of_the_last_seven_days(project: MeasuredProject) -> None:
    project.log([turn("2026-11-09", 0, [logged(TABS, "-")]), turn("2026-11-10", 0, [logged(PORT, "-tu")])])
    project.log([contradicted(TODAY)])
    found = shown(project)
    rates = {one.metric: (one.now.k, one.now.n) for one in found.metrics}
    assert rates == {"on_topic": (2, 2), "used": (1, 2), "contradicted": (1, 2), "discovery": (0, 1)}
    assert metric(found, QualityMetric.ON_TOPIC).before.n == 1
    assert found.pending == 1


def test_a_correction_in_any_session_raises_discovery(project: MeasuredProject) -> None:
    project.log([contradicted("2026-11-14")])
    assert metric(shown(project), QualityMetric.DISCOVERY).now.k == 0
    corrective = LoggedCall("mcp__knowbound__kms_supersede", "ok", corrected=(PORT.id,))
    project.log([turn(TODAY, 0, tool_calls=(corrective,))])
    found = shown(project)
    assert metric(found, QualityMetric.DISCOVERY).now.k == 1
    assert found.pending == 0


def test_where_nothing_was_measured_this_week_the_newest_week_is_shown(project: MeasuredProject) -> None:
    project.log([turn("2026-10-01", 0, [logged(PORT, "-tu")])])
    found = shown(project)
    assert (found.until, found.is_current) == ("2026-10-01", False)
    assert metric(found, QualityMetric.USED).now.k == 1


def test_a_correction_that_would_come_too_late_is_not_pending(project: MeasuredProject) -> None:
    project.log([contradicted("2026-10-01")])
    found = shown(project)
    assert metric(found, QualityMetric.DISCOVERY).now.n == 1
    assert found.pending == 0
    assert shown(project, "2026-10-05").pending == 1


def test_turns_scored_since_the_last_look_are_counted(project: MeasuredProject) -> None:
    project.log([turn(TODAY, 0, [logged(PORT, "-t")])])
    shown(project)
    project.log([turn(TODAY, 1, [logged(PORT, "-t")], scored_at=f"{TODAY}T23:30:00Z")])
    assert metric(shown(project), QualityMetric.ON_TOPIC).now.n == 2


def test_what_agents_pulled_and_others_injected_is_in_no_metric(project: MeasuredProject) -> None:
    other = LoggedItem(
        "u1", "instructions", "Run make", 8, source="CLAUDE.md", verdict=ItemVerdict("u1", True, True, False)
    )
    project.log([turn(TODAY, 0, [logged(PORT, "-t")], pulled_items=(logged(TABS, "-tu"),), other_items=(other,))])
    found = shown(project)
    assert metric(found, QualityMetric.ON_TOPIC).now.n == 1
    assert found.window.pulled.used == 1
    assert found.window.others["CLAUDE.md"].used == 1
    assert found.window.by_backend["sqlite"].judged == 1
    assert found.window.by_source["technical"].judged == 1


def test_turns_without_a_verdict_are_counted_with_their_reason_and_in_no_rate(project: MeasuredProject) -> None:
    project.log([turn(TODAY, 0, [logged(PORT)], problem="no key for the model"), turn(TODAY, 1)])
    found = shown(project)
    assert found.unscored == {"no key for the model": 1}
    assert metric(found, QualityMetric.ON_TOPIC).state is TargetState.UNKNOWN
    assert found.window.prompts_left_alone == 1


def test_interrupted_turns_count(project: MeasuredProject) -> None:
    project.log([turn(TODAY, 0, [logged(PORT, "-")], ending=TurnEnding.INTERRUPTED)])
    found = shown(project)
    assert found.window.interrupted == 1
    assert metric(found, QualityMetric.ON_TOPIC).now.n == 1


def test_the_series_has_a_window_for_every_day_that_is_kept(project: MeasuredProject) -> None:
    project.log([turn("2026-11-01", 0, [logged(PORT, "-t")]), turn(TODAY, 0, [logged(PORT, "-")])])
    found = shown(project)
    assert [one.date for one in found.series] == [f"2026-11-{number:02d}" for number in range(1, 17)]
    assert found.series[-1].rates == {one.metric: one.now for one in found.metrics}


# The items to fix


def test_a_wrong_item_comes_before_one_never_on_topic_before_an_ignored_one(project: MeasuredProject) -> None:
    project.log([*several(NIGHT, "-t", 9), *several(TABS, "-", 7), contradicted("2026-11-10")])
    assert faults(project) == [("port", Fault.WRONG), ("tabs", Fault.OFF_TOPIC), ("night", Fault.IGNORED)]


def test_a_wrong_item_is_shown_with_what_was_said_and_the_way_back(project: MeasuredProject) -> None:
    project.log([contradicted("2026-11-10", 3), turn(TODAY, 0, [logged(PORT, "-t")])])
    (one,) = shown(project).items
    assert one.statement == MOVED
    assert (one.session, one.turn) == ("session-2026-11-10", "turn-3")
    assert one.counts.judged == 2
    assert one.commands == ("knowbound quality corrections accept port",)


def test_four_verdicts_are_too_few_to_call_an_item_off_topic_or_ignored(project: MeasuredProject) -> None:
    project.log([*several(NIGHT, "-t", 4), *several(TABS, "-", 4)])
    assert faults(project) == []


def test_one_use_is_enough_not_to_be_ignored(project: MeasuredProject) -> None:
    project.log([*several(NIGHT, "-t", 9), turn(TODAY, 50, [logged(NIGHT, "-tu")])])
    assert faults(project) == []


def test_what_was_corrected_is_not_to_be_fixed(project: MeasuredProject) -> None:
    today = utc_now()[:10]  # the store notes when it is corrected
    project.log([contradicted(day_before(today))])
    assert [one.id for one in shown(project, today).items] == ["port"]
    store = project.store()
    store.update(PORT.id, ItemEdit(subject="staging"))  # a correction, even though the content stays
    store.close()
    assert shown(project, today).items == ()


def test_an_item_that_is_no_longer_served_is_left_out(project: MeasuredProject) -> None:
    project.log([*several(TABS, "-", 7)])
    store = project.store()
    store.delete(TABS.id)
    store.close()
    assert faults(project) == []


def test_verdicts_on_an_earlier_content_do_not_count_against_the_present_one(project: MeasuredProject) -> None:
    earlier = Item(id=TABS.id, content="Ada wants spaces everywhere.")
    wrong = Item(id=PORT.id, content="The staging database listens on port 1.")
    project.log([*several(earlier, "-", 7), contradicted(item=wrong), *several(PORT, "-tu", 2, "2026-11-15")])
    assert faults(project) == []


def test_an_item_contradicted_long_ago_is_to_be_fixed_while_it_still_reaches_agents(project: MeasuredProject) -> None:
    project.log([contradicted("2026-10-01"), turn(TODAY, 0, [logged(PORT, "-t")])])
    assert faults(project) == [("port", Fault.WRONG)]


def test_injections_of_more_than_thirty_days_ago_do_not_make_an_item_one_to_fix(project: MeasuredProject) -> None:
    project.log([*several(TABS, "-", 7, "2026-10-17"), turn(TODAY, 0, [logged(PORT, "-tu")])])
    assert faults(project) == []


@pytest.mark.parametrize("fault", list(Fault))
def test_an_id_is_quoted_for_the_shell(fault: Fault) -> None:
    one = ItemToFix("a b;rm", fault, "", Counts(1), 1, "s", "t", TODAY)
    assert all("'a b;rm'" in command for command in one.commands)


# The judge


def measured() -> dict[Metric, MeasuredMetric]:
    """A judge that misses a fifth of what is there and makes nothing up, on 60 labelled turns."""
    pairs = [Pair(True, number % 5 > 0, session=f"s{number}") for number in range(30)]
    pairs += [Pair(False, False, session=f"n{number}") for number in range(30)]
    found = calibrate(pairs)
    return {metric: MeasuredMetric(found, gate(found, 60)) for metric in Metric}


def test_a_judge_that_nobody_measured_is_unmeasured_and_corrects_nothing(project: MeasuredProject) -> None:
    project.log([turn(TODAY, 0, [logged(PORT, "-t")])])
    found = shown(project)
    assert found.judge.versions == {"rules-1": 1}
    assert not found.judge.measured
    assert metric(found, QualityMetric.ON_TOPIC).corrected.value is None


def test_rates_of_a_measured_judge_are_corrected_for_its_error(project: MeasuredProject) -> None:
    calibrated = TurnJudgeCalibration("rules", f"{TODAY}T00:00:00Z", "0" * 8, 60, measured())
    keep_turn_judge_calibrations(project.home, {"rules-1": calibrated})
    project.log([*several(NIGHT, "-t", 10), *several(TABS, "-", 10)])
    found = shown(project)
    assert found.judge.labelled == 60
    on_topic = metric(found, QualityMetric.ON_TOPIC)
    assert on_topic.now.value == 0.5
    assert on_topic.corrected.value == pytest.approx(0.5 / 0.8)
    assert metric(found, QualityMetric.DISCOVERY).corrected.value is None


def test_rates_of_two_judges_are_not_corrected_by_the_labels_of_one(project: MeasuredProject) -> None:
    calibrated = TurnJudgeCalibration("rules", f"{TODAY}T00:00:00Z", "0" * 8, 60, measured())
    keep_turn_judge_calibrations(project.home, {"rules-1": calibrated})
    project.log([*several(NIGHT, "-t", 10), turn(TODAY, 200, [logged(TABS, "-")], judge="rules-2")])
    found = shown(project)
    assert found.judge.version == "rules-1"
    assert metric(found, QualityMetric.ON_TOPIC).corrected.value is None


# One item


def test_the_page_of_an_item_has_its_days_injections_records_and_corrections(project: MeasuredProject) -> None:
    project.log([contradicted("2026-11-10"), turn(TODAY, 0, [logged(PORT, "-t", reason="names staging")])])
    store = project.store()
    store.flag(PORT.id, "UNVERIFIED", "look again")
    store.close()
    page = quality_of_item(project.settings, "port", today=TODAY)
    assert [(one.date, one.counts.contradicted) for one in page.days] == [("2026-11-10", 1), (TODAY, 0)]
    newest, before = page.injections
    assert newest.verdict is not None
    assert newest.verdict.reason == "names staging"
    assert before.turn == "turn-0"
    assert [record.statement for record in page.records] == [MOVED]
    assert [one.tool for one in page.corrections] == ["kms_flag"]
    assert (page.is_served, page.flag) == (True, "UNVERIFIED")


def test_an_item_that_only_the_log_knows_has_a_page(project: MeasuredProject) -> None:
    gone = Item(id="gone", content="Was removed since.")
    project.log([turn(TODAY, 0, [logged(gone, "-t")])])
    page = quality_of_item(project.settings, "gone", today=TODAY)
    assert page.content == "Was removed since."
    assert not page.is_served


def test_an_item_that_nobody_knows_is_an_error(project: MeasuredProject) -> None:
    with pytest.raises(InputError, match="No item 'nope'"):
        quality_of_item(project.settings, "nope", today=TODAY)


# The screen decides


def said(project: MeasuredProject) -> str:
    return " ".join(render_quality(shown(project), "text").split())


def test_an_item_at_0_is_silenced_and_its_command_has_the_draft(project: MeasuredProject) -> None:
    project.log([contradicted(number=number) for number in range(3)])
    with closing(project.store()) as store:
        store.set_quality({("sqlite", PORT.id): 0.0})
    assert "contradicted 3 times, silenced: not injected any more" in said(project)
    assert f"knowbound quality corrections accept {PORT.id}" in said(project)


def test_prompts_that_ranking_silenced_an_item_for_are_counted(project: MeasuredProject) -> None:
    project.log([turn(TODAY, 0, [logged(TABS, "-tu")], silenced=(PORT.id,))])
    assert "1 prompt did not get 1 item that contradictions brought to 0" in said(project)


def test_without_a_model_the_contradiction_rate_is_said_to_be_a_lower_bound(project: MeasuredProject) -> None:
    project.log([replace(contradicted(), judge=turn_judge_version("rules"))])
    assert "contradicted is a lower bound" in said(project)


def test_an_item_has_its_cost_and_what_was_searched_before_and_after_it_was_there(project: MeasuredProject) -> None:
    grep = LoggedCall("Grep", "ok", input_excerpt="staging database port")
    before = [turn(day_before(TODAY, 2), number, [], tool_calls=(grep,)) for number in range(4)]
    project.log([*before, turn(TODAY, 0, [logged(PORT, "-tu")]), turn(TODAY, 1, [logged(PORT, "-tu")])])
    page = quality_of_item(project.settings, PORT.id, today=TODAY)
    assert page.saving is not None
    assert (page.saving.calls_before, page.saving.turns_before) == (4, 4)
    assert (page.saving.calls_after, page.saving.turns_after) == (0, 2)
    assert page.tokens == 2 * (len(PORT.content) // 4)
    assert "not causal" in render_item(page, "text")
