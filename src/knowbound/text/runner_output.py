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
        failed = _count(summary, "failed") or sum(_count(file, "failed") for file in files)
        yield RunnerSummary(runner, _count(summary, "passed"), failed, _count(summary, "skipped", "todo", "pending"))


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


def _ctest(text: str) -> Iterator[RunnerSummary]:
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


def _counts(runner: str, pattern: str, *, last: bool = False) -> Callable[[str], Iterator[RunnerSummary]]:
    """Return the reader of lines whose groups are counts: `ran` or `passed`, `failed`, `errors`, `skipped`, `todo`."""

    def read(text: str) -> Iterator[RunnerSummary]:
        found = list(re.finditer(pattern, text, re.M))
        for match in found[-1:] if last else found:
            one = {name: int(number or 0) for name, number in match.groupdict().items()}
            failed = one.get("failed", 0) + one.get("errors", 0)
            passed = one["ran"] - failed if "ran" in one else one["passed"]
            yield RunnerSummary(runner, passed, failed, one.get("skipped", 0) + one.get("todo", 0))

    return read


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
_READERS: tuple[tuple[tuple[str, ...], Callable[[str], Iterator[RunnerSummary]]], ...] = (
    ((" passed", " failed", " error", "no tests ran", " skipped", " deselected"), _pytest),
    (("Ran ",), _unittest),
    (("Tests:", "No tests found"), _jest),
    (("Test Files", "Tests  ", "No test files"), _vitest),
    ((" fail",), _counts("bun test", _BUN)),
    (("ok  ", "ok\t", "FAIL", "PASS", "[no test"), _go),
    (("DONE ",), _gotestsum),
    (("test result:", "Summary ["), _cargo_test),
    ((" passing",), _mocha),
    (("Tests run:",), _counts("maven", _MAVEN, last=True)),
    (("completed, ",), _counts("gradle", r"^(?P<ran>\d+) tests? completed, (?P<failed>\d+) failed")),
    (("% tests passed", "No tests were found"), _ctest),
    (("# pass ", "ℹ pass "), _counts("node --test", _NODE)),
    ((" example",), _counts("rspec", r"^(?P<ran>\d+) examples?, (?P<failed>\d+) failures?")),
    (("OK (",), _counts("phpunit", r"^OK \((?P<ran>\d+) tests?")),
    (("Assertions:",), _counts("phpunit", _PHPUNIT)),
    (("Passed!", "Failed!"), _counts("dotnet test", _DOTNET)),
    ((" passed (",), _playwright),
    (("ok | ", "FAILED | "), _counts("deno test", _DENO)),
    (("Executed ",), _counts("swift test", _SWIFT, last=True)),
)
