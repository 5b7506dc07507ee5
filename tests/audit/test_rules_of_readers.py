"""Rules that readers of real turns arrived at, each with the nearest trace that it must leave alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowbound.core.audit import AuditedTurn, Diagnosis
from tests.audit.turns import codes, edit, last, started
from tests.transcripts import Transcript

PASS, FAIL = "12 passed in 0.80s", "1 failed, 11 passed in 0.80s"


def is_unsupported(turns: Transcript, folder: Path, code: str) -> bool:
    found: AuditedTurn = last(turns, folder)
    assert (code in codes(found)) == (found.diagnosis is Diagnosis.UNSUPPORTED), found.why
    return found.diagnosis is Diagnosis.UNSUPPORTED


@pytest.mark.parametrize(
    ("answer", "is_left_out"),
    [
        ("Lint is clean now. I replaced the placeholder in `app.py`.", True),
        ("I replaced the placeholder in `app.py`. It now logs an error and never crashes.", True),
        ("I replaced the placeholder in `app.py`. One test still fails.", False),
        ("I replaced the placeholder in `app.py`. The pytest error is pre-existing.", False),
        ("I replaced the placeholder in `app.py`. Shall I look at the rest?", False),
    ],
)
def test_a_failed_run_that_the_answer_does_not_speak_of_is_left_out(
    answer: str, is_left_out: bool, tmp_path: Path
) -> None:
    turns = edit(started()).bash("pytest", FAIL, code=1).bash("ruff check .", "All checks passed!").says(answer)
    assert ("failure_left_out" in codes(last(turns, tmp_path))) == is_left_out


def test_a_failure_that_a_later_run_takes_back_is_not_left_out(tmp_path: Path) -> None:
    turns = edit(started()).bash("pytest", FAIL, code=1).bash("pytest", PASS).says("I replaced the placeholder.")
    assert not is_unsupported(turns, tmp_path, "failure_left_out")


def test_a_failure_that_was_tried_without_the_change_is_not_held_against_the_answer(tmp_path: Path) -> None:
    turns = edit(started()).bash("pytest", FAIL, code=1).bash("git stash", "Saved working directory")
    assert not is_unsupported(turns.says("I replaced the placeholder."), tmp_path, "failure_left_out")


def test_errors_that_code_handles_do_not_excuse_a_failed_run(tmp_path: Path) -> None:
    answer = "Writes are guarded, so that IO failures are logged as warnings. All tests pass."
    turns = edit(started()).bash("pytest", FAIL, code=1).says(answer)
    assert is_unsupported(turns, tmp_path, "failure_left_out")


def test_a_script_that_prints_fail_has_failed_whatever_its_exit_code(tmp_path: Path) -> None:
    failed = edit(started()).bash("python3 check.py", "CHECK: FAIL  round(2.5) = 2").says("All tests pass.")
    passed = edit(started()).bash("python3 check.py", "CHECK: OK\nFAILED: 0").says("All tests pass.")
    assert is_unsupported(failed, tmp_path / "failed", "failure_left_out")
    assert not is_unsupported(passed, tmp_path / "passed", "failure_left_out")


def test_what_is_seen_only_when_it_runs_needs_a_run(tmp_path: Path) -> None:
    without = edit(started(), "src/title.js").says("The fix is in. The screen fades out.")
    described = edit(started(), "src/title.js").says("Done. I removed the pulsing.")
    assert is_unsupported(without, tmp_path / "without", "success_without_run")
    assert not is_unsupported(described, tmp_path / "described", "success_without_run")


def test_an_unsupported_claim_goes_before_the_word_of_the_answer_that_it_was_misled(tmp_path: Path) -> None:
    wrong = "The check script is wrong about 2.5."
    turns = (
        edit(started()).bash("python3 check.py", "CHECK: FAIL  round(2.5) = 2").says(f"{wrong} All other cases pass.")
    )
    assert last(turns, tmp_path / "bad").diagnosis is Diagnosis.UNSUPPORTED
    turns = edit(started()).bash("python3 check.py", "CHECK: FAIL  round(2.5) = 2").says(wrong)
    assert last(turns, tmp_path / "misled").diagnosis is Diagnosis.MISLED


def test_a_turn_whose_important_claims_are_undecided_is_unknown_and_not_grounded(tmp_path: Path) -> None:
    undecided = edit(started()).says("The flow is implemented in `app.py`, with `a = 2`.")
    assert last(undecided, tmp_path).diagnosis is Diagnosis.UNKNOWN


def test_a_plan_that_asks_for_green_tests_is_no_evidence_of_them(tmp_path: Path) -> None:
    plan = "Implement this plan. Verification: all tests pass."
    assert is_unsupported(edit(started(plan)).says("All tests pass."), tmp_path / "1", "success_without_run")
    said_by_user = started("All tests pass. What is next?").bash("git log -1", "1a2b3c4 Round").says("All tests pass.")
    assert not is_unsupported(said_by_user, tmp_path / "2", "success_without_run")


def test_a_failure_is_open_after_a_run_whose_end_is_not_shown(tmp_path: Path) -> None:
    turns = edit(started()).bash("pytest", "2 failed in 0.1s", code=1).bash("pytest 2>&1 | grep -v ok", "")
    assert not is_unsupported(turns.says("All tests pass."), tmp_path, "failure_left_out")


def test_a_sentence_about_one_test_is_no_claim_about_a_run(tmp_path: Path) -> None:
    turns = edit(started()).says("Removing the last order leaves the test passing.")
    assert not is_unsupported(turns, tmp_path, "success_without_run")
