"""Where calibration shows too many false positives, hedges are left out (specification 1, section 10)."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests import warm_process
from tests.cli.test_judge import DOUBT, THINGS, Project
from tests.transcripts import Transcript

MODEL = "KNOWBOUND_HEDGING_CLASSIFIER_MODEL"


class Switched(Project):
    """A project with eight hedges and a failed search; its judge calls everything doubt, and notes when it is asked."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        session = Transcript().user("Look at it.")
        for thing in THINGS:
            session.says(DOUBT.format(thing))
        session.grep("revenue_schema").write(root / "traces")
        lines = "[json.loads(line) for line in asked.splitlines() if line.startswith(MARK)]".replace(
            "MARK", repr('{"id"')
        )
        rows = f'[{{"id": row["id"], "isUncertainty": True, "confidence": 1}} for row in {lines}]'
        answer = f'json.dumps({{"items": {rows}}})'
        self.environ[MODEL] = self.command_judge(f'open({str(root / "asked")!r}, "a").write("x") and {answer}')

    def observed(self) -> dict[str, Any]:
        ran = self.run("observe", "traces", "--format", "json")
        document: dict[str, Any] = json.loads(ran.stdout)
        return document

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        ran = warm_process.knowbound(*words, cwd=self.root, env=self.environ)
        assert ran.returncode == 0, ran.stderr
        return ran

    def calibrated(self, false: int, of: int) -> dict[str, Any]:
        """The judge compared with labels of which so many say that it is wrong."""
        rows = [{"text": f"Sentence {number} may do.", "label": number >= false} for number in range(of)]
        return self.json("calibrate", self.file(*rows))

    def asked(self) -> int:
        return len((self.root / "asked").read_text())


@pytest.fixture
def project(tmp_path: Path) -> Switched:
    return Switched(tmp_path)


def hedges(document: dict[str, Any]) -> int:
    return int(document["gap"]["by_type"]["hedging"])


def left_out(document: dict[str, Any]) -> bool:
    return any(one.startswith("Hedges are left out") for one in document["warnings"])


def test_more_than_40_percent_false_positives_switch_hedges_off_with_a_note(project: Switched) -> None:
    before = project.observed()
    assert (hedges(before), left_out(before)) == (8, False)
    found = project.calibrated(false=10, of=20)
    assert found["hedges_off"] is True
    assert "50% of what it calls doubt is none, more than 40%: observe and eval leave hedges out" in found["notes"][0]
    asked = project.asked()
    after = project.observed()
    assert (hedges(after), left_out(after), project.asked()) == (0, True, asked)  # and nobody is asked for nothing
    assert after["gap"]["by_type"]["failed_search"] == before["gap"]["by_type"]["failed_search"] == 1
    for format_ in ("text", "markdown", "html"):
        shown = " ".join(project.run("report", "--format", format_).stdout.split())
        assert "of 20 labelled sentences that the judge" in shown
        assert "50% are none (the limit is 40%). To switch them on again, name a better judge" in shown
    lines = project.run("observe", "traces", "--format", "jsonl").stdout.splitlines()
    assert [json.loads(line)["type"] for line in lines] == ["failed_search"]


def test_the_built_in_judge_is_switched_off_as_well(project: Switched) -> None:
    project.environ[MODEL] = "rules"
    assert hedges(project.observed()) == 8
    rows = [{"text": DOUBT.format(thing), "label": False} for thing in THINGS for _ in range(3)]
    found = project.json(
        "calibrate", project.file(*({**row, "text": f"{row['text']} {n}"} for n, row in enumerate(rows)))
    )
    assert found["hedges_off"] is True
    after = project.observed()
    assert (hedges(after), left_out(after)) == (0, True)


def test_another_judge_switches_them_on_again(project: Switched) -> None:
    project.calibrated(false=10, of=20)
    assert hedges(project.observed()) == 0
    project.environ[MODEL] = "rules"
    with_rules = project.observed()
    assert (hedges(with_rules), left_out(with_rules)) == (8, False)


def test_a_better_calibration_switches_them_on_again(project: Switched) -> None:
    project.calibrated(false=10, of=20)
    assert hedges(project.observed()) == 0
    assert project.calibrated(false=1, of=20)["hedges_off"] is False
    again = project.observed()
    assert (hedges(again), left_out(again)) == (8, False)


@pytest.mark.parametrize(("false", "of", "off"), [(8, 20, False), (9, 20, True), (19, 19, False)])
def test_more_than_40_percent_of_at_least_20_labels(project: Switched, false: int, of: int, off: bool) -> None:
    found = project.calibrated(false, of)
    assert found["hedges_off"] is off
    assert left_out(project.observed()) is off
    if of < 20:
        assert "once 20 independent labels of it say so, and these are worth 19" in found["notes"][0]


@pytest.mark.long
def test_eval_leaves_them_out_too(project: Switched) -> None:
    (project.root / "agent.py").write_text(f"import sys\nsys.stdin.read()\nprint({DOUBT.format('ledger')!r})\n")
    (project.root / "eval-samples.json").write_text('[{"sample_id": "a", "prompt": "Which schema?"}]')
    run = ("eval", "--executor", "command:python agent.py", "--format", "json")
    before = json.loads(project.run(*run).stdout)
    assert (hedges(before), left_out(before)) == (1, False)
    project.calibrated(false=10, of=20)
    after = json.loads(project.run(*run).stdout)
    assert (hedges(after), left_out(after), after["gap"]["rate"]["k"]) == (0, True, 0)


def test_a_file_that_cannot_be_read_is_an_error_and_no_silent_switch(project: Switched) -> None:
    project.calibrated(false=10, of=20)
    (project.root / ".knowbound" / "calibration.json").write_text("{")
    ran = warm_process.knowbound("observe", "traces", cwd=project.root, env=project.environ)
    assert (ran.returncode, "[calibration-unreadable]" in ran.stderr) == (2, True)


def test_forget_everything_erases_it(project: Switched) -> None:
    project.calibrated(false=10, of=20)
    assert (project.root / ".knowbound" / "calibration.json").stat().st_mode & 0o077 == 0
    project.run("forget", "--everything", "--yes")
    assert not (project.root / ".knowbound" / "calibration.json").exists()
