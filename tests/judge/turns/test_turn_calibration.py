from __future__ import annotations

import shlex
import sys
from pathlib import Path

import msgspec
import pytest

from knowbound.config import Settings, load
from knowbound.core.quality import Metric
from knowbound.errors import ConfigError, InputError, StoreError
from knowbound.judge.calibration import calibrate_turns, measured
from knowbound.judge.choice import fallback_for
from knowbound.judge.labels import ItemLabel, LabelledTurn
from knowbound.judge.registry import effective_judge, turn_judge
from knowbound.report.judging import TurnCalibrationReport
from knowbound.stats.calibration import corrected
from knowbound.stats.judge_gate import RANKING, GateReason, GateState, may_rely_on
from knowbound.stats.rate import Rate
from knowbound.store.judges import TURNS_FILE, turn_judge_calibration
from tests.turn_examples import PlantedJudge, Says, as_labelled, labelled, record, usual_labels, write_labels

LABELS = usual_labels(160)


def never_contradicted(_turn: LabelledTurn, _item: str, label: ItemLabel) -> tuple[bool, bool, bool]:
    return label.on_topic, label.used, False


def wrong_about_use(every: int) -> Says:
    """A judge that is wrong about use in every so many turns, both of its items."""

    def says(turn: LabelledTurn, _item: str, label: ItemLabel) -> tuple[bool, bool, bool]:
        is_wrong = int(turn.id[1:]) % every == 0
        return label.on_topic, label.used != is_wrong, label.contradicted

    return says


class Project:
    def __init__(self, root: Path) -> None:
        self.root = root
        self.labels = write_labels(root / "labels.jsonl", LABELS)

    def judge(self, says: Says, name: str = "first") -> str:
        return record(self.root / f"{name}.jsonl", LABELS, says)

    def settings(self, judge: str = "rules", fallback: str = "") -> Settings:
        return load(self.root, {}, {"model_tasks_turns": judge, "model_fallback": fallback})

    def calibrate(self, says: Says, fallback: Says | None = None) -> tuple[TurnCalibrationReport, Settings]:
        settings = self.settings(self.judge(says), self.judge(fallback, "second") if fallback else "")
        return calibrate_turns(settings, self.labels), settings


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


def states(report: TurnCalibrationReport) -> list[GateState]:
    return [report.gates[metric].state for metric in Metric]


def test_a_judge_that_agrees_passes_on_every_metric(project: Project) -> None:
    report, settings = project.calibrate(as_labelled)
    assert states(report) == [GateState.PASSED] * 3
    assert report.fallback is None
    assert effective_judge(settings) == settings.model_tasks_turns


def test_a_judge_that_always_says_not_contradicted_is_caught_on_that_metric_alone() -> None:
    found = measured("planted", PlantedJudge(LABELS, never_contradicted), LABELS)
    one = found.metrics[Metric.CONTRADICTED]
    assert one.found.agreement.value == 0.9
    assert one.gate.reason is GateReason.ONE_ANSWER
    assert found.metrics[Metric.USED].gate.state is GateState.PASSED
    gates = {metric: measured_.gate for metric, measured_ in found.metrics.items()}
    assert may_rely_on(gates, (Metric.USED,))
    gates[Metric.CONTRADICTED] = msgspec.structs.replace(one.gate, state=GateState.HALTED)
    assert not may_rely_on(gates, RANKING)


def test_few_labels_are_underpowered_however_well_the_judge_agrees() -> None:
    found = measured("planted", PlantedJudge(LABELS), LABELS[:30])
    assert {one.gate.state for one in found.metrics.values()} == {GateState.UNDERPOWERED}
    assert {one.gate.more for one in found.metrics.values()} == {20}


def test_below_the_limit_the_fallback_judges_the_same_turns_and_takes_over(project: Project) -> None:
    report, settings = project.calibrate(wrong_about_use(4), as_labelled)
    assert states(report) == [GateState.PASSED, GateState.FALLBACK, GateState.PASSED]
    assert report.fallback is not None
    assert report.fallback.metrics[Metric.USED].found.n == report.judge.metrics[Metric.USED].found.n
    assert may_rely_on(report.gates, RANKING)
    assert effective_judge(settings) == settings.model_fallback
    assert turn_judge(settings).version == report.fallback.version
    in_force = turn_judge_calibration(settings.home, report.fallback.version)
    assert in_force is not None
    assert may_rely_on(in_force.gates, Metric)


def test_a_fallback_that_is_no_better_halts_the_metric(project: Project) -> None:
    report, settings = project.calibrate(wrong_about_use(4), wrong_about_use(4))
    assert states(report) == [GateState.PASSED, GateState.HALTED, GateState.PASSED]
    assert report.gates[Metric.USED].fallback is GateState.FALLBACK
    assert not may_rely_on(report.gates, RANKING)
    assert effective_judge(settings) == settings.model_tasks_turns


def test_below_70_percent_the_judge_is_killed_and_no_larger_model_is_asked(project: Project) -> None:
    report, _ = project.calibrate(wrong_about_use(2), as_labelled)
    assert states(report) == [GateState.PASSED, GateState.KILLED, GateState.PASSED]
    assert report.fallback is None


def test_without_a_fallback_a_judge_below_the_limit_is_halted(project: Project) -> None:
    report, _ = project.calibrate(wrong_about_use(4))
    assert states(report) == [GateState.PASSED, GateState.HALTED, GateState.PASSED]


def test_a_fallback_that_cannot_be_asked_is_named(project: Project) -> None:
    script = project.root / "judge.py"
    script.write_text(
        "import json, re, sys\n"
        'ids = re.findall(r\'^{"id":"([^"]+)"\', sys.stdin.read(), re.M)\n'
        "says = {'on_topic': True, 'used': True, 'contradicted': False, 'quote': 'Port 90'}\n"
        "print(json.dumps({'items': [{'id': id_, **says} for id_ in ids]}))\n"
    )
    few = write_labels(project.root / "few.jsonl", [labelled(at, (True, True, at < 5)) for at in range(52)])
    name = f"command:{shlex.join([sys.executable, str(script)])}"
    report = calibrate_turns(project.settings(name, "command:no-such-program-here"), few)
    assert report.gates[Metric.CONTRADICTED].state is GateState.HALTED
    assert report.gates[Metric.CONTRADICTED].reason is GateReason.ONE_ANSWER
    assert report.notes[0].startswith("The larger model was not asked. The judge 'command:no-such-program-here'")


def test_a_recording_never_falls_back_to_what_costs(project: Project) -> None:
    assert fallback_for(project.settings(fallback="anthropic:claude-sonnet-4-6"), "recorded:a.jsonl") == ""
    assert fallback_for(project.settings(fallback="recorded:b.jsonl"), "recorded:a.jsonl") == "recorded:b.jsonl"


def test_rules_have_no_larger_model(project: Project) -> None:
    settings = project.settings("rules", "anthropic:claude-sonnet-4-6")
    assert fallback_for(settings, "rules") == ""
    assert fallback_for(settings, "anthropic:claude-haiku-4-5") == "anthropic:claude-sonnet-4-6"
    assert fallback_for(settings, "anthropic:claude-sonnet-4-6") == ""
    assert effective_judge(settings) == "rules"


def test_the_default_judge_is_embedded_and_a_model_falls_back_to_a_larger_one_of_its_provider(tmp_path: Path) -> None:
    settings = load(tmp_path, {})
    assert fallback_for(settings, "anthropic:claude-haiku-4-5") == "anthropic:claude-sonnet-4-6"
    assert fallback_for(settings, "http://localhost:1/v1#m") == ""
    assert turn_judge(settings).version.startswith("rules-")
    assert not turn_judge(settings).costs


def test_a_fallback_that_is_another_one_now_does_not_take_over(project: Project) -> None:
    _, settings = project.calibrate(wrong_about_use(4), as_labelled)
    other = project.settings(settings.model_tasks_turns, project.judge(as_labelled, "third"))
    (project.root / "third.jsonl").write_bytes((project.root / "third.jsonl").read_bytes() + b"\n")
    assert effective_judge(other) == settings.model_tasks_turns


def test_what_was_found_is_kept_by_version_and_corrects_a_rate(project: Project) -> None:
    report, settings = project.calibrate(wrong_about_use(7))
    kept = turn_judge_calibration(settings.home, report.judge.version)
    assert kept is not None
    assert (kept.turns, kept.labels) == (160, report.labels.sha256_8)
    assert kept.gates == report.gates
    assert kept.metrics == {
        metric: msgspec.structs.replace(one, gate=report.gates[metric]) for metric, one in report.judge.metrics.items()
    }
    found = kept.metrics[Metric.USED].found
    assert found.true_yes + found.false_no == found.sensitivity.n
    observed = Rate(round(1000 * (found.said.value or 0)), 1000)
    estimate = corrected(observed, found)
    assert estimate.value == pytest.approx(found.prevalence.value, abs=0.01)
    assert (settings.home / TURNS_FILE).stat().st_mode & 0o777 == 0o600


def test_the_weekly_sample_compares_with_the_calibration_before(project: Project) -> None:
    settings = project.settings(project.judge(as_labelled))
    assert calibrate_turns(settings, project.labels).weekly is None
    without = calibrate_turns(settings, project.labels).weekly
    assert without is not None
    assert (without.labelled, without.is_due, without.metrics) == (0, False, {})
    later = [msgspec.structs.replace(turn, time="2999-01-01T00:00:00Z") for turn in LABELS[:10]]
    found = calibrate_turns(settings, write_labels(project.root / "later.jsonl", later)).weekly
    assert found is not None
    assert (found.labelled, found.drifted) == (10, ())
    assert found.metrics[Metric.USED].agreement.value == 1.0


def test_a_second_judge_is_kept_beside_the_first(project: Project) -> None:
    first, settings = project.calibrate(as_labelled)
    second, _ = project.calibrate(wrong_about_use(7))
    assert first.judge.version != second.judge.version
    assert turn_judge_calibration(settings.home, first.judge.version) is not None
    assert turn_judge_calibration(settings.home, "never/1") is None


def test_a_damaged_file_of_calibrations_is_named_and_not_skipped(project: Project) -> None:
    _, settings = project.calibrate(as_labelled)
    (settings.home / TURNS_FILE).write_text("{")
    with pytest.raises(StoreError, match="judge calibrate --question turns") as error:
        turn_judge_calibration(settings.home, "any/1")
    assert error.value.slug == "calibration-unreadable"


def test_turns_that_a_judge_failed_on_are_counted_apart(project: Project) -> None:
    name = record(project.root / "some.jsonl", LABELS[:60])
    report = calibrate_turns(project.settings(name), project.labels)
    used = report.judge.metrics[Metric.USED].found
    assert (used.n, used.failed.k, used.failed.n) == (120, 200, 320)
    assert len(report.judge.problems) == 100


def test_a_judge_without_any_verdict_is_unmeasured(project: Project) -> None:
    name = record(project.root / "none.jsonl", [])
    report = calibrate_turns(project.settings(name), project.labels)
    assert states(report) == [GateState.UNMEASURED] * 3


def test_a_share_of_the_turns_can_be_kept_aside(project: Project) -> None:
    settings = project.settings(project.judge(as_labelled))
    report = calibrate_turns(settings, project.labels, aside=0.5)
    assert 50 < (report.labels.turns or 0) < 110
    assert report.labels.of == 160
    with pytest.raises(InputError, match="kept aside"):
        calibrate_turns(settings, write_labels(project.root / "one.jsonl", LABELS[1:2]), aside=1e-9)


def test_a_judge_that_is_none_is_refused_before_anything_is_asked(project: Project) -> None:
    with pytest.raises(ConfigError, match="no judge"):
        calibrate_turns(project.settings(), project.labels, "nonsense")
