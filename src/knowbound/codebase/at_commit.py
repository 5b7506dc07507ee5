"""A checkout as of a commit, read from git's objects: nothing is checked out."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from knowbound.codebase.checkout import LARGEST, MOST_OUTPUT, SECONDS, Checkout, TreeLine
from knowbound.core.paths import IGNORED_IN_SOURCES
from knowbound.errors import InputError
from knowbound.git import run_git
from knowbound.process import Ran


class CommitCheckout(Checkout):
    """The files of one commit. What later commits did is not known here."""

    def __init__(self, root: Path, commit: str) -> None:
        """Raises InputError if there is no such commit."""
        super().__init__(root)
        ran = run_git(
            root,
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            f"{commit}^{{commit}}",
            seconds=SECONDS,
            output_bytes=200,
        )
        self._commit = ran.out.decode("ascii", "replace").strip()
        self._head = self._commit
        if ran.code != 0 or not self._commit:
            raise InputError("no-such-commit", f"There is no commit {commit!r} in {root}. Try: git fetch")

    @cached_property
    def commit(self) -> str:
        """The commit."""
        return self._commit[:12]

    @cached_property
    def _all(self) -> frozenset[str]:
        ran = run_git(
            self.root, "ls-tree", "-r", "-z", "--name-only", self._commit, seconds=SECONDS, output_bytes=MOST_OUTPUT
        )
        return frozenset(name for name in ran.out.decode("utf-8", "replace").split("\0") if name)

    @cached_property
    def files(self) -> frozenset[str]:
        """Every file of the commit that is searched."""
        return frozenset(name for name in self._all if IGNORED_IN_SOURCES.isdisjoint(name.split("/")))

    @cached_property
    def deleted(self) -> dict[str, str]:
        """Nothing: only the commit itself is looked at."""
        return {}

    def has(self, path: str) -> bool:
        """Report whether the commit has a file or folder."""
        path = path.strip("/")
        return path in self._all or path in self.folders

    def text(self, path: str) -> str:
        """Return the text of a file; "" if the commit has none, or too large a one."""
        if path not in self._texts:
            shown = ("cat-file", "blob", f"{self._commit}:{path}")
            ran = run_git(self.root, *shown, seconds=SECONDS, output_bytes=LARGEST) if path in self._all else None
            is_whole = ran is not None and ran.code == 0 and not ran.cut
            self._texts[path] = ran.out.decode("utf-8", "replace") if ran is not None and is_whole else ""
        return self._texts[path]

    def _search_files(self, name: str) -> Ran:
        given = ("grep", "-F", "-w", "-l", "-I", "-z", "--full-name", "-e", name, self._commit, "--")
        return run_git(self.root, *given, seconds=SECONDS, output_bytes=MOST_OUTPUT)

    def _in_tree(self, place: str) -> str:
        return place.partition(":")[2]

    def _lines_of(self, names: list[str], most_of_file: int) -> Iterator[tuple[str, TreeLine]]:
        """Yield the lines that have one of the names as a whole word."""
        options = ("-F", "-w", "-o", "-n", "-I", "-z", "--full-name", "--max-count", str(most_of_file))
        patterns = [part for name in names for part in ("-e", name)]
        given = ("grep", *options, *patterns, self._commit, "--")
        ran = run_git(self.root, *given, seconds=SECONDS, output_bytes=MOST_OUTPUT)
        self._note_end(names, ran)
        for line in ran.out.decode("utf-8", "replace").splitlines():
            place, *rest = line.split("\0")
            if len(rest) == 2 and rest[0].isdigit():
                yield rest[1], TreeLine(place.partition(":")[2], int(rest[0]))
