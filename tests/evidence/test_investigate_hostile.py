"""Hostile trees and questions: a clear answer, nothing executed, nothing outside the root read."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from knowbound.evidence.investigate import investigate
from knowbound.process import run
from tests.evidence_trees import SHOP, plant


def test_links_out_of_the_root_and_loops_are_not_followed(tmp_path: Path) -> None:
    outside = plant(tmp_path / "outside", {"secret.py": "class HiddenTreasure:\n    pass\n"})
    root = plant(tmp_path / "root", SHOP)
    (root / "out").symlink_to(outside, target_is_directory=True)
    (root / "secret_link.py").symlink_to(outside / "secret.py")
    (root / "loop").symlink_to(root, target_is_directory=True)
    assert investigate("Where is HiddenTreasure?", root).outcome == "insufficient_evidence"
    assert investigate("Where is RetryMiddleware?", root).sources[0].path == "shop/retry.py"


def test_a_root_that_is_a_link_is_the_folder_it_leads_to(tmp_path: Path) -> None:
    plant(tmp_path / "real", SHOP)
    (tmp_path / "link").symlink_to(tmp_path / "real", target_is_directory=True)
    assert investigate("Where is RetryMiddleware?", tmp_path / "link").outcome == "success"


def test_binary_files_and_odd_names_do_no_harm(tmp_path: Path) -> None:
    plant(tmp_path, SHOP)
    (tmp_path / "blob.bin").write_bytes(b"\0\xffRetryMiddleware\0" * 1000)
    (tmp_path / "new\nline.py").write_text("class OddlyNamed:\n    pass\n")
    (tmp_path / "--help.py").write_text("class DashedName:\n    pass\n")
    (tmp_path / os.fsdecode(b"b\xe4d.py")).write_text("class BadBytes:\n    pass\n")
    assert investigate("Where is RetryMiddleware?", tmp_path).sources[0].path == "shop/retry.py"
    assert investigate("Where is OddlyNamed?", tmp_path).sources[0].path == "new\nline.py"
    assert investigate("Where is DashedName?", tmp_path).sources[0].path == "--help.py"
    assert investigate("Where is BadBytes?", tmp_path).outcome == "success"


def test_an_endless_line_is_left_out(tmp_path: Path) -> None:
    plant(tmp_path, SHOP)
    with open(tmp_path / "endless.js", "wb") as file:
        file.write(b"var RetryMiddleware = '")
        file.seek(200_000_000)
        file.write(b"'")
    with open(tmp_path / "long.txt", "wb") as file:
        file.write(b"RetryMiddleware " * 100_000)
    assert investigate("Where is RetryMiddleware?", tmp_path).sources[0].path == "shop/retry.py"


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_may_not_be_entered_is_passed_by(tmp_path: Path) -> None:
    plant(tmp_path, SHOP)
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o000)
    try:
        assert investigate("Where is RetryMiddleware?", tmp_path).outcome == "success"
    finally:
        closed.chmod(0o700)


@pytest.mark.parametrize(
    "question",
    [
        "",
        "   \n ",
        "?",
        ".*(a+)+$",
        "[unclosed",
        "where is (?P<x>.*)?",
        "$(touch pwned)",
        "; touch pwned #",
        "`touch pwned`",
        "where is `touch pwned`?",
        "--files",
        "-e x --pre touch",
        "where is --pre=touch and -f /etc/passwd?",
        "open /etc/passwd",
        "open ../../../../etc/passwd",
        "\0\0",
        "where is \udcff?",
        "x" * 100_000,
        "where is " + "very " * 2000 + "deep thing?",
    ],
)
def test_a_hostile_question_gets_a_clear_answer_and_runs_nothing(question: str, tmp_path: Path) -> None:
    root = plant(tmp_path / "root", SHOP)
    before = sorted(tmp_path.rglob("*"))
    found = investigate(question, root)
    assert found.outcome == "insufficient_evidence" or found.intent.value == "chat"
    assert sorted(tmp_path.rglob("*")) == before


def test_an_empty_folder_that_is_no_repository(tmp_path: Path) -> None:
    for question in ("Where is main?", "What is the last commit?", "Explain the parser.", "Run the tests."):
        found = investigate(question, tmp_path)
        assert found.outcome == "insufficient_evidence"
        assert found.explanation


def test_a_program_ends_with_its_children_at_the_limit(tmp_path: Path) -> None:
    ran = run([sys.executable, "-c", "import time; print('x', flush=True); time.sleep(60)"], tmp_path, 0.5)
    assert (ran.timed_out, ran.code, ran.out) == (True, None, b"x\n")


def test_output_is_bounded_and_the_environment_has_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "secret")
    ran = run([sys.executable, "-c", "print('x' * 10**7)"], tmp_path, 30, output_bytes=1000)
    assert ran.cut
    ran = run([sys.executable, "-c", "import os, sys; print('MY_TOKEN' in os.environ, sys.stdin.read())"], tmp_path, 30)
    assert ran.text.split() == ["False"]
    assert run(["no-such-program-anywhere"], tmp_path, 1).missing
