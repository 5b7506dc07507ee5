"""How a check ended, read from what it printed: the summaries of test runners, compilers and linters.

A printed summary says more than an exit code, which a pipe into `tail` or `grep` replaces by its own.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import StrEnum

import msgspec

from knowbound.audit.runs.programs import Check
from knowbound.text.printable import both_ends


class Ended(StrEnum):
    """How a check ended."""

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
_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


def printed_results(output: str) -> list[Printed]:
    """Every result in an output, by tool."""
    text = both_ends(output, _LONGEST, "\n")
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    return [result for words, read in _READERS if any(word in text for word in words) for result in read(text)]


def _count(text: str, word: str) -> int:
    found = re.search(rf"(\d[\d,]*) {word}", text)
    return int(found[1].replace(",", "")) if found else 0


def _tests(tool: str, passed: int, failed: int, ran: int | None = None) -> Printed:
    total = passed + failed if ran is None else ran
    ended = Ended.FAILED if failed else Ended.PASSED if total else Ended.EMPTY
    return Printed(tool, Check.TEST, ended, passed, failed)


def _pytest(text: str) -> Iterator[Printed]:
    for found in re.finditer(r"^(?:=+ )?((?:\d+ \w+, )*\d+ \w+|no tests ran)(?: in [\d.]+s.*)(?: =+)?$", text, re.M):
        summary = found[1]
        if re.search(r"\d (?:passed|failed|error|skipped|deselected|xfailed|warning)|no tests ran", summary):
            failed = _count(summary, "failed") + _count(summary, "error")
            yield _tests("pytest", _count(summary, "passed"), failed)


def _unittest(text: str) -> Iterator[Printed]:
    for found in re.finditer(r"^Ran (\d+) tests? in [\d.]+s\s+(OK|FAILED|NO TESTS RAN)(.*)$", text, re.M):
        failed = sum(map(int, re.findall(r"(?:failures|errors)=(\d+)", found[3])))
        yield _tests("unittest", int(found[1]) - failed, failed or (1 if found[2] == "FAILED" else 0), int(found[1]))


def _jest(text: str) -> Iterator[Printed]:
    suites = re.findall(r"^Test Suites:\s+(.*)$", text, re.M)
    for summary in re.findall(r"^Tests:\s+(.*total.*)$", text, re.M):
        failed = _count(summary, "failed") or sum(_count(one, "failed") for one in suites)
        yield _tests("jest", _count(summary, "passed"), failed)


def _vitest(text: str) -> Iterator[Printed]:
    files = re.findall(r"^[ \t]*Test Files\s+(.*)$", text, re.M)
    for summary in re.findall(r"^[ \t]*Tests\s{2,}(.*(?:passed|failed|skipped).*)$", text, re.M):
        failed = _count(summary, "failed") or sum(_count(one, "failed") for one in files)
        yield _tests("vitest", _count(summary, "passed"), failed)


def _bun(text: str) -> Iterator[Printed]:
    for found in re.finditer(r"^[ \t]*(?:(\d+) pass\s+)?(?:(\d+) skip\s+)?(?:(\d+) todo\s+)?(\d+) fail$", text, re.M):
        yield _tests("bun test", int(found[1] or 0), int(found[4]))


def _go(text: str) -> Iterator[Printed]:
    ok = re.findall(r"^ok\s+\S+\s+(?:[\d.]+s|\(cached\))(.*)$", text, re.M)
    failed = re.findall(r"^(?:FAIL\s+\S+|--- FAIL: \S+|FAIL$|panic: )", text, re.M)
    ran = [one for one in ok if "no tests to run" not in one]
    if failed:
        names = len([one for one in failed if one.startswith("---")])
        yield Printed("go test", Check.TEST, Ended.FAILED, None, names or len(failed))
    elif ok or re.search(r"^PASS$", text, re.M):
        empty = bool(ok and not ran) or (not ok and "no tests to run" in text)
        yield Printed("go test", Check.TEST, Ended.EMPTY if empty else Ended.PASSED)
    elif re.search(r"\[no test files\]", text):
        yield Printed("go test", Check.TEST, Ended.EMPTY)


def _gotestsum(text: str) -> Iterator[Printed]:
    for found in re.finditer(r"^DONE (\d+) tests?(.*) in [\d.]+s", text, re.M):
        failed = _count(found[2], "failure") + _count(found[2], "error")
        yield _tests("gotestsum", int(found[1]) - failed, failed)


def _cargo_test(text: str) -> Iterator[Printed]:
    found = re.findall(r"^test result: (ok|FAILED)\. (\d+) passed; (\d+) failed", text, re.M)
    if found:
        failed = sum(int(one[2]) for one in found) or sum(one[0] == "FAILED" for one in found)
        yield _tests("cargo test", sum(int(one[1]) for one in found), failed)
    for one in re.finditer(r"^\s*Summary \[.*?\] +(\d+) tests? run: (\d+) passed(.*)$", text, re.M):
        yield _tests("nextest", int(one[2]), _count(one[3], "failed"))


def _mocha(text: str) -> Iterator[Printed]:
    for found in re.finditer(r"^[ \t]*(\d+) passing\b.*$", text, re.M):
        failed = re.search(r"^[ \t]*(\d+) failing$", text[found.end() :], re.M)
        yield _tests("mocha", int(found[1]), int(failed[1]) if failed else 0)


def _maven(text: str) -> Iterator[Printed]:
    found = re.findall(r"Tests run: (\d+), Failures: (\d+), Errors: (\d+)", text)
    if found:
        ran, *bad = map(int, found[-1])
        failed = sum(bad)
        yield _tests("maven", ran - failed, failed)
    for word in re.findall(r"^(?:\[\w+\] )?BUILD (SUCCESSFUL|SUCCESS|FAILED|FAILURE)\b", text, re.M):
        yield Printed("build", Check.BUILD, Ended.FAILED if word.startswith("FAIL") else Ended.PASSED)


def _gradle_tests(text: str) -> Iterator[Printed]:
    for ran, failed in re.findall(r"^(\d+) tests? completed, (\d+) failed", text, re.M):
        yield _tests("gradle", int(ran) - int(failed), int(failed))


def _ctest(text: str) -> Iterator[Printed]:
    for failed, total in re.findall(r"\d+% tests passed, (\d+) tests? failed out of (\d+)", text):
        yield _tests("ctest", int(total) - int(failed), int(failed))
    if "No tests were found" in text:
        yield Printed("ctest", Check.TEST, Ended.EMPTY, 0)


def _node(text: str) -> Iterator[Printed]:
    for found in re.finditer(r"^(?:#|ℹ) pass (\d+)\s+^(?:#|ℹ) fail (\d+)", text, re.M):
        yield _tests("node --test", int(found[1]), int(found[2]))


def _rspec(text: str) -> Iterator[Printed]:
    for ran, failed in re.findall(r"^(\d+) examples?, (\d+) failures?", text, re.M):
        yield _tests("rspec", int(ran) - int(failed), int(failed))


def _phpunit(text: str) -> Iterator[Printed]:
    for ran in re.findall(r"^OK \((\d+) tests?", text, re.M):
        yield _tests("phpunit", int(ran), 0)
    for ran, rest in re.findall(r"^Tests: (\d+), Assertions: \d+(.*)$", text, re.M):
        failed = sum(map(int, re.findall(r"(?:Failures|Errors): (\d+)", rest)))
        yield _tests("phpunit", int(ran) - failed, failed)


def _dotnet(text: str) -> Iterator[Printed]:
    for failed, passed in re.findall(r"^(?:Passed|Failed)!\s+- Failed:\s+(\d+), Passed:\s+(\d+)", text, re.M):
        yield _tests("dotnet test", int(passed), int(failed))
    if found := re.search(r"^Build (succeeded|FAILED)", text, re.M):
        yield Printed("dotnet", Check.BUILD, Ended.PASSED if found[1] == "succeeded" else Ended.FAILED)


def _playwright(text: str) -> Iterator[Printed]:
    for found in re.finditer(r"^[ \t]+(\d+) passed \([\d.hms]+\)$", text, re.M):
        failed = re.search(r"^[ \t]+(\d+) failed$", text, re.M)
        yield _tests("playwright", int(found[1]), int(failed[1]) if failed else 0)


def _deno(text: str) -> Iterator[Printed]:
    for passed, failed in re.findall(r"^(?:ok|FAILED) \| (\d+) passed.*? \| (\d+) failed", text, re.M):
        yield _tests("deno test", int(passed), int(failed))


def _swift(text: str) -> Iterator[Printed]:
    found = re.findall(r"Executed (\d+) tests?, with (\d+) failures?", text)
    if found:
        ran, failed = map(int, found[-1])
        yield _tests("swift test", ran - failed, failed)


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
    ((" passed", " failed", " error", "no tests ran", " skipped", " deselected"), _pytest),
    (("\nRan ", "Ran "), _unittest),
    (("Tests:",), _jest),
    (("Test Files", "Tests  "), _vitest),
    ((" fail",), _bun),
    (("ok  ", "ok\t", "FAIL", "PASS", "[no test"), _go),
    (("DONE ",), _gotestsum),
    (("test result:", "Summary ["), _cargo_test),
    ((" passing",), _mocha),
    (("Tests run:", "BUILD "), _maven),
    (("completed, ",), _gradle_tests),
    (("% tests passed", "No tests were found"), _ctest),
    (("# pass ", "ℹ pass "), _node),
    ((" example",), _rspec),
    (("OK (", "Assertions:"), _phpunit),
    (("Passed!", "Failed!", "Build succeeded", "Build FAILED"), _dotnet),
    ((" passed (",), _playwright),
    (("ok | ", "FAILED | "), _deno),
    (("Executed ",), _swift),
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
