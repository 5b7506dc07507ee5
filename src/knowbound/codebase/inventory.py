"""What lies in a tree: one bounded walk, nothing run, no link followed.

Hostile trees are ordinary here: link loops, folders that may not be read, names with newlines, a million files.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

MOST_ENTRIES = 200_000
_NEVER = frozenset(
    ".git .hg .svn .jj node_modules bower_components __pycache__ .tox .nox .mypy_cache .pytest_cache .ruff_cache "
    ".gradle .idea .vscode .eggs .knowbound".split()
)
# A folder with one of these was made by a tool: an environment, a cache, a build.
_MADE = frozenset(("pyvenv.cfg", "CACHEDIR.TAG", "CMakeCache.txt"))
_OTHERS = frozenset("vendor vendored third_party thirdparty third-party external extern site-packages".split())
_TEST_FOLDERS = frozenset("test tests testing __tests__ spec specs testsuite e2e".split())
_TYPED: dict[str, tuple[str, str]] = {  # extension → language, kind of project
    extension: (language, kind)
    for language, kind, extensions in (
        ("Python", "python", "py pyi pyx"),
        ("JavaScript", "javascript", "js mjs cjs jsx vue svelte"),
        ("TypeScript", "javascript", "ts tsx mts cts"),
        ("Rust", "rust", "rs"),
        ("Go", "go", "go"),
        ("C", "c/c++", "c h"),
        ("C++", "c/c++", "cc cpp cxx hpp hh hxx cppm ipp inl"),
        ("Java", "jvm", "java"),
        ("Kotlin", "jvm", "kt kts"),
        ("Scala", "jvm", "scala"),
        ("Groovy", "jvm", "groovy"),
        ("C#", "dotnet", "cs"),
        ("F#", "dotnet", "fs fsx"),
        ("Ruby", "ruby", "rb"),
        ("PHP", "php", "php"),
        ("Swift", "swift", "swift"),
        ("Objective-C", "swift", "m mm"),
        ("Dart", "dart", "dart"),
        ("Elixir", "elixir", "ex exs"),
        ("Erlang", "erlang", "erl"),
        ("Haskell", "haskell", "hs"),
        ("OCaml", "ocaml", "ml mli"),
        ("Zig", "zig", "zig"),
        ("Lua", "lua", "lua"),
        ("R", "r", "r"),
        ("Julia", "julia", "jl"),
        ("Perl", "perl", "pl pm"),
        ("Shell", "shell", "sh bash zsh"),
        ("SQL", "sql", "sql"),
    )
    for extension in extensions.split()
}
_DOCUMENTS = frozenset("md mdx rst adoc txt".split())


@dataclass(frozen=True, slots=True)
class Inventory:
    """The regular files of a tree, and whether these are all."""

    root: Path
    files: tuple[str, ...]  # relative to the root, with slashes
    unreadable: int = 0  # folders that may not be read
    cut: bool = False  # the walk stopped at a limit

    @property
    def complete(self) -> bool:
        """Whether nothing was left out against our will."""
        return not self.cut and not self.unreadable

    def at_root(self) -> frozenset[str]:
        """Names of the files that lie in the root itself."""
        return frozenset(path for path in self.files if "/" not in path)

    def read(self, path: str, most: int) -> bytes | None:
        """The content of one of the files; None if it is larger than `most` or cannot be read."""
        try:
            descriptor = os.open(self.root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except (OSError, ValueError):
            return None
        with open(descriptor, "rb") as file:
            content = file.read(most + 1)
        return content if len(content) <= most else None


def take_inventory(root: Path, deadline: float, most: int = MOST_ENTRIES) -> Inventory:
    """Walk the tree once; `deadline` is a time.monotonic()."""
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
        if folder and not _MADE.isdisjoint([entry.name for entry in here]):
            continue
        prefix = f"{folder}/" if folder else ""
        for entry in here:
            if entry.is_file(follow_symlinks=False):
                files.append(prefix + entry.name)
            elif entry.name not in _NEVER and entry.is_dir(follow_symlinks=False):
                folders.append(prefix + entry.name)
    return Inventory(root, tuple(files), unreadable)


def language_of(path: str) -> tuple[str, str] | None:
    """The language of a source file and the kind of project it belongs to; None for anything else."""
    return _TYPED.get(path.rpartition(".")[2].lower()) if "." in path.rpartition("/")[2] else None


def is_document(path: str) -> bool:
    """Whether a file is text for people."""
    return path.rpartition(".")[2].lower() in _DOCUMENTS


def is_vendored(path: str) -> bool:
    """Whether a file lies in a folder for other people's code."""
    return _lies_in_vendored(path.rpartition("/")[0])


def is_test(path: str) -> bool:
    """Whether a source file is a test, by its folder or by its name."""
    folder, _, name = path.rpartition("/")
    if _lies_in_tests(folder):
        return True
    stem, low = name.rpartition(".")[0], name.lower()
    return (
        low.startswith("test_")
        or stem.lower().endswith(("_test", "_tests", "_spec", ".test", ".spec", "-test"))
        or stem.endswith(("Test", "Tests", "Spec"))
        or name == "conftest.py"
    )


@lru_cache(4096)
def _lies_in_tests(folder: str) -> bool:
    return not _TEST_FOLDERS.isdisjoint(folder.lower().split("/"))


@lru_cache(4096)
def _lies_in_vendored(folder: str) -> bool:
    return not _OTHERS.isdisjoint(folder.split("/"))


def sources_of(paths: tuple[str, ...] | list[str]) -> Iterator[tuple[str, str, str]]:
    """Every source file that is the project's own, with its language and kind."""
    for path in paths:
        typed = language_of(path)
        if typed is not None and not is_vendored(path):
            yield path, *typed
