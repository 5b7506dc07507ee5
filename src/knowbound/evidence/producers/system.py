"""The interface of a build system, and the copy of the tree that it builds and tests (classes Build and Test).

The user's own files are never built in. The copy is bounded; no link leads out of it; histories, caches, environments
and earlier builds stay behind. Programs run there with a time limit, a home of their own and without the network where
their tool has an option for it. This limits accidents, it is no sandbox: that is why `--allow-run` has to be given.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol

from knowbound.core.evidence import Place
from knowbound.core.paths import IGNORED_IN_SOURCES, MADE_BY_TOOLS
from knowbound.evidence.producers.protocol import Context
from knowbound.files import copy_below
from knowbound.process import clean_environment, run
from knowbound.text.printable import counted, one_line
from knowbound.text.runner_output import runner_summaries, without_colours


@dataclass(frozen=True, slots=True)
class Built:
    """Outcome of a build."""

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
    """Outcome of a test run."""

    tool: str
    command: str
    passed_all: bool  # the tool's own verdict
    counts: OutcomeCounts | None  # None: it does not say how many
    has_named: bool = False  # tests of the target that was asked for are among them
    failures: tuple[Place, ...] = ()
    says: str = ""

    @property
    def passed(self) -> int:
        """Number of tests that are known to have passed."""
        return self.counts.passed if self.counts else 0

    @property
    def ran(self) -> int:
        """Number of tests that are known to have passed or failed."""
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


_MOST_FAILURES = 50  # places of a run
_COMPILER_ERROR = re.compile(
    r"^(?P<path>[^\s:][^:\n]*):(?P<line>\d+)(?::\d+)?:\s*(?:fatal )?error\b:?\s*(?P<what>.*)", re.M
)


def compiler_errors(text: str, work: Workspace) -> tuple[Place, ...]:
    """Return the places of the tree that a compiler names as `path:line: error`."""
    return places_in(
        work, ((match["path"], int(match["line"]), match["what"]) for match in _COMPILER_ERROR.finditer(text))
    )


def places_in(work: Workspace, found: Iterable[tuple[str, int, str]]) -> tuple[Place, ...]:
    """Return paths of the copy, with line and message, as places of the tree; paths outside are left out."""
    places: dict[Place, None] = {}  # each once, in order
    for path, line, message in found:
        try:
            relative = (work.root / path).resolve().relative_to(work.root.resolve())
        except (ValueError, OSError, RuntimeError):
            continue
        places[Place(relative.as_posix(), line, one_line(message))] = None
    return tuple(places)[:_MOST_FAILURES]


def first_error(text: str) -> str:
    """Return the first line that mentions an error, else the last line; "" without any."""
    lines = [line for line in text.splitlines() if line.strip()]
    errors = (line for line in lines if re.search(r"\berror\b|\*\*\*|\bERR!|\bfailed\b|Error:", line, re.I))
    return one_line(next(errors, lines[-1] if lines else ""))


def read_counts(output: str) -> OutcomeCounts | None:
    """Return how many tests ran, added over every runner that printed them; None where none did.

    Specification 3, part II, on Test: "0 tests passed with no failures" and "all 500 passed" must not look the same, so
    an exit code alone is never enough.
    """
    text = without_colours(output)
    printed = ((summary.passed, summary.failed, summary.skipped) for summary in runner_summaries(text))
    found = [OutcomeCounts(passed, failed, skipped) for passed, failed, skipped in printed if passed is not None]
    # These runners name every test; outside of a test run such lines would say nothing.
    found += [counts for read in (_go_counts, _googletest_counts, _tap_counts) if (counts := read(text)) is not None]
    return OutcomeCounts(*map(sum, zip(*found, strict=True))) if found else None


def _go_counts(text: str) -> OutcomeCounts | None:
    """Return Go's tests; without `-v`, which names them, its packages."""
    passed, failed, skipped = (len(re.findall(rf"^\s*--- {word}:", text, re.M)) for word in ("PASS", "FAIL", "SKIP"))
    if passed or failed:
        return OutcomeCounts(passed, failed, skipped)
    packages = len(re.findall(r"^ok\s+\S+\s+(?:[\d.]+s|\(cached\))(?!.*no tests to run)", text, re.M))
    broken = len(re.findall(r"^FAIL\s+\S+\s", text, re.M))
    return OutcomeCounts(packages, broken) if packages or broken else None


def _googletest_counts(text: str) -> OutcomeCounts | None:
    """Return the tests of GoogleTest's last lines, which name only the failures that there are."""
    passed = re.search(r"^\[  PASSED  \] (\d+) tests?", text, re.M)
    if not passed:
        return None
    failed = re.search(r"^\[  FAILED  \] (\d+) tests?", text, re.M)
    return OutcomeCounts(int(passed[1]), int(failed[1]) if failed else 0)


def _tap_counts(text: str) -> OutcomeCounts | None:
    """Return the tests of plain TAP output; None for node's, which its own summary counts."""
    if not re.search(r"^1\.\.\d+", text, re.M) or re.search(r"^[#ℹ] pass \d+$", text, re.M):
        return None
    skipped = len(re.findall(r"^ok\b.*# skip", text, re.M | re.I))
    passed, failed = len(re.findall(r"^ok\b", text, re.M)), len(re.findall(r"^not ok\b", text, re.M))
    return OutcomeCounts(passed - skipped, failed, skipped)


MOST_FILES = 100_000
MOST_BYTES = 1_000_000_000
_LEFT_BEHIND = IGNORED_IN_SOURCES | {"CMakeCache.txt", "CMakeFiles"}
_OFFLINE = {
    "CARGO_NET_OFFLINE": "true",
    "PIP_NO_INDEX": "1",
    "UV_OFFLINE": "1",
    "npm_config_offline": "true",
    "npm_config_audit": "false",
    "npm_config_fund": "false",
    "npm_config_update_notifier": "false",
    "PYTHONDONTWRITEBYTECODE": "1",
    "CI": "1",
}


class UnableError(Exception):
    """A build or test could not be tried to its end, and why."""


@dataclass(frozen=True, slots=True)
class Output:
    """Exit code and output of a program in the copy."""

    code: int
    out: bytes
    text: str  # standard output, then standard error


@dataclass(frozen=True, slots=True)
class Workspace:
    """The copy, and how to run something in it."""

    root: Path
    original: Path
    home: Path
    context: Context

    def run(self, *argv: str, env: Mapping[str, str] | None = None) -> Output:
        """Run a program in the copy. Raises UnableError if it has no outcome: not there, too long, too much output."""
        limits = self.context.limits
        seconds = min(limits.run_seconds, self.context.seconds_left)
        own = {"HOME": str(self.home), "TMPDIR": str(self.home), **_OFFLINE, **_toolchains(), **(env or {})}
        ran = run(argv, self.root, seconds, limits.output_bytes, environment=clean_environment(self.root, own))
        if ran.missing:
            raise UnableError(f"{Path(argv[0]).name} is not installed")
        if ran.timed_out:
            raise UnableError(f"{Path(argv[0]).name} did not finish within {seconds:.0f} s")
        if ran.cut:
            raise UnableError(f"{Path(argv[0]).name} printed more than {limits.output_bytes:,} bytes")
        if ran.code is None:
            raise UnableError(f"{Path(argv[0]).name} could not be started")
        return Output(ran.code, ran.out, self._with_tree_paths(ran.text + "\n" + ran.err.decode("utf-8", "replace")))

    def _with_tree_paths(self, text: str) -> str:
        """Return the output with paths of the tree in place of those of the copy, which is gone afterwards."""
        for folder, name in ((self.root, "."), (self.home, "~")):
            for path in dict.fromkeys((str(folder.resolve()), str(folder))):  # a temporary folder may be a link
                text = text.replace(f"{path}/", "" if name == "." else "~/").replace(path, name)
        return text

    def has(self, name: str) -> bool:
        """Report whether the copy has this file."""
        return (self.root / name).is_file()


def _toolchains() -> dict[str, str]:
    """Return the places of tools in the user's home, since the copy has a home of its own."""
    found = {name: os.environ[name] for name in ("CARGO_HOME", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN") if name in os.environ}
    cargo = shutil.which("cargo")
    if cargo and Path(cargo).parent.name == "bin":  # `~/.cargo/bin/cargo`
        cargo_home = Path(cargo).parent.parent
        rustup = cargo_home.parent / ".rustup"
        found.setdefault("CARGO_HOME", str(cargo_home))
        if rustup.is_dir():
            found.setdefault("RUSTUP_HOME", str(rustup))
    return found


@contextmanager
def workspace(context: Context, keep: frozenset[str] = frozenset()) -> Iterator[Workspace]:
    """Yield a copy of the tree for as long as the block lasts; `keep` names folders to copy that are otherwise left."""
    with tempfile.TemporaryDirectory(prefix="knowbound-", ignore_cleanup_errors=True) as temporary:
        copy, home = Path(temporary) / "tree", Path(temporary) / "home"
        home.mkdir()
        copy_tree(context.root, copy, keep)
        yield Workspace(copy, context.root, home, context)


def copy_tree(root: Path, copy: Path, keep: frozenset[str] = frozenset(), most_bytes: int = MOST_BYTES) -> None:
    """Copy files with their times and modes, and links that stay inside; nothing else."""
    inside = root.resolve()
    left_out = _LEFT_BEHIND - keep
    files, size = 0, 0
    folders = [""]
    while folders:
        folder = folders.pop()
        source = root / folder
        if folder and any(os.path.lexists(source / name) for name in MADE_BY_TOOLS):
            continue  # an environment or a cache, whatever its name
        (copy / folder).mkdir(parents=True)
        try:
            with os.scandir(source) as entries:
                kept = [entry for entry in entries if entry.name not in left_out]
        except OSError:  # unreadable: the build will say if it needs it
            continue
        for entry in kept:
            there = copy / folder / entry.name
            if entry.is_symlink():
                _copy_link(Path(entry.path), there, inside, copy)
            elif entry.is_dir(follow_symlinks=False):
                folders.append(os.path.join(folder, entry.name))
            elif entry.is_file(follow_symlinks=False):
                files, size = files + 1, size + entry.stat(follow_symlinks=False).st_size
                if files > MOST_FILES or size > most_bytes:
                    limit = f"{counted(MOST_FILES, 'file')} or {most_bytes:,} bytes"
                    raise UnableError(f"the tree is larger than {limit}: it is not copied, so nothing is run")
                _copy_file(root, os.path.join(folder, entry.name), there)


def _copy_file(root: Path, path: str, there: Path) -> None:
    try:
        copy_below(root, path, there)
    except OSError:  # unreadable, or gone meanwhile: the build will say if it needs it
        there.unlink(missing_ok=True)


def _copy_link(link: Path, there: Path, inside: Path, copy: Path) -> None:
    """Copy a link as a link to the same place in the copy, if it leads to something inside the tree."""
    try:
        target = link.resolve(strict=True).relative_to(inside)
        there.symlink_to(os.path.relpath(copy / target, there.parent))
    except (OSError, RuntimeError, ValueError):  # leads nowhere, in a circle, or out
        return
