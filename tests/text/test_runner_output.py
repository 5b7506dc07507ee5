from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.text.runner_output import RunnerSummary, runner_summaries, without_colours


@pytest.mark.parametrize(
    ("output", "summary"),
    [
        ("=== 1 failed, 3 passed, 2 skipped, 1 xfailed in 0.3s ===", RunnerSummary("pytest", 3, 1, 3)),
        ("Ran 4 tests in 0.1s\n\nFAILED (failures=1, skipped=1)", RunnerSummary("unittest", 2, 1, 1, 4)),
        (" 3 pass\n 1 skip\n 2 fail", RunnerSummary("bun test", 3, 2, 1)),
        ("  3 passing (10ms)\n  2 pending\n  1 failing", RunnerSummary("mocha", 3, 1, 2)),
        ("# pass 2\n# fail 0\n# cancelled 1\n# skipped 3\n# todo 1", RunnerSummary("node --test", 2, 1, 4)),
        ("test result: FAILED. 1 passed; 1 failed; 2 ignored", RunnerSummary("cargo test", 1, 1, 2)),
        ("12 tests completed, 2 failed", RunnerSummary("gradle", 10, 2)),
        ("ok  \tshop/cart\t0.2s", RunnerSummary("go test", None)),
        ("?   \tshop\t[no test files]", RunnerSummary("go test", None, ran=0)),
        ("No tests found, exiting with code 0", RunnerSummary("jest", 0)),
        ("\nNo test files found, exiting with code 1\n", RunnerSummary("vitest", 0)),
    ],
)
def test_the_summary_of_a_runner_is_read(output: str, summary: RunnerSummary) -> None:
    assert runner_summaries(output) == [summary]


def test_two_runs_of_one_runner_are_two_summaries() -> None:
    assert [one.passed for one in runner_summaries("# pass 1\n# fail 0\n# pass 2\n# fail 0\n")] == [1, 2]


def test_colours_are_taken_out_first() -> None:
    assert without_colours("\x1b[32m5 passed\x1b[0m in 2.0s") == "5 passed in 2.0s"


@given(st.text(alphabet="0123456789 passedfilTeR:,;()\n#-=", max_size=300))
def test_any_output_is_read(text: str) -> None:
    assert all(one.failed >= 0 and one.skipped >= 0 for one in runner_summaries(text))
