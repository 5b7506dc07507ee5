"""Build and Test: the levels of the specification's table, what runners print, what a question names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.evidence import Evidence, EvidenceClass, Intent, Quality, Shows, Strength
from knowbound.evidence.producers import system
from knowbound.evidence.producers.build_and_test import grade_build, grade_tests, named_target
from knowbound.evidence.producers.protocol import Ask
from knowbound.evidence.producers.system import Built, OutcomeCounts, read_counts

PASS = "Does the project build and do the tests pass?"
Q = Quality


def built(passed: bool = True, made: tuple[str, ...] = ("app",), has_named: bool = False, partial: str = "") -> Built:
    return Built("cmake", "cmake --build", passed, made, has_named, says="main.c:1: error", partial=partial)


@pytest.mark.parametrize(
    ("result", "named", "quality"),
    [
        (built(made=()), "", Q.WEAK),  # nothing to build
        (built(passed=False), "", Q.STRONG),  # that it fails
        (built(), "other", Q.MODERATE),  # builds, but not the target
        (built(partial="only a part"), "", Q.MODERATE),
        (built(has_named=True), "app", Q.STRONG),
        (built(), "", Q.STRONG),
    ],
)
def test_a_build_is_graded_by_what_it_made(result: Built, named: str, quality: Quality) -> None:
    assert grade_build(result, named)[0] is quality


def outcome(
    passed: int | None, failed: int = 0, skipped: int = 0, verdict: bool | None = None, has_named: bool = False
) -> system.Tested:
    ok = failed == 0 if verdict is None else verdict
    counts = None if passed is None else OutcomeCounts(passed, failed, skipped)
    return system.Tested("ctest", "ctest", ok, counts, has_named, says="parser")


@pytest.mark.parametrize(("passed", "note"), [(1, "1 test passes (ctest)"), (2, "all 2 tests pass (ctest)")])
def test_tests_that_pass_are_counted(passed: int, note: str) -> None:
    assert grade_tests(outcome(passed), "") == (Q.STRONG, note)


@pytest.mark.parametrize(
    ("result", "named", "quality"),
    [
        (outcome(0), "", Q.WEAK),  # 0 tests run
        (outcome(0, skipped=3), "", Q.WEAK),
        (outcome(0, failed=2), "", Q.STRONG),  # that they fail
        (outcome(3, failed=2), "", Q.STRONG),
        (outcome(3, failed=2), "parser", Q.MODERATE),  # fails, but none is known to be of the target
        (outcome(3, verdict=False), "", Q.STRONG),
        (outcome(None), "", Q.MODERATE),  # nobody counted
        (outcome(None, verdict=False), "", Q.MODERATE),
        (outcome(1, skipped=9), "", Q.MODERATE),
        (outcome(5), "parser", Q.MODERATE),  # none of the target
        (outcome(5, has_named=True), "parser", Q.STRONG),
        (outcome(5, skipped=1), "", Q.STRONG),
    ],
)
def test_tests_are_graded_by_what_ran(result: system.Tested, named: str, quality: Quality) -> None:
    assert grade_tests(result, named)[0] is quality


@given(st.integers(0, 50) | st.none(), st.integers(0, 50), st.integers(0, 50), st.booleans(), st.booleans())
def test_a_failing_run_never_proves_that_it_passes_and_no_tool_says_verified(
    passed: int | None, failed: int, skipped: int, verdict: bool, has_named: bool
) -> None:
    tested = outcome(passed, failed, skipped, verdict, has_named)
    quality, note = grade_tests(tested, "")
    assert quality is not Q.VERIFIED
    assert note
    shows = Shows.FAILS if failed or not verdict else Shows.PASSES
    entry = Evidence(
        EvidenceClass.TEST, "ctest", "", "", quality, Strength.LOW, exact_match_count=tested.passed, shows=shows
    )
    if shows is Shows.FAILS:
        assert not entry.quality_for(Shows.PASSES).reaches(Q.STRONG)


@pytest.mark.parametrize(
    ("output", "counts"),
    [
        ("==== 3 passed, 1 failed, 2 skipped in 0.12s ====", OutcomeCounts(3, 1, 2)),
        ("1 failed, 2 passed, 1 error in 1.50s", OutcomeCounts(2, 2, 0)),
        ("no tests ran in 0.01s", OutcomeCounts(0)),
        ("2 deselected in 0.01s", OutcomeCounts(0)),
        ("\x1b[32m==== \x1b[32m\x1b[1m5 passed\x1b[0m\x1b[32m in 61.00s (0:01:01)\x1b[0m ====", OutcomeCounts(5)),
        ("100% tests passed, 0 tests failed out of 4\n", OutcomeCounts(4)),
        ("50% tests passed, 1 tests failed out of 2\n", OutcomeCounts(1, 1)),
        ("No tests were found!!!\n", OutcomeCounts(0)),
        (
            "test result: ok. 2 passed; 0 failed; 1 ignored;\ntest result: ok. 1 passed; 0 failed; 0 ignored;",
            OutcomeCounts(3, 0, 1),
        ),
        ("# tests 3\n# pass 2\n# fail 1\n# cancelled 0\n# skipped 0\n# todo 0\n", OutcomeCounts(2, 1)),
        ("ℹ tests 1\nℹ pass 1\nℹ fail 0\n", OutcomeCounts(1)),
        ("Tests:       1 failed, 2 passed, 3 total\n", OutcomeCounts(2, 1)),
        (" Test Files  1 passed (1)\n      Tests  4 passed (4)\n", OutcomeCounts(4)),
        ("  7 passing (12ms)\n  1 failing\n", OutcomeCounts(7, 1)),
        ("Ran 4 tests in 0.1s\n\nFAILED (failures=1, errors=1, skipped=1)", OutcomeCounts(1, 2, 1)),
        ("--- PASS: TestA (0.0s)\n--- FAIL: TestB (0.0s)\nFAIL\tx/y\t0.1s\n", OutcomeCounts(1, 1)),
        ("ok  \texample.org/x\t0.01s\n", OutcomeCounts(1)),
        ("[  PASSED  ] 3 tests.\n[  FAILED  ] 1 test, listed below:\n", OutcomeCounts(3, 1)),
        ("1..2\nok 1 - a\nnot ok 2 - b\n", OutcomeCounts(1, 1)),
        ("everything is fine", None),
        ("", None),
    ],
)
def test_counts_are_read_from_the_usual_runners(output: str, counts: OutcomeCounts | None) -> None:
    assert read_counts(output) == counts


@given(st.text())
def test_no_output_breaks_the_reading_of_counts(output: str) -> None:
    read_counts(output)


@pytest.mark.parametrize(
    ("question", "target", "named"),
    [
        (PASS, "", ""),
        ("Run the tests", "", ""),
        ("does the code compile?", "", ""),
        ("run `cargo test`", "", ""),
        ("Do all unit tests pass?", "test suite", ""),
        ("Does the target app build?", "", "app"),
        ("does `libfoo` build?", "", "libfoo"),
        ("do the tests for the parser pass?", "", "parser"),
        ("Do the parser tests pass?", "", "parser"),
        ("do the tests for the retry middleware pass?", "", "retry_middleware"),
        ("does it build?", "retry middleware", "retry_middleware"),
        ("Does the whole test suite of this repository pass?", "", ""),
        ("make sure everything compiles", "", ""),
        ("does npm run build work on main?", "", ""),
        ("run test_login", "", "test_login"),
        ("build parser", "", "parser"),
        ("does the app build?", "", ""),
        ("does it build?", "libfoo", "libfoo"),
        ("build `--eval=x`", "", ""),
        ("build `CC=evil`", "", ""),
    ],
)
def test_the_target_is_what_the_question_names(question: str, target: str, named: str) -> None:
    assert named_target(Ask(EvidenceClass.BUILD, target, Intent.EXECUTE, question)) == named


def test_to_change_something_the_whole_project_has_to_build() -> None:
    ask = Ask(EvidenceClass.BUILD, "HttpClient", Intent.MODIFY, "Add a retry to HttpClient")
    assert named_target(ask) == ""
