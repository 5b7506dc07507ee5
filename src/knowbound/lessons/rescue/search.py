"""The tree as rescue asks for it: names of files and folders in any spelling, and the lines that a pattern matches.

A search is bounded, and opens only files that have the words of its pattern.
"""

from __future__ import annotations

import re
import time
from functools import cached_property
from typing import NamedTuple

from knowbound.core.lazy_pattern import lazy
from knowbound.lessons.rescue.lookup import anywhere, branches, expression, needed_parts, plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from knowbound.codebase.kept_index import KeptTree

MOST_FILES = 150  # that are opened for one search
_MOST_LINES = 60  # matches that are kept of a file
_LONGEST_LINE = 1_000
_UNBOUNDED = lazy(r"(?<!\\)[*+]|\{\d*,\}")
_MOST_UNBOUNDED = 3  # in one branch: what Python's expressions may take time for
_NESTED = lazy(r"[*+}]\)?[*+{]|\)[*+{]")


class Hit(NamedTuple):
    """A line that matches, and which branches of the pattern it has."""

    path: str
    line: int
    text: str
    branches: frozenset[int]


class Matches(NamedTuple):
    """The result of a search."""

    hits: tuple[Hit, ...] = ()
    is_complete: bool = True  # False: too many files, too little time, or an expression that is not run

    @property
    def paths(self) -> list[str]:
        """The files, each once."""
        return list(dict.fromkeys(hit.path for hit in self.hits))


class Searcher:
    """Searches one tree until its time is over."""

    def __init__(self, tree: KeptTree, until: float) -> None:
        self.tree, self._until = tree, until
        self._texts: dict[str, str | None] = {}

    def text(self, path: str) -> str | None:
        """A file as it is now."""
        if path not in self._texts:
            self._texts[path] = self.tree.read(path)
        return self._texts[path]

    def line(self, path: str, number: int) -> str:
        """A line of a file as it is now; "" where it has fewer."""
        lines = (self.text(path) or "").split("\n", number)
        return lines[number - 1] if 1 <= number <= len(lines) else ""

    def is_late(self) -> bool:
        """Report whether the time is over."""
        return time.monotonic() > self._until

    def search(
        self, pattern: str, *, within: Sequence[str] = (), globs: Sequence[str] = (), ignore_case: bool = False
    ) -> Matches:
        """The lines that match. `within`: files and folders; empty is the whole tree."""
        if pattern.startswith("(?i)"):
            pattern, ignore_case = pattern[4:], True
        parts = [part for part in branches(pattern) if part]
        compiled = [expression for expression in (_compiled(part, ignore_case) for part in parts) if expression]
        if not parts or len(compiled) < len(parts):
            return Matches((), is_complete=False)
        needed = [needed_parts(part) for part in parts]
        if all(needed):
            files = self.tree.files_with(needed)
        elif within:
            files = self.tree.paths
        else:
            return Matches((), is_complete=False)
        files = [path for path in files if is_within(path, within) and has_glob(path, globs)]
        is_complete = len(files) <= MOST_FILES
        found: list[Hit] = []
        for path in files[:MOST_FILES]:
            if self.is_late():
                return Matches(tuple(found), is_complete=False)
            found += self._hits_in(path, compiled, needed)
        return Matches(tuple(found), is_complete)

    def _hits_in(self, path: str, compiled: list[re.Pattern[str]], needed: list[list[str]]) -> list[Hit]:
        """Return the lines of a file that an expression matches, each with the numbers of its branches."""
        text = self.text(path)
        if not text:
            return []
        low = text.lower()
        if len(low) != len(text):  # a letter that has another length in lower case
            low = text
        lines: dict[int, set[int]] = {}  # start of a line → branches that it has
        for at, (one, parts) in enumerate(zip(compiled, needed, strict=True)):
            for start, end in _lines_with(low, parts):
                if one.search(text[start : min(end, start + _LONGEST_LINE)]):
                    lines.setdefault(start, set()).add(at)
        found: list[Hit] = []
        number, before = 1, 0
        for start in sorted(lines)[:_MOST_LINES]:
            number, before = number + text.count("\n", before, start), start
            end = text.find("\n", start)
            found.append(Hit(path, number, text[start : end if end >= 0 else None], frozenset(lines[start])))
        return found


def _lines_with(low: str, parts: list[str]) -> Iterator[tuple[int, int]]:
    """Start and end of each line that has all parts; all lines where there are none."""
    if not all(part in low for part in parts):
        return
    rare = max(parts, key=len, default="")
    at = low.find(rare)
    while at >= 0:
        start, end = low.rfind("\n", 0, at) + 1, low.find("\n", at)
        end = end if end >= 0 else len(low)
        line = low[start:end]
        if all(part in line for part in parts):
            yield start, end
        at = low.find(rare, end + 1) if end < len(low) else -1


def _compiled(branch: str, ignore_case: bool) -> re.Pattern[str] | None:
    """The branch as Python reads it; None where it could take long, or is written otherwise there."""
    if not branch or len(_UNBOUNDED.findall(branch)) > _MOST_UNBOUNDED or _NESTED.search(branch):
        return None
    try:
        return re.compile(branch, re.IGNORECASE if ignore_case else 0)
    except (re.error, OverflowError, RecursionError):
        return None


def is_within(path: str, places: Sequence[str]) -> bool:
    """Report whether a file is one of the places or below one; every file is where there are none."""
    return not places or any(path == place or path.startswith(f"{place}/") for place in places)


def has_glob(path: str, globs: Sequence[str]) -> bool:
    """Report whether one of the globs holds; every file has it where there are none."""
    return not globs or any(expression(anywhere(glob), False).fullmatch(path) for glob in globs)


class TreeNames:
    """Names of files and folders of a tree."""

    def __init__(self, tree: KeptTree) -> None:
        self._tree = tree

    @property
    def paths(self) -> list[str]:
        """Every file."""
        return self._tree.paths

    @cached_property
    def _files(self) -> set[str]:
        return set(self.paths)

    @cached_property
    def folders(self) -> dict[str, list[str]]:
        """Every folder with the files right in it; the root is ""."""
        found: dict[str, list[str]] = {"": []}
        for path in self.paths:
            folder = path.rpartition("/")[0]
            here = found.get(folder)
            if here is not None:
                here.append(path)
                continue
            found[folder] = [path]
            while (folder := folder.rpartition("/")[0]) not in found:
                found[folder] = []
        return found

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        return _grouped(self.paths, lambda path: path.rpartition("/")[2].lower())

    @cached_property
    def _by_stem(self) -> dict[str, list[str]]:
        return _grouped(self.paths, lambda path: plain(stem_of(path)))

    def is_file(self, path: str) -> bool:
        """Report whether the index has the file."""
        return path in self._files

    def has(self, path: str) -> bool:
        """Report whether a file or folder is there, as the index has it and now."""
        return path == "" or ((path in self._files or path in self.folders) and self._tree.exists(path))

    def named(self, name: str) -> list[str]:
        """The files of a name, in whatever case."""
        return self._there(self._by_name.get(name.lower(), []))

    def stemmed(self, stem: str) -> list[str]:
        """The files of a name in whatever case, spelling and with whatever ending."""
        return self._there(self._by_stem.get(plain(stem), []))

    def _there(self, paths: list[str]) -> list[str]:
        return [path for path in paths[:200] if self._tree.exists(path)]


def _grouped(paths: list[str], key: Callable[[str], str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path in paths:
        found.setdefault(key(path), []).append(path)
    return found


def stem_of(path: str) -> str:
    """The last part of a path without its ending."""
    name = path.rpartition("/")[2]
    return name.lstrip(".").partition(".")[0] or name


def ending_of(path: str) -> str:
    """All that follows the first dot of a name: `test.ts`."""
    return path.rpartition("/")[2].lstrip(".").partition(".")[2]


def nearness(path: str, other: str) -> tuple[int, int]:
    """Rank a path by its nearness to another, nearest greatest: by common folders, then by depth."""
    folders, other_folders = path.split("/")[:-1], other.split("/")[:-1]
    leading = 0
    while leading < min(len(folders), len(other_folders)) and folders[leading] == other_folders[leading]:
        leading += 1
    anywhere_shared = len({*folders} & {*other_folders})
    return anywhere_shared + leading, -abs(len(folders) - len(other_folders))
