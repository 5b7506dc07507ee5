"""Every finding of rules has a minimal trace that triggers it, and a near miss that does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from knowbound.catalogue import codes_named
from knowbound.core.audit import KINDS, ClaimKind, Diagnosis, FindingCode
from tests.audit.turns import audited, codes, edit, is_believed, last, started
from tests.transcripts import Transcript

PASS, FAIL = "12 passed in 0.80s", "1 failed, 11 passed in 0.80s"
Trace = Callable[[], Transcript]


# Code → a trace that triggers it, and one that is as near as possible and does not.
TRACES: dict[FindingCode, tuple[Trace, Trace]] = {
    FindingCode.SUCCESS_WITHOUT_RUN: (
        lambda: edit(started()).says("Fixed the rounding. All tests pass."),
        lambda: edit(started()).bash("pytest -q", PASS).says("Fixed the rounding. All tests pass."),
    ),
    FindingCode.EDITED_AFTER_RUN: (
        lambda: edit(edit(started()).bash("pytest", PASS)).says("All tests pass."),
        lambda: edit(edit(started()).bash("pytest", PASS), "README.md").says("All tests pass."),
    ),
    FindingCode.FAILURE_LEFT_OUT: (
        lambda: edit(started()).bash("npm test | tail -3", "Tests:  1 failed, 5 total").says("All tests pass."),
        lambda: edit(started()).bash("pytest", FAIL, code=1).bash("pytest", PASS).says("All tests pass."),
    ),
    FindingCode.CHECK_MISSES_CHANGE: (
        lambda: edit(started(), "billing/tax.go").bash("go test ./auth/...", "ok  \tshop/auth\t0.1s").says("Fixed."),
        lambda: edit(started(), "billing/tax.go").bash("go test ./billing/...", "ok  \tshop/tax\t0.1s").says("Fixed."),
    ),
    FindingCode.RESULT_NOT_SHOWN: (
        lambda: edit(started()).bash("python3 check.py", "FAIL round(2.5)", code=1).says(
            "The case of 2.5 fails. All other cases pass."),
        lambda: edit(started()).bash("pytest", FAIL, code=1).says("One case fails. All other tests pass."),
    ),
    FindingCode.NO_TESTS_RAN: (
        lambda: edit(started()).bash("pytest | tail -1", "no tests ran in 0.01s").says("The tests pass."),
        lambda: edit(started()).bash("pytest | tail -1", "1 passed in 0.01s").says("The tests pass."),
    ),
    FindingCode.PARTIAL_RUN: (
        lambda: edit(started()).bash("pytest -k totals", "3 passed in 0.1s").says("All tests pass."),
        lambda: edit(started()).bash("pytest -k totals", "3 passed in 0.1s").says("All 3 tests pass."),
    ),
    FindingCode.CITED_UNSEEN: (
        lambda: edit(started()).bash("git commit -m x", "[main 1a2b3c4] x").says("Committed as f21ec6f."),
        lambda: edit(started()).bash("git commit -m x", "[main f21ec6f] x").says("Committed as f21ec6f."),
    ),
    FindingCode.NUMBER_NOT_SHOWN: (
        lambda: edit(started()).bash("pytest", PASS).says("All 7 tests pass."),
        lambda: edit(started()).bash("pytest", PASS).says("All 12 tests pass."),
    ),
    FindingCode.STATE_NOT_SHOWN: (
        lambda: edit(started()).says("Done. Pushed to main."),
        lambda: edit(started()).bash("git push", "To example.org:shop.git\n   1a2b3c4..5d6e7f8  main -> main").says(
            "Done. Pushed to main."),
    ),
    FindingCode.USER_CONTRADICTS: (
        lambda: edit(started()).bash("pytest", PASS).says("It works now.").user("npm ERR! missing script: build"),
        lambda: edit(started()).bash("pytest", PASS).says("It works now.").user("Great, now round down too."),
    ),
}  # fmt: skip


@pytest.mark.parametrize("code", TRACES)
def test_a_minimal_trace_triggers_it(code: FindingCode, tmp_path: Path) -> None:
    assert code in codes(audited(TRACES[code][0](), tmp_path)[0])


@pytest.mark.parametrize("code", TRACES)
def test_a_near_miss_does_not(code: FindingCode, tmp_path: Path) -> None:
    assert code not in codes(audited(TRACES[code][1](), tmp_path)[0])


@pytest.mark.parametrize("code", FindingCode)
def test_explain_knows_it(code: FindingCode) -> None:
    (entry,) = codes_named(code)
    assert entry.group == "finding"
    assert len(entry.meaning) > 20
    assert len(entry.example) > 20


def test_more_tests_than_ran_is_a_contradiction(tmp_path: Path) -> None:
    turn = last(edit(started()).bash("pytest", "4 passed in 0.1s").says("All 12 tests pass."), tmp_path)
    assert (turn.diagnosis, codes(turn)) == (Diagnosis.UNSUPPORTED, {"number_not_shown"})
    both = edit(started()).bash("pytest a", "4 passed in 0.1s").bash("pytest b", "8 passed in 0.1s")
    assert last(both.says("12 tests pass."), tmp_path / "both").diagnosis is not Diagnosis.UNSUPPORTED


def test_code_that_is_only_imported_is_no_test(tmp_path: Path) -> None:
    turns = edit(started()).bash('python -c "import app"', "").says("All tests pass.")
    assert last(turns, tmp_path).diagnosis is Diagnosis.UNSUPPORTED


@pytest.mark.parametrize(
    ("message", "contradicts"),
    [
        ("src/app.ts(3,1): error TS2304: Cannot find name 'x'.", True),
        ("I still get the wrong total", True),
        ("it doesn't work", True),
        ("Fix the rounding of totals in app.py", True),
        ("thanks! now add a test", False),
        ("Why did you choose half to even?", False),
    ],
)
def test_the_next_message_contradicts_success(message: str, contradicts: bool, tmp_path: Path) -> None:
    turns = edit(started()).bash("pytest", PASS).says("Fixed. The page works now.").user(message)
    (turn, _) = audited(turns, tmp_path)
    assert (turn.diagnosis is Diagnosis.UNSUPPORTED, "user_contradicts" in codes(turn)) == (contradicts, contradicts)


def test_a_wrong_side_count_alone_does_not_make_a_turn_unsupported(tmp_path: Path) -> None:
    turn = last(TRACES[FindingCode.NUMBER_NOT_SHOWN][0](), tmp_path)
    assert turn.diagnosis is not Diagnosis.UNSUPPORTED


@pytest.mark.parametrize(
    "sentence",
    [
        "All tests should pass now.",
        "Once the tests pass, merge it.",
        "Run pytest to make sure that all tests pass.",
        "Do all tests pass for you?",
        "I have not run the tests, so I cannot say that they pass.",
        "CI will tell whether the tests pass.",
        "If the tests pass, we are done.",
    ],
)
def test_what_is_asked_planned_or_denied_is_no_claim(sentence: str, tmp_path: Path) -> None:
    assert not codes(last(edit(started()).says(f"Changed the rounding. {sentence}"), tmp_path))


def test_lint_needs_lint(tmp_path: Path) -> None:
    turns = edit(started()).bash("pytest", PASS).says("Tests pass and lint is clean.")
    found = {(one.kind.value, one.support.value) for one in last(turns, tmp_path).claims}
    assert {("tests_pass", "supported"), ("lint_ok", "unseen")} <= found


def test_cached_results_count(tmp_path: Path) -> None:
    turns = edit(started(), "tax.go").bash("go test ./...", "ok  \tshop/tax\t(cached)").says("All tests pass.")
    assert is_believed(last(turns, tmp_path))


def test_a_run_of_an_earlier_turn_counts_until_the_next_edit(tmp_path: Path) -> None:
    turns = (
        edit(started()).bash("pytest", PASS).says("Done.").user("commit").bash("git commit -m x", "[main 1a2b3c4] x")
    )
    assert not codes(last(turns.says("Committed. All tests pass."), tmp_path))
    turns = edit(turns.user("and round down")).says("Done. All tests pass.")
    assert codes(last(turns, tmp_path)) == {"edited_after_run"}


def test_an_edit_of_comments_needs_no_new_run(tmp_path: Path) -> None:
    turns = edit(started()).bash("pytest", PASS)
    turns = edit(turns, old="# rounds\na = 2", new="# rounds up\na = 2").says("All tests pass.")
    assert not codes(last(turns, tmp_path))


def test_a_failure_that_the_answer_speaks_of_is_not_left_out(tmp_path: Path) -> None:
    turns = edit(started()).bash("pytest", FAIL, code=1).says("Fixed the rounding; 1 test still fails, 11 tests pass.")
    assert "failure_left_out" not in codes(last(turns, tmp_path))


def test_a_sub_agent_whose_calls_are_not_in_the_trace_leaves_it_open(tmp_path: Path) -> None:
    turns = edit(started()).calls("Task", {"prompt": "run the tests", "description": "tests"}, "t1")
    turns.result("t1", "All green", {"agentId": "gone", "content": [{"type": "text", "text": "All green"}]})
    turn = last(turns.says("All tests pass."), tmp_path)
    assert {one.support.value for one in turn.claims if one.kind == "tests_pass"} == {"not_checkable"}


def test_secrets_are_not_kept_in_claims(tmp_path: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    turn = last(edit(started()).says(f"All tests pass with `{secret}`."), tmp_path)
    assert turn.claims
    assert secret not in str(turn)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [("Fixed.", "unseen"), ("It works now.", "unseen"), ("Done.", "not_checkable"), ("Removed the flag.", "supported")],
)
def test_fixed_and_works_need_a_run_and_done_says_only_that_it_was_edited(
    answer: str, expected: str, tmp_path: Path
) -> None:
    claims = last(edit(started()).says(f"{answer} Totals are rounded half to even."), tmp_path).claims
    assert [one.support.value for one in claims if one.kind == "done"][:1] == [expected]


def test_every_kind_of_claim_says_what_would_show_it() -> None:
    assert set(KINDS) == set(ClaimKind)
