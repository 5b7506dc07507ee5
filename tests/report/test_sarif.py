"""SARIF 2.1.0: the shape that viewers need, stable rules, and fingerprints that stay when lines move."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
import pytest

from knowbound.core.evidence import Confidence, Intent, Investigation
from knowbound.core.signal import SignalType
from knowbound.errors import InputError
from knowbound.report.answers import render_investigation
from knowbound.report.observe import render_observe
from knowbound.stats.evaluation import Evaluation
from knowbound.stats.figures import WARNING
from knowbound.stats.rate import Rate
from tests.evaluation_examples import (
    NUDGE,
    ROOT,
    evaluation_of,
    everyday_evaluation,
    everyday_runs,
    gates_of,
    hostile_evaluation,
    rendered_evaluation,
    repeated_evaluation,
)
from tests.report_examples import TRACES, empty_report, everyday_report, hostile_report


def evaluated(evaluation: Evaluation | None = None, **more: Any) -> dict[str, Any]:
    """The one run of the document."""
    found = json.loads(rendered_evaluation(evaluation or everyday_evaluation(), "sarif", here=ROOT, **more))
    (run,) = found["runs"]
    assert isinstance(run, dict)
    return run


def observed(here: str = TRACES, **more: Any) -> dict[str, Any]:
    (run,) = json.loads(render_observe(everyday_report(**more), "sarif", here=here))["runs"]
    assert isinstance(run, dict)
    return run


def test_the_document_has_the_required_shape() -> None:
    document = json.loads(rendered_evaluation(everyday_evaluation(), "sarif", here=ROOT))
    assert document["version"] == "2.1.0"
    assert document["$schema"].endswith("sarif-2.1.0.json")
    (run,) = document["runs"]
    assert run["tool"]["driver"]["name"] == "knowbound"
    assert run["invocations"][0]["executionSuccessful"] is True
    for result in run["results"]:
        assert result["message"]["text"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"]
        for location in (*result["locations"], *result["relatedLocations"]):
            assert location["physicalLocation"]["region"]["startLine"] >= 1


def test_the_rules_are_the_four_sources_with_their_help() -> None:
    rules = evaluated()["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [str(type_) for type_ in SignalType]
    for rule in rules:
        assert f"knowbound explain {rule['id']}" in rule["help"]["text"]
        assert rule["name"].lower() != rule["id"]
        assert rule["fullDescription"]["text"] in rule["help"]["text"]


def test_every_rule_is_there_also_when_nothing_was_found() -> None:
    (run,) = json.loads(render_observe(empty_report(), "sarif"))["runs"]
    assert run["results"] == []
    assert len(run["tool"]["driver"]["rules"]) == len(SignalType)


@pytest.mark.parametrize(
    ("sample", "level", "kind"),
    [
        ("s003", "warning", "fail"),  # an open miss
        ("s007", "note", "fail"),  # an open soft signal
        ("s004", "none", "informational"),  # found later
    ],
)
def test_the_level_follows_from_status_and_weight(sample: str, level: str, kind: str) -> None:
    found = [result for result in evaluated()["results"] if result["properties"]["sample"] == sample]
    assert found
    assert {(result["level"], result["kind"]) for result in found} == {(level, kind)}


def test_a_signal_of_an_evaluation_stands_at_its_sample_and_leads_to_its_trace() -> None:
    result = evaluated()["results"][0]
    (location,) = result["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "samples.yaml", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 30},
    }
    assert location["logicalLocations"] == [{"name": "s003", "kind": "sample"}]
    (trace,) = result["relatedLocations"]
    assert trace["physicalLocation"]["artifactLocation"]["uri"].startswith(".knowbound/evals/")
    assert trace["physicalLocation"]["region"] == {"startLine": 4}


def test_an_observed_signal_stands_at_its_line_in_the_trace() -> None:
    physical = observed()["results"][0]["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"]["uri"].startswith("-home-ada-")
    assert physical["artifactLocation"]["uriBaseId"] == "%SRCROOT%"
    assert physical["region"] == {"startLine": 143}


def test_a_file_outside_the_current_folder_is_named_whole() -> None:
    artifact = observed(here="/somewhere/else")["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]
    assert artifact["uri"].startswith(f"file://{TRACES}/")
    assert "uriBaseId" not in artifact


# Fingerprints


def prints(run: dict[str, Any]) -> list[str]:
    return [result["partialFingerprints"]["primaryLocationLineHash"] for result in run["results"]]


def test_fingerprints_stay_when_lines_move() -> None:
    def moved(by: int) -> Evaluation:
        runs = [
            msgspec.structs.replace(
                run,
                line=run.line + by,
                signals=[msgspec.structs.replace(signal, line=signal.line + by) for signal in run.signals],
            )
            for run in everyday_runs()
        ]
        return evaluation_of(runs)

    assert prints(evaluated(moved(0))) == prints(evaluated(moved(17)))


def test_fingerprints_tell_gaps_apart() -> None:
    found = prints(evaluated())
    assert len(set(found)) == len(found)


def test_fingerprints_see_through_case_spaces_and_the_order_of_what_is_searched_for() -> None:
    def asked(query: str) -> list[str]:
        runs = everyday_runs()
        signal = msgspec.structs.replace(runs[2].signals[0], query=query)
        return prints(evaluated(evaluation_of([msgspec.structs.replace(runs[2], signals=[signal])])))

    assert asked("revenue schema") == asked("Revenue  Schema ") == asked("schema revenue")
    assert asked("revenue schema") != asked("refund schema")


def test_the_same_gap_of_another_run_gets_an_index() -> None:
    first, second = prints(evaluated(repeated_evaluation()))
    assert first.partition(":")[0] == second.partition(":")[0]
    assert (first[-2:], second[-2:]) == (":1", ":2")


# The test set


def test_the_watermark_is_in_the_properties_and_said_in_a_notification() -> None:
    for run, rate in ((evaluated(), "Gap rate"), (observed(), "Open rate")):
        assert run["properties"]["watermark"]["warning"] == WARNING
        said = run["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"]
        assert WARNING in said
        assert run["properties"]["watermark"]["sha256_8"] in said
        assert re.search(rf"{rate} \S+% \(\d+ of \d+ samples, 95% ", said)


def test_each_test_set_has_a_category_of_its_own_whatever_its_content() -> None:
    names = []
    for path, content in (("a.yaml", "00000001"), ("a.yaml", "00000002"), ("b.yaml", "00000001")):
        mark = msgspec.structs.replace(everyday_evaluation().watermark, path=path, sha256_8=content)
        names.append(evaluated(everyday_evaluation(watermark=mark))["automationDetails"]["id"])
    categories = [name.rpartition("/")[0] for name in names]
    assert categories[0] == categories[1] != categories[2]
    assert len(set(names)) == 3


def test_gates_nudge_warnings_and_lost_runs_are_notifications() -> None:
    evaluation = everyday_evaluation()
    run = evaluated(evaluation, gates=gates_of(evaluation, Rate(2, 8)), nudge=NUDGE)
    notes = [(note["level"], note["message"]["text"]) for note in run["invocations"][0]["toolExecutionNotifications"]]
    assert any(level == "error" and "max-gap-rate" in text for level, text in notes)
    assert ("note", NUDGE) in notes
    assert any(level == "warning" and "s008: crashed" in text for level, text in notes)


def test_signals_beyond_the_inventory_are_counted() -> None:
    notes = observed()["invocations"][0]["toolExecutionNotifications"]
    assert any("5 more signals are not shown" in note["message"]["text"] for note in notes)


# Text from traces is data


def test_text_of_a_trace_is_no_link_and_no_placeholder() -> None:
    text = "see [this](javascript:alert(1)) and {0}"
    for result in evaluated(hostile_evaluation(text))["results"]:
        assert "](" not in result["message"]["text"]
        assert "{{0}}" in result["message"]["text"]


@pytest.mark.parametrize("text", ["a b/ü#?%.jsonl", "caf\udce9 \ud800", "\x1b[31m\x00x", "x" * 5000])
def test_any_text_makes_valid_json_and_uris(text: str) -> None:
    for shown in (
        rendered_evaluation(hostile_evaluation(text), "sarif"),
        render_observe(hostile_report(text), "sarif"),
    ):
        (run,) = json.loads(shown)["runs"]
        for result in run["results"]:
            uri = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            assert re.fullmatch(r"[A-Za-z0-9/._~%:-]+", uri)


@pytest.mark.parametrize("format_", ["sarif", "junit", "github"])
def test_an_investigation_has_no_such_form_and_says_so(format_: str) -> None:
    found = Investigation("where?", Intent.CHAT, "success", Confidence.NONE, "", (), (), (), ())
    with pytest.raises(InputError, match="format-unfit"):
        render_investigation(found, format_)  # type: ignore[arg-type]
