"""The public interface for Python: its names are pinned, and every block of docs/api.md runs."""

from __future__ import annotations

import inspect
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import knowbound
from knowbound import api

ROOT = Path(__file__).parents[1]
DEMO = Path(knowbound.__file__).parent / "demo"
BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "api.md").read_text("utf-8"), re.DOTALL)
SAMPLES = "- sample_id: port\n  prompt: On which port does the orders service listen?\n"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the demo's project and traces, as the current folder."""
    shutil.copytree(DEMO / "project", tmp_path, dirs_exist_ok=True)
    shutil.copytree(DEMO / "traces", tmp_path / "traces")
    (tmp_path / "eval-samples.yaml").write_text(SAMPLES, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_public_names_are_these() -> None:
    assert api.__all__ == [
        "KnowboundError",
        "KnowledgeStore",
        "Model",
        "NewItem",
        "Rate",
        "audit",
        "evaluate",
        "investigate",
        "lint",
        "observe",
        "open_store",
        "review",
    ]


def test_options_are_keywords_so_that_more_can_be_added() -> None:
    for name in api.__all__:
        function = getattr(api, name)
        if inspect.isfunction(function):
            positional = [
                one for one in inspect.signature(function).parameters.values() if one.kind is one.POSITIONAL_OR_KEYWORD
            ]
            assert len(positional) <= 1, name


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_block_of_the_page_runs(project: Path, number: int, capsys: pytest.CaptureFixture[str]) -> None:
    names: dict[str, object] = {}
    exec(compile(BLOCKS[number], f"docs/api.md block {number}", "exec"), names)
    used = {name for name in api.__all__ if re.search(rf"\b{name}\b", BLOCKS[number])}
    assert used
    assert "no-" not in capsys.readouterr().out


def test_every_public_name_is_on_the_page() -> None:
    assert not [name for name in api.__all__ if not any(re.search(rf"\b{name}\b", block) for block in BLOCKS)]


def test_the_report_is_that_of_the_verb(project: Path) -> None:
    report, signals = api.observe("traces")
    assert report.gap.rate.n == report.totals.samples - len(report.incomplete)
    assert len(signals) == report.totals.signals


def test_a_line_that_a_change_makes_wrong_is_found(project: Path) -> None:
    def git(*arguments: str) -> None:
        who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
        subprocess.run(["git", *who, *arguments], check=True, capture_output=True)

    (project / "settings.toml").write_text("port = 1\n", "utf-8")
    (project / "CLAUDE.md").write_text("# Shop\n\nSettings are in `settings.toml`.\n", "utf-8")
    git("init", "-q")
    git("add", "-A")
    git("commit", "-qm", "Add settings")
    assert "confirmed" in [one.truth for one in api.lint("CLAUDE.md")]
    git("mv", "settings.toml", "ports.toml")
    git("commit", "-qm", "Rename settings")
    (wrong,) = api.lint(against="HEAD~1")
    assert (wrong.truth, wrong.statement.line) == ("contradicted", 3)
    assert "ports.toml" in (wrong.repair or "")
    with pytest.raises(api.KnowboundError):
        api.lint(against="nowhere")


def test_a_function_is_a_model_and_its_errors_cost_a_verdict_only(project: Path) -> None:
    asked: list[str] = []

    def broken(prompt: str) -> str:
        asked.append(prompt)
        raise RuntimeError("out of order")

    _, by_rules = api.audit("traces", most=0)
    report, turns = api.audit("traces", model=api.Model("mine", broken), most=3)
    assert asked
    assert "mine raised RuntimeError: out of order" in " ".join(report.warnings)
    assert [turn.diagnosis for turn in turns] == [turn.diagnosis for turn in by_rules]


def test_a_model_that_cannot_be_asked_is_an_error_before_the_work(project: Path) -> None:
    with pytest.raises(api.KnowboundError, match="no-judge"):
        api.audit("traces", model=api.Model("command:no-such-program-here"))
