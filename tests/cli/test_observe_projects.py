"""`observe` inside a project is about that project; `--all` and a path are about what they name."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from knowbound.cli.main import main
from knowbound.gaps.stored import project_at
from tests.cli.test_observe import observe
from tests.transcripts import Transcript

Captured = pytest.CaptureFixture[str]


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with sessions at its root, below it and in a worktree; two of other projects beside them."""
    root = tmp_path / "shop"
    (root / "packages" / "api").mkdir(parents=True)
    (root / "AGENTS.md").write_text("Write tests.")
    traces = Path(os.environ["HOME"]) / ".claude" / "projects"
    folders = [
        root,
        root / "packages" / "api",
        root / ".claude" / "worktrees" / "fix",
        tmp_path / "shopping",
        "/srv/bank",
    ]
    for number, folder in enumerate(folders):
        transcript = Transcript(f"s-{number}", str(folder)).user("go").grep("refundWindow").grep("refund_window")
        transcript.says("I will assume 30 days.").write(traces / str(number))
    monkeypatch.chdir(root)
    return root


def run(capsys: Captured, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["observe", *arguments])
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed.out, printed.err


def document(capsys: Captured, *arguments: str) -> Any:
    code, out, err = run(capsys, *arguments, "--format", "json")
    assert code == 0, err
    return json.loads(out)


def test_inside_a_project_only_its_own_sessions_count(shop: Path, capsys: Captured) -> None:
    report = document(capsys)
    assert report["totals"]["sessions"] == 3
    assert report["filters"] == {"project": str(shop)}
    assert report["projects"] == {"shop": 3}
    assert (report["coverage"]["sessions"], report["coverage"]["loaded"]) == (3, ["AGENTS.md"])


def test_sessions_below_the_root_and_in_its_worktrees_share_their_topics(shop: Path, capsys: Captured) -> None:
    (topic,) = document(capsys)["topics"]
    assert (topic["project"], topic["sessions"]) == ("shop", 3)
    _, lines, _ = run(capsys, "--format", "jsonl")
    assert {json.loads(line)["topic"] for line in lines.splitlines()} == {topic["id"]}


def test_all_pools_every_project(shop: Path, capsys: Captured) -> None:
    report = document(capsys, "--all")
    assert (report["totals"]["sessions"], report["filters"]) == (5, {})
    assert report["projects"] == {"shop": 3, "shopping": 1, "bank": 1}
    assert {topic["project"]: topic["sessions"] for topic in report["topics"]} == report["projects"]
    assert report["coverage"]["sessions"] == 3


def test_a_path_is_taken_as_it_is(shop: Path, capsys: Captured) -> None:
    assert document(capsys, str(Path(os.environ["HOME"]) / ".claude"))["totals"]["sessions"] == 5


def test_a_root_names_the_project(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    assert document(capsys, "--root", str(shop))["totals"]["sessions"] == 3


def test_outside_of_a_project_everything_is_pooled(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.chdir(tmp_path)
    assert document(capsys)["totals"]["sessions"] == 5


def test_the_filter_is_said_where_people_read(shop: Path, capsys: Captured) -> None:
    _, out, err = run(capsys)
    assert f"filter:project{shop}" in "".join(out.split())
    assert f"for sessions of {shop} (--all: of every project)" in err


def test_a_project_without_sessions_says_which_others_there_are(
    shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    (tmp_path / "empty" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "empty")
    code, _, err = run(capsys)
    assert code == 2
    assert "There are 5 sessions of other projects: shop 2, " in err
    assert "Try: knowbound observe --all" in err


@pytest.mark.parametrize(
    "mark", [".git", "CLAUDE.md", "AGENTS.md", ".claude", "knowbound.toml", "pyproject.toml", "go.mod"]
)
def test_a_project_is_known_by_what_lies_in_its_folder(mark: str, tmp_path: Path) -> None:
    assert project_at(tmp_path) == ""
    (tmp_path / mark).mkdir()
    assert project_at(tmp_path) == str(tmp_path)


def test_a_home_folder_is_no_project_whatever_agents_keep_there() -> None:
    home = Path(os.environ["HOME"]).resolve()
    (home / ".claude").mkdir(exist_ok=True)
    (home / ".git").mkdir()
    assert project_at(home) == ""


def test_a_name_or_a_path_chooses_a_project(shop: Path, capsys: Captured) -> None:
    assert document(capsys, "--project", "bank")["totals"]["sessions"] == 1
    assert document(capsys, "--project", "./packages")["totals"]["sessions"] == 1
    assert document(capsys, "--project", "..")["totals"]["sessions"] == 4


# Since the last look


def test_the_last_look_is_the_last_run_about_the_same(tmp_path: Path) -> None:
    traces = tmp_path / "traces"
    Transcript("s-1").user("go").grep("alpha").says("I will guess.").write(traces)
    first = observe(tmp_path)
    assert first.last_look == ""
    assert observe(tmp_path) == first  # nothing changed: the same report, the same order
    Transcript("s-2").user("go").grep("beta").says("I will guess.").write(traces)
    assert observe(tmp_path, agent="claude-code").last_look == ""  # another question
    assert observe(tmp_path).last_look == first.made
    Transcript("s-3").user("go").grep("gamma").says("I will guess.").write(traces)
    assert observe(tmp_path, since="2026-01-01T00:00:00").last_look != ""  # `since` moves with the clock


# One topic, one step away


def topic(capsys: Captured, *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as ended:
        main(["report", "--topic", *arguments])
    printed = capsys.readouterr()
    return int(ended.value.code or 0), printed.out, printed.err


def test_a_topic_leads_to_the_file_and_line_of_every_signal(shop: Path, capsys: Captured) -> None:
    (found,) = document(capsys)["topics"]
    code, out, err = topic(capsys, found["id"])
    assert (code, err) == (0, "")
    for number in range(3):
        file = Path(os.environ["HOME"]) / ".claude" / "projects" / str(number) / f"s-{number}.jsonl"
        assert f"{file}:2\n" in out
    shown = json.loads(topic(capsys, found["title"], "--format", "json")[1])  # the title will do as well
    assert shown["topic"] == found
    assert len(shown["signals"]) == found["signals"]
    lines = topic(capsys, found["id"], "--format", "jsonl")[1].splitlines()
    assert [json.loads(line)["session"] for line in lines] == [one["session"] for one in shown["signals"]]


def test_a_topic_is_of_the_newest_observed_run_whatever_ran_since(shop: Path, capsys: Captured) -> None:
    (found,) = document(capsys)["topics"]
    with pytest.raises(SystemExit):
        main(["investigate", "Which tests are there?"])
    capsys.readouterr()
    assert topic(capsys, found["id"])[0] == 0


def test_an_unknown_topic_says_which_there_are(shop: Path, capsys: Captured) -> None:
    (found,) = document(capsys)["topics"]
    code, _, err = topic(capsys, found["title"][:-2])
    assert code == 2
    assert f"Did you mean {found['id']} ({found['title']})?" in err
    assert "[unknown-topic]" in err
    assert f"It has 1 topic: {found['id']} (" in err


def test_a_topic_is_not_for_formats_of_gates(shop: Path, capsys: Captured) -> None:
    (found,) = document(capsys)["topics"]
    code, _, err = topic(capsys, found["id"], "--format", "sarif")
    assert code == 2
    assert "--topic is not for --format sarif" in err
