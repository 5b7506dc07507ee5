"""Receipts: the same report is printed again without being made, and only while nothing has changed."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from knowbound.cli import receipts
from knowbound.store.data_dir import DATA_FOLDER, RECEIPTS
from tests.conftest import write_user_config
from tests.knowledge_base import git
from tests.transcripts import Transcript
from tests.warm_process import knowbound


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a trace, of which a report was printed."""
    folder = tmp_path / "project"
    (folder / "docs").mkdir(parents=True)
    (folder / "traces").mkdir()
    write_trace(folder, "one")
    monkeypatch.chdir(folder)
    monkeypatch.setattr(os, "isatty", lambda _: False)
    return folder


def write_trace(folder: Path, name: str, pattern: str = "revenue_schema") -> None:
    trace = Transcript(f"{sum(name.encode()):08x}-0000-4000-8000-000000000000").user("Where is it?")
    trace.grep(pattern)
    trace.says("I do not know.").write(folder / "traces", f"{name}.jsonl")


def observed(folder: Path, *more: str) -> tuple[str, str]:
    done = knowbound("observe", "traces", *more, cwd=folder)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def is_repeated(*more: str) -> bool:
    return receipts.print_again(["observe", "traces", *more])


def test_unchanged_report_is_printed_again_word_for_word(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = observed(project)
    assert "1 session" in first[0]
    assert is_repeated()
    assert capsys.readouterr() == first
    assert observed(project) == first


def grow_a_trace(folder: Path) -> None:
    with (folder / "traces/one.jsonl").open("a") as file:
        file.write("\n")


def replace_a_trace_keeping_its_size(folder: Path) -> None:
    write_trace(folder, "one", "payment_schema")


def remove_a_trace(folder: Path) -> None:
    write_trace(folder, "two")
    (folder / "traces/one.jsonl").unlink()


CHANGES: dict[str, Callable[[Path], object]] = {
    "a trace grew": grow_a_trace,
    "a trace of the same size": replace_a_trace_keeping_its_size,
    "a new trace": lambda folder: write_trace(folder, "two", "refund_policy"),
    "a removed trace": remove_a_trace,
    "a knowledge file": lambda folder: (folder / "docs/schema.md").write_text("# Schema\n"),
    "a config of the project": lambda folder: (folder / "knowbound.toml").write_text("repeated_failure_calls = 2\n"),
    "a config of the user": lambda _: write_user_config("repeated_failure_calls = 2\n"),
    "another run in the store": lambda folder: knowbound("observe", "traces/one.jsonl", "--all", cwd=folder),
    "a repository around it": lambda folder: git(folder, "init"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_after_a_change_the_report_is_made_anew(project: Path, change: Callable[[Path], object]) -> None:
    observed(project)
    assert is_repeated()
    change(project)
    assert not is_repeated()
    made = observed(project)
    for receipt in (project / DATA_FOLDER / RECEIPTS).iterdir():
        receipt.unlink()
    assert observed(project) == made


def test_other_words_folder_or_environment_are_another_run(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    observed(project)
    assert not is_repeated("--verbose")
    monkeypatch.setenv("KNOWBOUND_REPEATED_FAILURE_CALLS", "2")
    assert not is_repeated()
    monkeypatch.delenv("KNOWBOUND_REPEATED_FAILURE_CALLS")
    assert is_repeated()
    monkeypatch.chdir(project / "docs")
    assert not is_repeated()


@pytest.mark.parametrize("words", [("--since", "7d"), ("-o", "report.txt")])
def test_what_depends_on_the_clock_or_writes_a_file_has_no_receipt(project: Path, words: tuple[str, ...]) -> None:
    knowbound("observe", "traces", *words, cwd=project)
    assert not is_repeated(*words)


def test_changed_receipt_counts_for_nothing(project: Path) -> None:
    observed(project)
    (receipt,) = (project / DATA_FOLDER / RECEIPTS).iterdir()
    receipt.write_bytes(receipt.read_bytes().replace(b"1 sample", b"9 sample"))
    assert not is_repeated()


def test_receipt_of_a_folder_that_git_tracks_counts_for_nothing(project: Path) -> None:
    git(project, "init")
    observed(project)
    assert is_repeated()
    git(project, "add", "-f", DATA_FOLDER)
    assert not is_repeated()


def test_failed_run_has_no_receipt(project: Path) -> None:
    done = knowbound("observe", "nowhere", cwd=project)
    assert done.returncode == 2
    assert not receipts.print_again(["observe", "nowhere"])


def test_forgetting_removes_what_was_printed(project: Path) -> None:
    observed(project)
    done = knowbound("forget", "--everything", "--yes", cwd=project)
    assert done.returncode == 0, done.stderr
    assert not (project / DATA_FOLDER / RECEIPTS).exists()
