"""Summaries that test runners print: how many tests passed, failed and were skipped.

A printed summary says more than an exit code, which a pipe into `tail` or `grep` replaces by its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class RunnerSummary(NamedTuple):
    """The tests of one run, as the runner printed them."""

    runner: str
    passed: int | None  # None: the runner prints no number
    failed: int = 0
    skipped: int = 0
    ran: int | None = None  # where the runner prints it; skipped tests are among them


_Reader = Callable[[str], Iterator[RunnerSummary]]


def without_colours(output: str) -> str:
    """Return the output of a program without its escape sequences."""
    return _ANSI.sub("", output) if "\x1b" in output else output


def runner_summaries(text: str) -> list[RunnerSummary]:
    """Return every summary of a test runner in an output without colours."""
    return [found for words, read in _READERS if any(word in text for word in words) for found in read(text)]


def _counted(text: str, *words: str) -> int:
    """Return the sum of the numbers before these words: 3 for `2 failed, 1 error`."""
    found = (re.search(rf"(\d[\d,]*) {word}", text) for word in words)
    return sum(int(found_count[1].replace(",", "")) for found_count in found if found_count)


def _pytest(text: str) -> Iterator[RunnerSummary]:
    """Yield the summaries of pytest: `3 passed, 1 failed in 0.12s`."""
    for found in re.finditer(r"^(?:=+ )?((?:\d+ \w+, )*\d+ \w+|no tests ran)(?: in [\d.]+s.*)(?: =+)?$", text, re.M):
        summary = found[1]
        if re.search(r"\d (?:passed|failed|error|skipped|deselected|xfailed|warning)|no tests ran", summary):
            failed, skipped = _counted(summary, "failed", "error"), _counted(summary, "skipped", "xfailed")
            yield RunnerSummary("pytest", _counted(summary, "passed"), failed, skipped)


def _unittest(text: str) -> Iterator[RunnerSummary]:
    """Yield the summaries of unittest: `Ran 3 tests in 0.1s` and the result below it."""
    for found in re.finditer(r"^Ran (\d+) tests? in [\d.]+s\s+(OK|FAILED|NO TESTS RAN)(.*)$", text, re.M):
        ran, skipped = int(found[1]), sum(map(int, re.findall(r"skipped=(\d+)", found[3])))
        failed = sum(map(int, re.findall(r"(?:failures|errors|unexpected successes)=(\d+)", found[3])))
        passed = ran - failed - skipped
        yield RunnerSummary("unittest", passed, failed or (1 if found[2] == "FAILED" else 0), skipped, ran)


def _go(text: str) -> Iterator[RunnerSummary]:
    """Yield the summary of Go, which prints packages and the names of failed tests, and no numbers."""
    ok = re.findall(r"^ok\s+\S+\s+(?:[\d.]+s|\(cached\))(.*)$", text, re.M)
    failed = re.findall(r"^(?:FAIL\s+\S+|--- FAIL: \S+|FAIL$|panic: )", text, re.M)
    ran = [package for package in ok if "no tests to run" not in package]
    if failed:
        names = len([failure for failure in failed if failure.startswith("---")])
        yield RunnerSummary("go test", None, names or len(failed))  # no name: packages that did not build
    elif ok or re.search(r"^PASS$", text, re.M):
        empty = bool(ok and not ran) or (not ok and "no tests to run" in text)
        yield RunnerSummary("go test", None, ran=0 if empty else None)
    elif re.search(r"\[no test files\]", text):
        yield RunnerSummary("go test", None, ran=0)


def _gotestsum(text: str) -> Iterator[RunnerSummary]:
    for found in re.finditer(r"^DONE (\d+) tests?(.*) in [\d.]+s", text, re.M):
        failed = _counted(found[2], "failure", "error")
        yield RunnerSummary("gotestsum", int(found[1]) - failed, failed)


def _cargo_test(text: str) -> Iterator[RunnerSummary]:
    """Yield the sum of the crates that `cargo test` ran, and the summaries of `cargo nextest`."""
    found = re.findall(r"^test result: (ok|FAILED)\. (\d+) passed; (\d+) failed(?:; (\d+) ignored)?", text, re.M)
    if found:
        passed, failed, ignored = (sum(int(result[at] or 0) for result in found) for at in (1, 2, 3))
        yield RunnerSummary("cargo test", passed, failed or sum(result[0] == "FAILED" for result in found), ignored)
    for summary in re.finditer(r"^\s*Summary \[.*?\] +(\d+) tests? run: (\d+) passed(.*)$", text, re.M):
        yield RunnerSummary("nextest", int(summary[2]), _counted(summary[3], "failed"), _counted(summary[3], "skipped"))


def _mocha(text: str) -> Iterator[RunnerSummary]:
    """Yield the summaries of Mocha: `3 passing`, with `1 failing` and `1 pending` below it."""
    for found in re.finditer(r"^[ \t]*(\d+) passing\b.*$", text, re.M):
        rest = text[found.end() :]
        failed, pending = (re.search(rf"^[ \t]*(\d+) {word}$", rest, re.M) for word in ("failing", "pending"))
        yield RunnerSummary("mocha", int(found[1]), int(failed[1]) if failed else 0, int(pending[1]) if pending else 0)


def _ctest(text: str) -> Iterator[RunnerSummary]:
    """Yield the summaries of CTest, which prints the failed tests and all tests."""
    # The line of a test alone: the list at the end names tests that did not run once more.
    skipped = len(re.findall(r"^\s*\d+/\d+ Test\b.*\*\*\*(?:Skipped|Not Run)", text, re.M))
    for failed, total in re.findall(r"\d+% tests passed, (\d+) tests? failed out of (\d+)", text):
        yield RunnerSummary("ctest", int(total) - int(failed), int(failed), skipped)
    if "No tests were found" in text:
        yield RunnerSummary("ctest", 0)


def _playwright(text: str) -> Iterator[RunnerSummary]:
    for found in re.finditer(r"^[ \t]+(\d+) passed \([\d.hms]+\)$", text, re.M):
        failed = re.search(r"^[ \t]+(\d+) failed$", text, re.M)
        yield RunnerSummary("playwright", int(found[1]), int(failed[1]) if failed else 0)


def _reader_of(runner: str, pattern: str, *, last: bool = False) -> _Reader:
    """Return the reader of lines whose groups are counts: `ran` or `passed`, `failed`, `errors`, `skipped`, `todo`."""

    def read(text: str) -> Iterator[RunnerSummary]:
        found = list(re.finditer(pattern, text, re.M))
        for match in found[-1:] if last else found:  # it has the sum
            counts = {name: int(number or 0) for name, number in match.groupdict().items()}
            failed = counts.get("failed", 0) + counts.get("errors", 0)
            passed = counts["ran"] - failed if "ran" in counts else counts["passed"]
            yield RunnerSummary(runner, passed, failed, counts.get("skipped", 0) + counts.get("todo", 0))

    return read


def _reader_with_files(runner: str, of_files: str, of_tests: str, none_found: str) -> _Reader:
    """Return the reader of summaries of tests and their files.

    Files that fail count if no test failed: a file that cannot be loaded has no tests.
    """

    def read(text: str) -> Iterator[RunnerSummary]:
        files = re.findall(of_files, text, re.M)
        for summary in re.findall(of_tests, text, re.M):
            failed = _counted(summary, "failed") or sum(_counted(file, "failed") for file in files)
            skipped = _counted(summary, "skipped", "todo", "pending")
            yield RunnerSummary(runner, _counted(summary, "passed"), failed, skipped)
        if re.search(rf"^{none_found}, exiting with code \d", text, re.M):
            yield RunnerSummary(runner, 0)

    return read


_JEST = (r"^Test Suites:\s+(.*)$", r"^Tests:\s+(.*total.*)$", "No tests found")
_VITEST = (
    r"^[ \t]*Test Files\s+(.*)$",
    r"^[ \t]*Tests\s{2,}(.*(?:passed|failed|skipped).*)$",
    "No test files found",
)
_BUN = (
    r"^[ \t]*(?:(?P<passed>\d+) pass\s+)?(?:(?P<skipped>\d+) skip\s+)?(?:(?P<todo>\d+) todo\s+)?(?P<failed>\d+) fail$"
)
_NODE = (  # Node's own runner, as TAP (`# pass 3`) or for people (`ℹ pass 3`)
    r"^[#ℹ] pass (?P<passed>\d+)\s+^[#ℹ] fail (?P<failed>\d+)"
    r"(?:\s+^[#ℹ] (?:cancelled (?P<errors>\d+)|skipped (?P<skipped>\d+)|todo (?P<todo>\d+))$)*"
)
_PHPUNIT = r"^Tests: (?P<ran>\d+), Assertions: \d+(?:, (?:Errors: (?P<errors>\d+)|Failures: (?P<failed>\d+)|[^,\n]*))*"
_MAVEN = r"Tests run: (?P<ran>\d+), Failures: (?P<failed>\d+), Errors: (?P<errors>\d+)"
_DOTNET = r"^(?:Passed|Failed)!\s+- Failed:\s+(?P<failed>\d+), Passed:\s+(?P<passed>\d+)"
_DENO = r"^(?:ok|FAILED) \| (?P<passed>\d+) passed.*? \| (?P<failed>\d+) failed"
_SWIFT = r"Executed (?P<ran>\d+) tests?, with (?P<failed>\d+) failures?"
# By words that its output cannot be without: to look for those is much quicker than for a pattern.
_READERS: tuple[tuple[tuple[str, ...], _Reader], ...] = (
    ((" passed", " failed", " error", "no tests ran", " skipped", " deselected"), _pytest),
    (("Ran ",), _unittest),
    (("Tests:", "No tests found"), _reader_with_files("jest", *_JEST)),
    (("Test Files", "Tests  ", "No test files"), _reader_with_files("vitest", *_VITEST)),
    ((" fail",), _reader_of("bun test", _BUN)),
    (("ok  ", "ok\t", "FAIL", "PASS", "[no test"), _go),
    (("DONE ",), _gotestsum),
    (("test result:", "Summary ["), _cargo_test),
    ((" passing",), _mocha),
    (("Tests run:",), _reader_of("maven", _MAVEN, last=True)),
    (("completed, ",), _reader_of("gradle", r"^(?P<ran>\d+) tests? completed, (?P<failed>\d+) failed")),
    (("% tests passed", "No tests were found"), _ctest),
    (("# pass ", "ℹ pass "), _reader_of("node --test", _NODE)),
    ((" example",), _reader_of("rspec", r"^(?P<ran>\d+) examples?, (?P<failed>\d+) failures?")),
    (("OK (",), _reader_of("phpunit", r"^OK \((?P<ran>\d+) tests?")),
    (("Assertions:",), _reader_of("phpunit", _PHPUNIT)),
    (("Passed!", "Failed!"), _reader_of("dotnet test", _DOTNET)),
    ((" passed (",), _playwright),
    (("ok | ", "FAILED | "), _reader_of("deno test", _DENO)),
    (("Executed ",), _reader_of("swift test", _SWIFT, last=True)),
)
