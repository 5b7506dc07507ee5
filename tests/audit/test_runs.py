"""What a command line checked and how it ended: printed summaries first, exit codes only where they are its own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.audit.checks import printed_results
from knowbound.audit.runs import plan_of, runs_of
from knowbound.core.trace import Outcome, ToolCall, ToolKind

GO = "ok  \tshop/cart\t0.2s\nok  \tshop/tax\t(cached)\n"
BUN = " 12 pass\n 0 fail\n 30 expect() calls\nRan 12 tests across 3 files. [80.00ms]\n"


def call(command: str, output: str = "", outcome: Outcome = Outcome.OK) -> ToolCall:
    return ToolCall("c1", "Bash", ToolKind.SHELL, outcome, input={"command": command}, output=output, line=7)


def shown(command: str, output: str = "", outcome: Outcome = Outcome.OK) -> list[tuple[str, str]]:
    """Kinds and endings of the runs, in order."""
    found = runs_of(call(command, output, outcome), 1)
    return [("+".join(sorted(one.kinds)), one.ended.value) for one in found]


@pytest.mark.parametrize(
    ("command", "output", "expected"),
    [
        ("pytest -q", "5 passed in 0.12s", "passed"),
        ("python -m pytest", "==== 1 failed, 4 passed in 0.3s ====", "failed"),
        ("uv run pytest tests/a.py", "no tests ran in 0.01s", "nothing ran"),
        ("python3 -m unittest", "Ran 3 tests in 0.001s\n\nOK", "passed"),
        ("python3 -m unittest", "Ran 3 tests in 0.001s\n\nFAILED (failures=1)", "failed"),
        ("npx jest", "Tests:       1 failed, 4 passed, 5 total", "failed"),
        ("yarn test", "Tests:       5 passed, 5 total", "passed"),
        ("npx vitest run", " Test Files  1 passed (1)\n      Tests  4 passed (4)", "passed"),
        ("bun test", BUN, "passed"),
        ("bun run test 2>&1 | tail -4", BUN.replace("0 fail", "2 fail"), "failed"),
        ("go test ./...", GO, "passed"),
        ("go test ./...", GO + "FAIL\tshop/web\t0.1s\n", "failed"),
        ("go test ./...", "?   \tshop\t[no test files]\n", "nothing ran"),
        ("mise run test:ci 2>&1 | tail -20", GO, "passed"),
        ("cargo test", "test result: ok. 8 passed; 0 failed; 0 ignored", "passed"),
        ("cargo nextest run", "     Summary [   0.1s] 9 tests run: 8 passed, 1 failed", "failed"),
        ("npx mocha", "  3 passing (10ms)\n  1 failing", "failed"),
        ("mvn -q verify", "Tests run: 4, Failures: 0, Errors: 0\n[INFO] BUILD SUCCESS", "passed"),
        ("ctest", "100% tests passed, 0 tests failed out of 6", "passed"),
        ("ctest --test-dir build", "No tests were found!!!", "nothing ran"),
        ("node --test", "# tests 2\n# pass 2\n# fail 0", "passed"),
        ("bundle exec rspec", "4 examples, 1 failure", "failed"),
        ("vendor/bin/phpunit", "OK (7 tests, 9 assertions)", "passed"),
        ("dotnet test", "Passed!  - Failed:     0, Passed:     3", "passed"),
        ("npx playwright test", "  2 passed (1.2s)", "passed"),
        ("deno test", "ok | 3 passed | 0 failed (4ms)", "passed"),
        ("swift test", "Executed 4 tests, with 0 failures (0 unexpected) in 0.1 seconds", "passed"),
    ],
)
def test_a_printed_summary_of_a_test_runner_decides(command: str, output: str, expected: str) -> None:
    tests = [ended for kinds, ended in shown(command, output) if "test" in kinds]
    assert tests == [expected]


@pytest.mark.parametrize(
    ("command", "output", "outcome", "expected"),
    [
        ("npx tsc --noEmit", "src/a.ts(1,2): error TS2345: Argument", Outcome.ERROR, [("type check", "failed")]),
        ("npx eslint src", "✖ 3 problems (1 error, 2 warnings)", Outcome.ERROR, [("lint", "failed")]),
        ("ruff check .", "All checks passed!", Outcome.OK, [("lint", "passed")]),
        ("ruff check . | tail -2", "Found 2 errors.", Outcome.OK, [("lint", "failed")]),
        ("mypy src", "Success: no issues found in 4 source files", Outcome.OK, [("type check", "passed")]),
        ("golangci-lint run", "0 issues.", Outcome.OK, [("lint", "passed")]),
        ("cargo check", "    Finished `dev` profile [x] target(s) in 1.2s", Outcome.OK, [("build", "passed")]),
        ("make", "make: *** [all] Error 1", Outcome.ERROR, [("build", "failed")]),
        ("cmake --build build", "ninja: no work to do.", Outcome.OK, [("build", "nothing ran")]),
        ("go build ./... && go vet ./...", "", Outcome.OK, [("build", "passed"), ("lint", "passed")]),
        ("npx prettier --check .", "All matched files use Prettier code style!", Outcome.OK, [("format", "passed")]),
    ],
)  # fmt: skip
def test_builds_linters_and_type_checks(
    command: str, output: str, outcome: Outcome, expected: list[tuple[str, str]]
) -> None:
    assert shown(command, output, outcome) == expected


@pytest.mark.parametrize(
    "command", ["npm test | tail -5", "npm test; echo done", "npm test || true", "pytest | grep -c passed"]
)
def test_an_exit_code_that_is_another_programs_says_nothing(command: str) -> None:
    assert [ended for _, ended in shown(command, "1")] == ["unknown"]


def test_pipefail_makes_the_exit_code_its_own() -> None:
    assert ("test", "passed") in shown("set -o pipefail; npm test | tail -5", "fine")


def test_each_check_of_a_line_has_its_own_result() -> None:
    line = "bun run test 2>&1 | tail -4 && bun run lint 2>&1 | tail -3 && bun run typecheck 2>&1 | tail -3"
    output = BUN + "$ biome check\nChecked 9 files in 12ms. No fixes applied.\n$ tsc --noEmit\n"
    assert shown(line, output)[:3] == [("test", "passed"), ("lint", "passed"), ("type check", "passed")]


def test_a_commit_shows_what_its_hooks_ran() -> None:
    output = f"[main 1a2b3c4] Round totals\n{BUN}$ tsc --noEmit\n"
    assert shown("git commit -m 'Round totals'", output) == [("test", "passed"), ("type check", "passed")]


def test_a_summary_in_a_file_that_is_printed_is_no_run() -> None:
    assert shown("cat README.md", "5 passed in 0.12s") == []
    assert shown("git diff", "+5 passed in 0.12s\n5 passed in 0.12s") == []


def test_a_log_that_is_read_is_the_run_that_wrote_it() -> None:
    assert shown("tail -3 /tmp/test.log", "5 passed in 0.12s") == [("test", "passed")]


def test_a_tool_that_did_not_start_ran_nothing() -> None:
    assert shown("rtk bun run test 2>&1 | tail -20", "error: unrecognized subcommand 'bun'") == []
    assert shown("pytset", "bash: pytset: command not found", Outcome.ERROR) == []


def test_errors_that_tests_print_themselves_do_not_outweigh_their_summary() -> None:
    assert shown("bun run test 2>&1 | tail -30", f"error: Database connection failed\n{BUN}") == [("test", "passed")]


def test_a_failing_exit_code_outweighs_a_good_summary() -> None:
    assert shown("pytest --cov-fail-under=90", "5 passed in 0.12s", Outcome.ERROR) == [("test", "failed")]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("pytest", False), ("pytest -k login", True), ("pytest tests/test_a.py", True), ("go test ./...", False),
        ("go test -run TestTax ./tax", True), ("npx jest src/a.test.ts", True), ("npm test -- -t login", True),
        ("cargo test tax", True), ("cargo test", False), ("ctest -R tax", True), ("pnpm --filter web test", False),
    ],
)  # fmt: skip
def test_a_part_of_the_tests_is_known_as_such(command: str, expected: bool) -> None:
    (check,) = plan_of(command).checks
    assert check.checking.is_filtered is expected


@pytest.mark.parametrize(
    "command", ["git status", "ls src", "cd x", "npm install", "echo test", "test -f a", "rg pytest"]
)
def test_commands_that_check_nothing(command: str) -> None:
    assert plan_of(command).checks == ()


def test_env_prefixes_wrappers_and_folders_are_seen_through() -> None:
    (check,) = plan_of("cd web && CI=1 timeout 60 npx vitest run").checks
    assert (check.checking.tool, check.folder) == ("vitest", "web")


@pytest.mark.parametrize("outcome", [Outcome.REJECTED, Outcome.CANCELLED])
def test_a_rejected_call_ran_nothing(outcome: Outcome) -> None:
    assert shown("pytest", "5 passed in 0.12s", outcome) == []


@given(st.text(max_size=400))
def test_any_output_is_read(text: str) -> None:
    assert all(one.failed >= 0 for one in printed_results(text))


@given(st.text(max_size=200))
def test_any_command_line_is_read(text: str) -> None:
    assert isinstance(plan_of(text).checks, tuple)
