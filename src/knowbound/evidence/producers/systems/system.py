"""The interface of a build system: builds and tests a copy of the tree, and reports what happened."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from knowbound.core.evidence import Place
from knowbound.evidence.producers.workspace import Workspace
from knowbound.text.printable import one_line
from knowbound.text.runner_output import runner_summaries, without_colours


@dataclass(frozen=True, slots=True)
class Built:
    """What a build did."""

    tool: str
    command: str
    passed: bool
    made: tuple[str, ...] = ()  # what was built; empty: there was nothing to do
    has_named: bool = False  # the target that was asked for is among it
    failures: tuple[Place, ...] = ()
    says: str = ""  # what failed, in the tool's words
    partial: str = ""  # what of the project this build does not cover


class OutcomeCounts(NamedTuple):
    """Tests that ran, by outcome."""

    passed: int
    failed: int = 0
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Tested:
    """What a test run did."""

    tool: str
    command: str
    passed_all: bool  # the tool's own verdict
    counts: OutcomeCounts | None  # None: it does not say how many
    has_named: bool = False  # tests of the target that was asked for are among them
    failures: tuple[Place, ...] = ()
    says: str = ""

    @property
    def passed(self) -> int:
        """How many tests are known to have passed."""
        return self.counts.passed if self.counts else 0

    @property
    def ran(self) -> int:
        """How many tests are known to have passed or failed."""
        return self.passed + self.counts.failed if self.counts else 0


class System(Protocol):
    """A build system."""

    name: str
    manifests: tuple[str, ...]
    kind: str  # the kind of project it builds, as Discovery says it; "" for any
    words: tuple[str, ...]  # by which a question names it
    keeps: frozenset[str] = frozenset()  # folders that a copy needs and otherwise leaves behind

    def build(self, work: Workspace, named: str) -> Built:
        """Build the named target, or everything for ""."""
        ...

    def test(self, work: Workspace, named: str) -> Tested:
        """Run the tests of the named target, or all for ""."""
        ...


_COMPILER = re.compile(r"^(?P<path>[^\s:][^:\n]*):(?P<line>\d+)(?::\d+)?:\s*(?:fatal )?error\b:?\s*(?P<what>.*)", re.M)


def compiler_errors(text: str, work: Workspace) -> tuple[Place, ...]:
    """Places of errors that a compiler names as path:line: error, where they are in the tree."""
    return places_in(work, ((match["path"], int(match["line"]), match["what"]) for match in _COMPILER.finditer(text)))


def places_in(work: Workspace, found: Iterable[tuple[str, int, str]]) -> tuple[Place, ...]:
    """Paths of the copy as places of the tree; what is outside is left out."""
    places: dict[Place, None] = {}
    for path, line, what in found:
        try:
            relative = (work.root / path).resolve().relative_to(work.root.resolve())
        except (ValueError, OSError, RuntimeError):
            continue
        places[Place(relative.as_posix(), line, one_line(what))] = None
    return tuple(places)[:50]


def first_error(text: str) -> str:
    """The first line that mentions an error, else the last line there is."""
    lines = [line for line in text.splitlines() if line.strip()]
    errors = (line for line in lines if re.search(r"\berror\b|\*\*\*|\bERR!|\bfailed\b|Error:", line, re.I))
    return one_line(next(errors, lines[-1] if lines else ""))


def read_counts(output: str) -> OutcomeCounts | None:
    """Return how many tests ran, added over every runner that printed them; None where none did.

    Specification 3, part II, on Test: "0 tests passed with no failures" and "all 500 passed" must not look the same, so
    an exit code alone is never enough.
    """
    text = without_colours(output)
    printed = ((one.passed, one.failed, one.skipped) for one in runner_summaries(text))
    found = [OutcomeCounts(passed, failed, skipped) for passed, failed, skipped in printed if passed is not None]
    # These runners name every test; outside of a test run such lines would say nothing.
    found += [counts for read in (_go, _googletest, _tap) if (counts := read(text)) is not None]
    return OutcomeCounts(*map(sum, zip(*found, strict=True))) if found else None


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
