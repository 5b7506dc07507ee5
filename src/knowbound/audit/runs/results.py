"""The end of a check, read from its output: results of test runners, compilers and linters.

A printed summary says more than an exit code, which a pipe into `tail` or `grep` replaces by its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import StrEnum

import msgspec

from knowbound.audit.runs.programs import Check
from knowbound.text.printable import both_ends
from knowbound.text.runner_output import RunnerSummary, runner_summaries, without_colours


class Ended(StrEnum):
    """End of a check."""

    PASSED = "passed"
    FAILED = "failed"
    EMPTY = "nothing ran"
    UNKNOWN = "unknown"


class Printed(msgspec.Struct, frozen=True):
    """The result that a tool printed."""

    tool: str
    kind: Check
    ended: Ended
    passed: int | None = None
    failed: int = 0


_LONGEST = 400_000  # characters of an output that are read: its start and its end


def printed_results(output: str) -> list[Printed]:
    """Every result in an output, by tool."""
    text = without_colours(both_ends(output, _LONGEST, "\n"))
    others = [result for words, read in _READERS if any(word in text for word in words) for result in read(text)]
    return [*map(_of_tests, runner_summaries(text)), *others]


def _of_tests(summary: RunnerSummary) -> Printed:
    counted = summary.passed if summary.ran is None else summary.ran
    ended = Ended.FAILED if summary.failed else Ended.EMPTY if counted == 0 else Ended.PASSED
    passed = summary.passed
    if passed is not None and summary.ran is not None:  # a skipped test did not fail
        passed = summary.ran - summary.failed
    return Printed(summary.runner, Check.TEST, ended, passed, summary.failed)


def _build_tools(text: str) -> Iterator[Printed]:
    """Maven, Gradle and .NET."""
    for word in re.findall(r"^(?:\[\w+\] )?BUILD (SUCCESSFUL|SUCCESS|FAILED|FAILURE)\b", text, re.M):
        yield Printed("build", Check.BUILD, Ended.FAILED if word.startswith("FAIL") else Ended.PASSED)
    if found := re.search(r"^Build (succeeded|FAILED)", text, re.M):
        yield Printed("dotnet", Check.BUILD, Ended.PASSED if found[1] == "succeeded" else Ended.FAILED)


def _tsc(text: str) -> Iterator[Printed]:
    errors = len(re.findall(r"error TS\d+:", text))
    found = re.search(r"^Found (\d+) errors? in\b", text, re.M)
    if errors:
        yield Printed("tsc", Check.TYPES, Ended.FAILED, None, errors)
    elif found:
        yield Printed("type check", Check.TYPES, Ended.FAILED if int(found[1]) else Ended.PASSED, None, int(found[1]))


def _mypy(text: str) -> Iterator[Printed]:
    if re.search(r"^Success: no issues found in \d+", text, re.M):
        yield Printed("mypy", Check.TYPES, Ended.PASSED)
    for errors in re.findall(r"^(\d+) errors?, \d+ warnings?", text, re.M):
        yield Printed("pyright", Check.TYPES, Ended.FAILED if int(errors) else Ended.PASSED, None, int(errors))


def _linters(text: str) -> Iterator[Printed]:
    if "✖" in text:
        for errors in re.findall(r"^✖ \d+ problems? \((\d+) errors?", text, re.M):
            yield Printed("eslint", Check.LINT, Ended.FAILED if int(errors) else Ended.PASSED, None, int(errors))
    if " issue" in text:
        for number in re.findall(r"^(\d+) issues?[.:]", text, re.M):
            ended = Ended.FAILED if int(number) else Ended.PASSED
            yield Printed("golangci-lint", Check.LINT, ended, None, int(number))
    if "All checks passed!" in text:
        yield Printed("ruff", Check.LINT, Ended.PASSED)
    if "Found " in text and (found := re.search(r"^Found (\d+) errors?(?: \(.*\)|\.)?$", text, re.M)):
        yield Printed("linter", Check.LINT, Ended.FAILED if int(found[1]) else Ended.PASSED, None, int(found[1]))
    if "Checked " in text and re.search(r"^Checked \d+ files? in [\d.]+\w+\.", text, re.M):
        bad = "Some errors were emitted" in text or "Some warnings were emitted" in text
        yield Printed("biome", Check.LINT, Ended.FAILED if bad else Ended.PASSED)
    if "All matched files use Prettier code style" in text:
        yield Printed("prettier", Check.FORMAT, Ended.PASSED)
    elif "Code style issues" in text:
        yield Printed("prettier", Check.FORMAT, Ended.FAILED)


_FINISHED = r"^[ \t]*Finished (?:`?\w+`? profile|dev|release|test)\b.*target\(s\)"


def _builders(text: str) -> Iterator[Printed]:
    is_rust = "could not compile" in text or "aborting due to" in text
    if is_rust and re.search(r"^error(?:\[E\d+\])?: (?:could not compile|aborting due to)", text, re.M):
        yield Printed("cargo", Check.BUILD, Ended.FAILED)
    elif "target(s)" in text and re.search(_FINISHED, text, re.M):
        yield Printed("cargo", Check.BUILD, Ended.PASSED)
    good = "built in" in text or "ompiled successfully" in text or "Build complete!" in text
    if good and re.search(r"✓ built in [\d.]+m?s|\b[Cc]ompiled successfully\b|^Build complete!", text, re.M):
        yield Printed("build", Check.BUILD, Ended.PASSED)
    idle = "no work to do" in text or "Nothing to be done" in text or "is up to date." in text
    if idle and re.search(r"^ninja: no work to do|^make(?:\[\d\])?: Nothing to be done|is up to date\.$", text, re.M):
        yield Printed("make", Check.BUILD, Ended.EMPTY)
    bad = "***" in text or "build stopped" in text or "Failed to compile" in text or "Build failed" in text
    if bad and re.search(
        r"^g?make(?:\[\d+\])?: \*\*\* |^ninja: build stopped|Failed to compile|\bBuild failed\b", text, re.M
    ):
        yield Printed("build", Check.BUILD, Ended.FAILED)


# By words that its output cannot be without: to look for those is much quicker than for a pattern.
_READERS: tuple[tuple[tuple[str, ...], Callable[[str], Iterator[Printed]]], ...] = (
    (("BUILD ", "Build succeeded", "Build FAILED"), _build_tools),
    (("error TS", "Found "), _tsc),
    (("no issues found", " warning"), _mypy),
    (("problem", " issue", "checks passed!", "Found ", "Checked ", "code style", "Code style"), _linters),
    (
        (
            "compile",
            "Finished ",
            "built in",
            "Build ",
            "no work to do",
            "Nothing to be",
            "up to date.",
            "make: ***",
            "make[",
            "build stopped",
            "aborting due",
        ),
        _builders,
    ),
)
