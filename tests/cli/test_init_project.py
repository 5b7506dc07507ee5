"""`init` in a project without a config: what is proposed, what is written, and what is left alone."""

from __future__ import annotations

import os
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

from knowbound.evals.samples.load import load_samples
from tests import warm_process

LIMITS = """# Limits

## How large may an uploaded file be?

The upload limit is `250 MB` for each file of an order.

## Export limit

The export limit is `40 exports` for each tenant and day.
"""


def knowbound(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return warm_process.knowbound(*arguments, cwd=folder, env=dict(os.environ))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    (root / "docs").mkdir(parents=True)
    (root / "docs" / "limits.md").write_text(LIMITS)
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    return root


def test_everything_is_shown_and_nothing_is_written_without_consent(project: Path) -> None:
    ran = knowbound(project, "init")
    assert ran.returncode == 0, ran.stderr
    for shown in ("--- knowbound.toml", "--- eval-samples.yaml", "--- .github/workflows/knowledge.yml", "250 MB"):
        assert shown in ran.stdout
    assert "Nothing was written" in ran.stderr
    assert sorted(path.name for path in project.iterdir() if path.name != ".knowbound") == [".git", "docs"]


def test_what_is_written_works_and_a_removed_paragraph_fails_the_gate(project: Path) -> None:
    assert knowbound(project, "init", "--yes").returncode == 0
    assert tomllib.loads((project / "knowbound.toml").read_text())["gate"]["gap_rate_regression"] == 0.05
    assert yaml.safe_load((project / ".github" / "workflows" / "knowledge.yml").read_text())["jobs"]
    samples = load_samples(project / "eval-samples.yaml").samples
    assert {value for one in samples for value in one.assertions[0].values} >= {"250 MB"}
    first = knowbound(project, "eval")
    assert first.returncode == 0, first.stdout
    assert f"{len(samples)} of {len(samples)} sample" in first.stdout
    gone = LIMITS.replace("The upload limit is `250 MB` for each file of an order.", "")
    (project / "docs" / "limits.md").write_text(gone)
    second = knowbound(project, "eval")
    assert second.returncode == 1, second.stdout
    assert "failed: 1 knowledge missing" in second.stdout


def test_what_is_there_already_stays_as_it_is(project: Path) -> None:
    (project / "eval-samples.yaml").write_text("- sample_id: mine\n  prompt: Who?\n")
    ran = knowbound(project, "init", "--yes")
    assert "eval-samples.yaml is there already" in ran.stderr
    assert (project / "eval-samples.yaml").read_text() == "- sample_id: mine\n  prompt: Who?\n"
    assert (project / "knowbound.toml").exists()


def test_a_folder_without_documents_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    ran = knowbound(tmp_path, "init")
    assert ran.returncode == 2
    assert "--root DIR" in ran.stderr
