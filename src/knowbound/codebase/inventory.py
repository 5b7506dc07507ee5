"""Inventory of a source tree: one bounded walk that runs nothing and follows no link.

Hostile trees are expected: link loops, unreadable folders, names with newlines, a million files.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from knowbound.core.paths import IGNORED_IN_SOURCES, MADE_BY_TOOLS, Language, is_vendored, language_of
from knowbound.files import open_below

MOST_ENTRIES = 200_000


@dataclass(frozen=True, slots=True)
class Inventory:
    """The regular files of a tree, and the reasons why some may be missing."""

    root: Path
    files: tuple[str, ...]  # relative to the root, with slashes
    unreadable: int = 0  # folders that may not be read
    cut: bool = False  # the walk stopped at a limit

    @property
    def complete(self) -> bool:
        """True if the walk saw the whole tree."""
        return not self.cut and not self.unreadable

    def at_root(self) -> frozenset[str]:
        """Return the names of the files in the root itself."""
        return frozenset(path for path in self.files if "/" not in path)

    def read(self, path: str, most: int) -> bytes | None:
        """Return the content of a file; None if it has more than `most` bytes or cannot be read."""
        try:
            with open_below(self.root, path) as file:
                content = file.read(most + 1)
        except (OSError, ValueError):
            return None
        return content if len(content) <= most else None


def take_inventory(root: Path, deadline: float, most: int = MOST_ENTRIES) -> Inventory:
    """Walk the tree once, until `deadline` (a time.monotonic())."""
    files: list[str] = []
    folders, seen, unreadable = [""], 0, 0
    top = os.fspath(root)
    while folders:
        folder = folders.pop()
        try:
            with os.scandir(f"{top}/{folder}") as entries:
                here = list(entries)
        except OSError:
            unreadable += 1
            continue
        seen += len(here)
        if seen > most or time.monotonic() > deadline:
            return Inventory(root, tuple(files), unreadable, cut=True)
        if folder and not MADE_BY_TOOLS.isdisjoint([entry.name for entry in here]):
            continue
        prefix = f"{folder}/" if folder else ""
        for entry in here:
            if entry.is_file(follow_symlinks=False):
                files.append(prefix + entry.name)
            elif entry.name not in IGNORED_IN_SOURCES and entry.is_dir(follow_symlinks=False):
                folders.append(prefix + entry.name)
    return Inventory(root, tuple(files), unreadable)


def sources_of(paths: Iterable[str]) -> Iterator[tuple[str, Language]]:
    """Yield the project's own source files, each with its language."""
    for path in paths:
        language = language_of(path)
        if language is not None and not is_vendored(path):
            yield path, language
