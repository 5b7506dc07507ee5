"""No name and no text of others reaches the terminal with control characters or with what turns text around."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from knowbound.report.formats.plain import UNSEEN_BUT_LINES, printable
from tests import warm_process
from tests.transcripts import Transcript

_ESCAPE, _OVERRIDE, _TAG = "\x1b[2J\x1b]0;owned\x07", "\u202egnp.exe\u2066", "\U000e0041"
_HOSTILE = f"a{_ESCAPE}b{_OVERRIDE}c{_TAG}"
_KNOWBOUND = Path(sys.executable).parent / "knowbound"


class Run:
    """A project whose names and texts are all hostile, and the command line in it."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "home"
        self.root = folder / f"project {_HOSTILE}"
        self.traces = self.root / f"traces {_HOSTILE}"
        self.traces.mkdir(parents=True)
        transcript = Transcript(project=str(self.root)).user(f"Where is {_HOSTILE}?")
        transcript.calls("Grep", {"pattern": f"budget{_HOSTILE}"}, "t1").result("t1", "No files found")
        transcript.says(f"It may be in {_HOSTILE}.").write(self.traces, f"s{_HOSTILE}.jsonl")
        (self.traces / f"other{_HOSTILE}.jsonl").write_text("{}\n")
        (self.root / f"CLAUDE{_HOSTILE}.md").write_text(f"# Limits {_HOSTILE}\n\nThe budget is 5.\n")
        (self.root / "CLAUDE.md").write_text(f"# Limits {_HOSTILE}\n\nThe budget of {_OVERRIDE} is 5.\n")
        os.mkfifo(self.traces / f"pipe{_HOSTILE}")

    def __call__(self, *arguments: str | Path) -> str:
        """Everything that is printed."""
        environ = {"PATH": os.environ["PATH"], "HOME": str(self.home), "KNOWBOUND_HOME": str(self.home / "data")}
        ran = warm_process.knowbound(*arguments, cwd=self.root, env=environ)
        assert ran.returncode != 4, ran.stderr
        return ran.stdout + ran.stderr


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


@pytest.mark.parametrize("format_", ["text", "markdown", "github", "json", "jsonl", "html"])
def test_reports_hold_nothing_unseen(run: Run, format_: str) -> None:
    shown = run("observe", run.traces, "--verbose", "--format", format_)
    assert "budget" in shown
    assert UNSEEN_BUT_LINES.search(shown) is None


@pytest.mark.parametrize(
    "arguments",
    [
        ("observe", f"no such {_HOSTILE}"),
        ("observe", f"--{_HOSTILE}"),
        (_HOSTILE,),
        ("eval", f"no such {_HOSTILE}.yaml"),
        ("eval", f"CLAUDE{_HOSTILE}.md"),
        ("kms", "import", f"CLAUDE{_HOSTILE}.md"),
        ("kms", "import", "CLAUDE.md"),
        ("kms", "show", _HOSTILE),
        ("kms", "add", _HOSTILE),
        ("investigate", f"where is {_HOSTILE}"),
        ("investigate", "where is the budget"),
        ("probe", "--format", "text"),
        ("probe", "--format", "markdown"),
        ("explain", _HOSTILE),
        ("doctor",),
        ("judge", "list"),
    ],
    ids=lambda arguments: re.sub(r"[^a-z -]", "", " ".join(map(str, arguments))),
)
def test_no_verb_prints_anything_unseen(run: Run, arguments: tuple[str, ...]) -> None:
    shown = run(*arguments)
    assert shown
    assert UNSEEN_BUT_LINES.search(shown) is None


def test_a_branch_with_hidden_signs_is_shown_without_them(run: Run) -> None:
    samples = run.root / f"samples{_OVERRIDE}.yaml"
    samples.write_text(json.dumps([{"sample_id": "a", "prompt": "Where is the budget?"}]))
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false")
    subprocess.run([*git, "init", "-q", "-b", f"main{_OVERRIDE}"], cwd=run.root, check=True, timeout=60)
    subprocess.run([*git, "add", "CLAUDE.md"], cwd=run.root, check=True, timeout=60)
    subprocess.run([*git, "commit", "-q", "-m", f"Limits {_OVERRIDE}"], cwd=run.root, check=True, timeout=60)
    for verb in (("eval", samples), ("report",), ("trend",), ("draft",), ("check", "--max-gap-rate", "0.5")):
        assert UNSEEN_BUT_LINES.search(run(*verb)) is None, verb


def test_drafts_show_what_turns_text_around(run: Run) -> None:
    doubt = f"I'm not sure which team owns the budget, so {_HOSTILE} is a guess."
    Transcript(session="s-2", project=str(run.root)).user(f"Raise {_HOSTILE}.").says(doubt).write(
        run.traces, "doubt.jsonl"
    )
    run("observe", run.traces)
    draft = run("draft")
    assert "which team owns the budget" in draft
    assert UNSEEN_BUT_LINES.search(draft) is None


@pytest.mark.parametrize("ending", [".yaml", ".json", ".jsonl"])
def test_an_accepted_draft_keeps_its_text_and_hides_nothing(ending: str, tmp_path: Path) -> None:
    from knowbound.evals.questions.draft_file import add
    from knowbound.evals.samples.load import load_samples

    target = tmp_path / f"samples{ending}"
    prompt = f"Where is {_OVERRIDE}{_TAG}?"
    add([{"sample_id": "a", "prompt": prompt}], target)
    add([{"sample_id": "b", "prompt": prompt}], target)
    assert UNSEEN_BUT_LINES.search(target.read_text("utf-8")) is None
    assert [one.prompt for one in load_samples(target).samples] == [prompt, prompt]


def test_layout_stays_as_it_is() -> None:
    assert printable("a  b\n  c\N{ZERO WIDTH JOINER}d") == "a  b\n  c\N{ZERO WIDTH JOINER}d"


def test_verbs_print_through_one_door() -> None:
    verbs = Path(__file__).parents[2] / "src/knowbound/cli"
    users = {path.name for path in verbs.glob("*.py") if "click.echo(" in path.read_text("utf-8")}
    assert users == {"output.py"}
