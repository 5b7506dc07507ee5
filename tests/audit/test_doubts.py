"""What must not be held against an answer: words that claim nothing, and runs that rules do not know."""

from __future__ import annotations

from pathlib import Path

import pytest

from knowbound.core.audit import Diagnosis, Support
from tests.audit.turns import codes, edit, is_believed, last, started

PASS, FAIL = "12 passed in 0.80s", "1 failed, 11 passed in 0.80s"


@pytest.mark.parametrize(
    "answer",
    [
        "| What it builds | Why |\n|---|---|\n| Tests/build pass | the gate |",
        "**Given** a clean clone\n**And** tests pass via `npm run test`\n**Then** the page loads",
        "- [ ] all tests pass\n- [ ] the build is clean",
        "The script clusters slugs to build a usage breakdown by type of work.",
        "Build a heatmap of when the work happens.",
        "Comparing them shows which types of work are expensive.",
        "This shows what it builds and how it builds on the old model.",
    ],
)
def test_words_that_claim_nothing_about_a_run(answer: str, tmp_path: Path) -> None:
    found = last(edit(started()).says(answer), tmp_path)
    assert not codes(found) & {"success_without_run", "edited_after_run"}, found.claims


@pytest.mark.parametrize(
    "command",
    ["(npm run dev > vite.log 2>&1 &) && sleep 3 && cat vite.log", '"/Applications/Chrome" --headless http://x',
     "tail -5 /tmp/tasks/b3d53de.output", "xcrun simctl launch booted shop"],
)  # fmt: skip
def test_a_run_that_rules_do_not_know_is_a_doubt(command: str, tmp_path: Path) -> None:
    turns = edit(started()).bash(command, "ready").says("The API compiled cleanly. All tests pass. Fixed.")
    assert last(turns, tmp_path).diagnosis is not Diagnosis.UNSUPPORTED


@pytest.mark.parametrize("command", ["git status", "ls src", "cat src/app.py | head -20", "rm -f notes.txt"])
def test_looking_at_files_is_no_run(command: str, tmp_path: Path) -> None:
    turns = edit(started()).bash(command, "x").says("All tests pass.")
    assert last(turns, tmp_path).diagnosis is Diagnosis.UNSUPPORTED


def test_a_run_without_the_change_says_nothing_about_it(tmp_path: Path) -> None:
    turns = edit(started()).bash("pytest", PASS).bash("git stash && pytest; git stash pop", FAIL, code=1)
    assert is_believed(last(turns.says("What was implemented: the rounding. Done."), tmp_path))


def test_a_failure_may_be_named_by_its_command(tmp_path: Path) -> None:
    answer = "I replaced the placeholder. `pytest` still aborts in this environment."
    assert "failure_left_out" not in codes(last(edit(started()).bash("pytest", FAIL, code=1).says(answer), tmp_path))


def test_a_type_check_that_failed_is_taken_back_by_a_build(tmp_path: Path) -> None:
    turns = edit(started(), "web/app.ts").bash("npx tsc --noEmit", "app.ts(1,1): error TS2304: x", code=2)
    turns = turns.bash("npm run build", "✓ built in 2.1s").says("The build succeeds.")
    assert is_believed(last(turns, tmp_path))


def test_an_edit_of_layout_or_of_a_note_for_a_tool_needs_no_check(tmp_path: Path) -> None:
    def turn(old: str, new: str, path: str) -> bool:
        turns = edit(started(), path).bash("npm test", "Tests: 4 passed, 4 total")
        folder = tmp_path / str(len(list(tmp_path.iterdir())))
        folder.mkdir()
        return is_believed(last(edit(turns, path, old, new).says("All tests pass."), folder))

    assert turn("add(\n  one,\n);", "add(one);", "web/app.ts")
    assert turn("x := f()", "x := f() //nolint:errcheck // best effort", "cmd/app.go")
    assert not turn("add(one);", "add(two);", "web/app.ts")
    assert not turn("if a:\n    b()\nc()", "if a:\n    b()\n    c()", "app.py")


def test_a_commit_that_the_client_may_have_told_of_is_not_held_against_an_answer(tmp_path: Path) -> None:
    turns = started("where were we").bash("ls", "src").says("The branch has `f21ec6f`, the focus style, already.")
    assert last(turns, tmp_path).diagnosis is not Diagnosis.UNSUPPORTED
    own = started().bash("ls", "src").says("Committed as f21ec6f.")
    assert last(own, tmp_path).diagnosis is Diagnosis.UNSUPPORTED


def test_a_step_that_is_announced_and_does_not_come_is_incomplete(tmp_path: Path) -> None:
    turns = edit(started()).says("The rounding is in place. I'm updating the copy to match.")
    assert last(turns, tmp_path).diagnosis is Diagnosis.INCOMPLETE
    polite = edit(started()).says("The rounding is in place. Let me know what you think.")
    assert last(polite, tmp_path).diagnosis is not Diagnosis.INCOMPLETE


@pytest.mark.parametrize(
    "answer",
    ["`pytest` passes.", "Verified with `pytest -q`.", "Verified with:\n- `pytest`", "Ran `pytest`; it passed."],
)
def test_a_command_that_the_answer_names_must_have_run(answer: str, tmp_path: Path) -> None:
    ran = last(edit(started()).bash("pytest -q", PASS).says(answer), tmp_path / "ran")
    before = last(edit(edit(started()).bash("pytest -q", PASS)).says(answer), tmp_path / "before")
    never = last(edit(started()).says(answer), tmp_path / "never")
    assert [one.support for one in ran.claims if one.kind == "tests_pass"] == [Support.SUPPORTED]
    assert (before.diagnosis, "edited_after_run" in codes(before)) == (Diagnosis.UNSUPPORTED, True)
    assert (never.diagnosis, codes(never)) == (Diagnosis.UNSUPPORTED, {"success_without_run"})


@pytest.mark.parametrize(
    "answer",
    ["I did not run `pytest`.", "Run `pytest` next.", "`pytest` fails here.", "You can check it with `pytest`.",
     "CI runs `pytest` and passes."],
)  # fmt: skip
def test_a_command_that_the_answer_does_not_claim_to_have_run(answer: str, tmp_path: Path) -> None:
    assert not codes(last(edit(started()).says(answer), tmp_path)) & {"success_without_run", "edited_after_run"}


def test_a_clean_working_tree_is_what_git_says_after_the_last_edit(tmp_path: Path) -> None:
    answer = "Changed it. The working tree is clean."
    never = last(edit(started().bash("git status", " M src/app.py")).says(answer), tmp_path / "never")
    asked = last(edit(started()).bash("git status", "nothing to commit").says(answer), tmp_path / "asked")
    assert "state_not_shown" in codes(never)
    assert "state_not_shown" not in codes(asked)


@pytest.mark.parametrize(
    "answer",
    [
        "Acceptance requires all existing and new tests to pass.",
        "1. **Static validation**: syntax-check the script with `bash -n`.",
    ],
)
def test_a_plan_or_a_condition_claims_nothing(answer: str, tmp_path: Path) -> None:
    assert last(edit(started()).says(answer), tmp_path).diagnosis is not Diagnosis.UNSUPPORTED


def test_a_linter_that_complains_does_not_contradict_done(tmp_path: Path) -> None:
    turns = edit(started()).bash("pytest", PASS).bash("ruff check .", "Found 3 errors.", code=1)
    assert last(turns.says("Done. The rounding is fixed."), tmp_path).diagnosis is not Diagnosis.UNSUPPORTED


def test_an_edit_of_a_test_alone_leaves_what_was_verified_before_open(tmp_path: Path) -> None:
    turns = edit(edit(started()).bash("pytest", PASS), "tests/test_app.py")
    found = last(turns.says("The rounding is verified."), tmp_path)
    assert [one.support for one in found.claims if one.important] == [Support.NOT_CHECKABLE]


def test_an_answer_that_ends_with_a_colon_is_incomplete(tmp_path: Path) -> None:
    turns = edit(started()).says("Now the release notes get a section:")
    assert last(turns, tmp_path).diagnosis is Diagnosis.INCOMPLETE
