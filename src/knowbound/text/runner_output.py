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


def without_colours(output: str) -> str:
    """Return the output of a program without its escape sequences."""
    return _ANSI.sub("", output) if "\x1b" in output else output


def runner_summaries(text: str) -> list[RunnerSummary]:
    """Return every summary of a test runner in an output without colours."""
    return [found for words, read in _READERS if any(word in text for word in words) for found in read(text)]


def _count(text: str, *words: str) -> int:
    found = (re.search(rf"(\d[\d,]*) {word}", text) for word in words)
    return sum(int(one[1].replace(",", "")) for one in found if one)


def _pytest(text: str) -> Iterator[RunnerSummary]:
    for found in re.finditer(r"^(?:=+ )?((?:\d+ \w+, )*\d+ \w+|no tests ran)(?: in [\d.]+s.*)(?: =+)?$", text, re.M):
        summary = found[1]
        if re.search(r"\d (?:passed|failed|error|skipped|deselected|xfailed|warning)|no tests ran", summary):
            failed, skipped = _count(summary, "failed", "error"), _count(summary, "skipped", "xfailed")
            yield RunnerSummary("pytest", _count(summary, "passed"), failed, skipped)


def _unittest(text: str) -> Iterator[RunnerSummary]:
    for found in re.finditer(r"^Ran (\d+) tests? in [\d.]+s\s+(OK|FAILED|NO TESTS RAN)(.*)$", text, re.M):
        ran, skipped = int(found[1]), sum(map(int, re.findall(r"skipped=(\d+)", found[3])))
        failed = sum(map(int, re.findall(r"(?:failures|errors|unexpected successes)=(\d+)", found[3])))
        passed = ran - failed - skipped
        yield RunnerSummary("unittest", passed, failed or (1 if found[2] == "FAILED" else 0), skipped, ran)


def _jest(text: str) -> Iterator[RunnerSummary]:
    yield from _with_files("jest", r"^Test Suites:\s+(.*)$", r"^Tests:\s+(.*total.*)$", text)
    if re.search(r"^No tests found, exiting with code \d", text, re.M):
        yield RunnerSummary("jest", 0)


def _vitest(text: str) -> Iterator[RunnerSummary]:
    tests = r"^[ \t]*Tests\s{2,}(.*(?:passed|failed|skipped).*)$"
    yield from _with_files("vitest", r"^[ \t]*Test Files\s+(.*)$", tests, text)
    if re.search(r"^No test files found, exiting with code \d", text, re.M):
        yield RunnerSummary("vitest", 0)


def _with_files(runner: str, of_files: str, of_tests: str, text: str) -> Iterator[RunnerSummary]:
    """A file that cannot be loaded fails, and no test of it is counted."""
    files = re.findall(of_files, text, re.M)
    for summary in re.findall(of_tests, text, re.M):
        failed = _count(summary, "failed") or sum(_count(one, "failed") for one in files)
        yield RunnerSummary(runner, _count(summary, "passed"), failed, _count(summary, "skipped", "todo", "pending"))


def _bun(text: str) -> Iterator[RunnerSummary]:
    for found in re.finditer(r"^[ \t]*(?:(\d+) pass\s+)?(?:(\d+) skip\s+)?(?:(\d+) todo\s+)?(\d+) fail$", text, re.M):
        passed, skipped, todo, failed = (int(number or 0) for number in found.groups())
        yield RunnerSummary("bun test", passed, failed, skipped + todo)


def _go(text: str) -> Iterator[RunnerSummary]:
    """Go prints packages and the names of tests, and no number."""
    ok = re.findall(r"^ok\s+\S+\s+(?:[\d.]+s|\(cached\))(.*)$", text, re.M)
    failed = re.findall(r"^(?:FAIL\s+\S+|--- FAIL: \S+|FAIL$|panic: )", text, re.M)
    ran = [one for one in ok if "no tests to run" not in one]
    if failed:
        names = len([one for one in failed if one.startswith("---")])
        yield RunnerSummary("go test", None, names or len(failed))
    elif ok or re.search(r"^PASS$", text, re.M):
        empty = bool(ok and not ran) or (not ok and "no tests to run" in text)
        yield RunnerSummary("go test", None, ran=0 if empty else None)
    elif re.search(r"\[no test files\]", text):
        yield RunnerSummary("go test", None, ran=0)


def _gotestsum(text: str) -> Iterator[RunnerSummary]:
    for found in re.finditer(r"^DONE (\d+) tests?(.*) in [\d.]+s", text, re.M):
        failed = _count(found[2], "failure", "error")
        yield RunnerSummary("gotestsum", int(found[1]) - failed, failed)


def _cargo_test(text: str) -> Iterator[RunnerSummary]:
    found = re.findall(r"^test result: (ok|FAILED)\. (\d+) passed; (\d+) failed(?:; (\d+) ignored)?", text, re.M)
    if found:
        passed, failed, ignored = (sum(int(one[at] or 0) for one in found) for at in (1, 2, 3))
        yield RunnerSummary("cargo test", passed, failed or sum(one[0] == "FAILED" for one in found), ignored)
    for one in re.finditer(r"^\s*Summary \[.*?\] +(\d+) tests? run: (\d+) passed(.*)$", text, re.M):
        yield RunnerSummary("nextest", int(one[2]), _count(one[3], "failed"), _count(one[3], "skipped"))


def _mocha(text: str) -> Iterator[RunnerSummary]:
    for found in re.finditer(r"^[ \t]*(\d+) passing\b.*$", text, re.M):
        rest = text[found.end() :]
        failed, pending = (re.search(rf"^[ \t]*(\d+) {word}$", rest, re.M) for word in ("failing", "pending"))
        yield RunnerSummary("mocha", int(found[1]), int(failed[1]) if failed else 0, int(pending[1]) if pending else 0)


def _maven(text: str) -> Iterator[RunnerSummary]:
    found = re.findall(r"Tests run: (\d+), Failures: (\d+), Errors: (\d+)", text)
    if found:
        ran, failures, errors = map(int, found[-1])
        yield RunnerSummary("maven", ran - failures - errors, failures + errors)


def _ctest(text: str) -> Iterator[RunnerSummary]:
    # The line of a test alone: the list at the end names tests that did not run once more.
    skipped = len(re.findall(r"^\s*\d+/\d+ Test\b.*\*\*\*(?:Skipped|Not Run)", text, re.M))
    for failed, total in re.findall(r"\d+% tests passed, (\d+) tests? failed out of (\d+)", text):
        yield RunnerSummary("ctest", int(total) - int(failed), int(failed), skipped)
    if "No tests were found" in text:
        yield RunnerSummary("ctest", 0)


def _node(text: str) -> Iterator[RunnerSummary]:
    """Node's own runner, as TAP (`# pass 3`) or for people (`ℹ pass 3`)."""
    for found in re.finditer(
        r"^[#ℹ] pass (\d+)\s+^[#ℹ] fail (\d+)((?:\s+^[#ℹ] (?:cancelled|skipped|todo) \d+$)*)", text, re.M
    ):
        rest = dict(re.findall(r"(cancelled|skipped|todo) (\d+)", found[3]))
        failed = int(found[2]) + int(rest.get("cancelled", 0))
        skipped = int(rest.get("skipped", 0)) + int(rest.get("todo", 0))
        yield RunnerSummary("node --test", int(found[1]), failed, skipped)


def _phpunit(text: str) -> Iterator[RunnerSummary]:
    for ran in re.findall(r"^OK \((\d+) tests?", text, re.M):
        yield RunnerSummary("phpunit", int(ran))
    for ran, rest in re.findall(r"^Tests: (\d+), Assertions: \d+(.*)$", text, re.M):
        failed = sum(map(int, re.findall(r"(?:Failures|Errors): (\d+)", rest)))
        yield RunnerSummary("phpunit", int(ran) - failed, failed)


def _dotnet(text: str) -> Iterator[RunnerSummary]:
    for failed, passed in re.findall(r"^(?:Passed|Failed)!\s+- Failed:\s+(\d+), Passed:\s+(\d+)", text, re.M):
        yield RunnerSummary("dotnet test", int(passed), int(failed))


def _playwright(text: str) -> Iterator[RunnerSummary]:
    for found in re.finditer(r"^[ \t]+(\d+) passed \([\d.hms]+\)$", text, re.M):
        failed = re.search(r"^[ \t]+(\d+) failed$", text, re.M)
        yield RunnerSummary("playwright", int(found[1]), int(failed[1]) if failed else 0)


def _deno(text: str) -> Iterator[RunnerSummary]:
    for passed, failed in re.findall(r"^(?:ok|FAILED) \| (\d+) passed.*? \| (\d+) failed", text, re.M):
        yield RunnerSummary("deno test", int(passed), int(failed))


def _swift(text: str) -> Iterator[RunnerSummary]:
    found = re.findall(r"Executed (\d+) tests?, with (\d+) failures?", text)
    if found:
        ran, failed = map(int, found[-1])
        yield RunnerSummary("swift test", ran - failed, failed)


def _ran_and_failed(runner: str, pattern: str) -> Callable[[str], Iterator[RunnerSummary]]:
    """Return the reader of a line with the number of tests that ran and of those that failed."""

    def read(text: str) -> Iterator[RunnerSummary]:
        for ran, failed in re.findall(pattern, text, re.M):
            yield RunnerSummary(runner, int(ran) - int(failed), int(failed))

    return read


# By words that its output cannot be without: to look for those is much quicker than for a pattern.
_READERS: tuple[tuple[tuple[str, ...], Callable[[str], Iterator[RunnerSummary]]], ...] = (
    ((" passed", " failed", " error", "no tests ran", " skipped", " deselected"), _pytest),
    (("Ran ",), _unittest),
    (("Tests:", "No tests found"), _jest),
    (("Test Files", "Tests  ", "No test files"), _vitest),
    ((" fail",), _bun),
    (("ok  ", "ok\t", "FAIL", "PASS", "[no test"), _go),
    (("DONE ",), _gotestsum),
    (("test result:", "Summary ["), _cargo_test),
    ((" passing",), _mocha),
    (("Tests run:",), _maven),
    (("completed, ",), _ran_and_failed("gradle", r"^(\d+) tests? completed, (\d+) failed")),
    (("% tests passed", "No tests were found"), _ctest),
    (("# pass ", "ℹ pass "), _node),
    ((" example",), _ran_and_failed("rspec", r"^(\d+) examples?, (\d+) failures?")),
    (("OK (", "Assertions:"), _phpunit),
    (("Passed!", "Failed!"), _dotnet),
    ((" passed (",), _playwright),
    (("ok | ", "FAILED | "), _deno),
    (("Executed ",), _swift),
)
