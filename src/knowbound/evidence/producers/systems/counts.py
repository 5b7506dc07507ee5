"""How many tests ran, read from what the usual test runners print.

Specification 3, part II, on Test: "0 tests passed with no failures" and "all 500 passed" must not look the same, so an
exit code alone is never enough.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple


class OutcomeCounts(NamedTuple):
    """Tests that ran, by outcome."""

    passed: int
    failed: int = 0
    skipped: int = 0


_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PYTEST_END = re.compile(r"^=*\s*((?:\d+ \w+(?:, )?)+|no tests ran) in [\d.:]+s?\b.*$", re.M)
_FAILS = ("failed", "error", "errors", "failures", "xpassed(strict)")
_SKIPS = ("skipped", "xfailed", "ignored", "todo", "pending", "disabled", "cancelled")


def read_counts(output: str) -> OutcomeCounts | None:
    """The counts of whichever runner spoke; None if none did. Where several did, all of them are added."""
    text = _ANSI.sub("", output)
    found = [counts for read in _READERS if (counts := read(text)) is not None]
    return OutcomeCounts(*map(sum, zip(*found, strict=True))) if found else None


def _worded(text: str) -> OutcomeCounts:
    """Counts with their words: `3 passed, 1 failed, 2 skipped`."""
    totals = {word.lower(): int(number) for number, word in re.findall(r"(\d+) ([A-Za-z]+)", text)}
    return OutcomeCounts(
        totals.get("passed", 0),
        sum(totals.get(word, 0) for word in _FAILS),
        sum(totals.get(word, 0) for word in _SKIPS),
    )


def _pytest(text: str) -> OutcomeCounts | None:
    ends = _PYTEST_END.findall(text)
    return _worded(ends[-1]) if ends else None


def _ctest(text: str) -> OutcomeCounts | None:
    match = re.search(r"^\d+% tests passed, (\d+) tests? failed out of (\d+)", text, re.M)
    if match:
        failed, total = int(match[1]), int(match[2])
        skipped = len(re.findall(r"\*\*\*(?:Skipped|Not Run)", text)) + len(re.findall(r"\(Disabled\)", text))
        return OutcomeCounts(total - failed, failed, skipped)
    return OutcomeCounts(0) if "No tests were found!!!" in text else None


def _cargo(text: str) -> OutcomeCounts | None:
    results = re.findall(r"^test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", text, re.M)
    return OutcomeCounts(*(sum(map(int, column)) for column in zip(*results, strict=True))) if results else None


def _node(text: str) -> OutcomeCounts | None:
    """Node's own runner, as TAP (`# pass 3`) or for people (`ℹ pass 3`)."""
    values = dict(re.findall(r"^[#ℹ] (pass|fail|skipped|todo|cancelled) (\d+)$", text, re.M))
    if "pass" not in values:
        return None
    number = {name: int(value) for name, value in values.items()}
    failed = number.get("fail", 0) + number.get("cancelled", 0)
    return OutcomeCounts(number["pass"], failed, number.get("skipped", 0) + number.get("todo", 0))


def _jest_or_vitest(text: str) -> OutcomeCounts | None:
    match = re.search(r"^\s*Tests:?\s+(\d+ \w+.*)$", text, re.M)
    return _worded(match[1]) if match else None


def _mocha(text: str) -> OutcomeCounts | None:
    passing = re.search(r"^\s*(\d+) passing\b", text, re.M)
    if not passing:
        return None
    failing = re.search(r"^\s*(\d+) failing\b", text, re.M)
    pending = re.search(r"^\s*(\d+) pending\b", text, re.M)
    return OutcomeCounts(int(passing[1]), int(failing[1]) if failing else 0, int(pending[1]) if pending else 0)


def _unittest(text: str) -> OutcomeCounts | None:
    ran = re.search(r"^Ran (\d+) tests? in [\d.]+s\s+(OK|FAILED|NO TESTS RAN)(?: \((.*)\))?", text, re.M)
    if not ran:
        return None
    parts = {name: int(value) for name, value in re.findall(r"([a-z][a-z ]*)=(\d+)", ran[3] or "")}
    failed = parts.get("failures", 0) + parts.get("errors", 0) + parts.get("unexpected successes", 0)
    skipped = parts.get("skipped", 0)
    return OutcomeCounts(int(ran[1]) - failed - skipped, failed, skipped)


def _go(text: str) -> OutcomeCounts | None:
    passed, failed, skipped = (len(re.findall(rf"^\s*--- {word}:", text, re.M)) for word in ("PASS", "FAIL", "SKIP"))
    if passed or failed:
        return OutcomeCounts(passed, failed, skipped)
    packages = len(re.findall(r"^ok\s+\S+\s+(?:[\d.]+s|\(cached\))(?!.*no tests to run)", text, re.M))
    broken = len(re.findall(r"^FAIL\s+\S+\s", text, re.M))
    return OutcomeCounts(packages, broken) if packages or broken else None


def _googletest(text: str) -> OutcomeCounts | None:
    passed = re.search(r"^\[  PASSED  \] (\d+) tests?", text, re.M)
    if not passed:
        return None
    failed = re.search(r"^\[  FAILED  \] (\d+) tests?", text, re.M)
    return OutcomeCounts(int(passed[1]), int(failed[1]) if failed else 0)


def _tap(text: str) -> OutcomeCounts | None:
    """Plain TAP; node's is counted by its own summary."""
    if not re.search(r"^1\.\.\d+", text, re.M) or re.search(r"^[#ℹ] pass \d+$", text, re.M):
        return None
    skipped = len(re.findall(r"^ok\b.*# skip", text, re.M | re.I))
    passed, failed = len(re.findall(r"^ok\b", text, re.M)), len(re.findall(r"^not ok\b", text, re.M))
    return OutcomeCounts(passed - skipped, failed, skipped)


_READERS: tuple[Callable[[str], OutcomeCounts | None], ...] = (
    _pytest,
    _ctest,
    _cargo,
    _node,
    _jest_or_vitest,
    _mocha,
    _unittest,
    _go,
    _googletest,
    _tap,
)
