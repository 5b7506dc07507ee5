"""Reader of the kept index of a tree. The hook loads this module: it imports os and sqlite3 alone.

The index is as old as its last update: a place is only shown after a look at the file as it is now.
"""

from __future__ import annotations

import os
import sqlite3
import time
from functools import cached_property
from typing import NamedTuple

from knowbound.store.data_dir import CODEBASE, OWNER, is_our_mark
from knowbound.store.read_only import HOOK_WAIT_SECONDS, open_read_only
from knowbound.text.code_names import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

SCHEMA = 1  # of the index
STALE_SECONDS = 3_600  # an older index is not used
_MOST_WORDS = 300  # words of the index that have a part in them
_MOST_FOLDERS = 3_000  # folders that are compared
_MOST_NAMES, _MOST_PATHS = 50, 500  # of one question about definitions
_LONGEST_TEXT = 1_000_000  # bytes of a file that are read
_LOOKED_AT = 8_000  # bytes: a NUL in them makes a file binary
_STEPS = 20_000  # steps of SQLite's virtual machine between two looks at the clock
_LARGEST_VALUE = 64 * 1024 * 1024


class DefinedName(NamedTuple):
    """A definition of the index."""

    name: str
    path: str
    line: int
    kind: str


class KeptTree:
    """One tree of the index."""

    def __init__(self, db: sqlite3.Connection, root: str, id_: int, updated: float, folders: str) -> None:
        self.root = root
        self.updated = updated  # seconds since 1970
        self._db, self._id, self._folders = db, id_, folders
        self._words: str | None = None

    @property
    def is_stale(self) -> bool:
        """True if the last update is too long ago."""
        return not 0 <= time.time() - self.updated < STALE_SECONDS

    @cached_property
    def paths(self) -> list[str]:
        """Every file, relative to the root, sorted."""
        rows = self._db.execute("SELECT path FROM file WHERE tree = ? ORDER BY path", (self._id,))
        return [path for (path,) in rows]

    def has_same_names(self) -> bool:
        """Report whether no file was added, removed or renamed since the update, by the times of the folders."""
        import json  # noqa: PLC0415  # 5 ms, needed only to call something absent

        folders = json.loads(self._folders)
        if len(folders) > _MOST_FOLDERS:  # too many to look at: it is not known
            return False
        try:
            return all(os.lstat(os.path.join(self.root, path)).st_mtime_ns == then for path, then in folders.items())
        except OSError:
            return False

    def defined(self, plain_names: Iterable[str]) -> list[DefinedName]:
        """Return the definitions of names, which are given in lower case without `_` and `-`."""
        return self._definitions("d.plain", list(dict.fromkeys(plain_names))[:_MOST_NAMES], most=2_000)

    def defined_in(self, paths: Sequence[str]) -> list[DefinedName]:
        """Return the definitions in these files."""
        return self._definitions("f.path", paths[:_MOST_PATHS], most=5_000)

    def _definitions(self, column: str, values: Sequence[str], most: int) -> list[DefinedName]:
        marks = ",".join("?" * len(values))
        rows = self._db.execute(
            "SELECT d.name, f.path, d.line, d.kind FROM file AS f JOIN definition AS d ON d.content = f.content "
            f"WHERE f.tree = ? AND {column} IN ({marks}) LIMIT {most}",
            (self._id, *values),
        )
        return [DefinedName(*row) for row in rows]

    def files_with(self, branches: Iterable[Sequence[str]]) -> list[str]:
        """Return the files that may have all word parts of one of the branches, in any case."""
        queries = [query for query in map(self._query, branches) if query]
        if not queries:
            return []
        rows = self._db.execute(
            "SELECT f.path FROM file AS f WHERE f.tree = ? AND f.content IN (SELECT rowid FROM word WHERE word MATCH ?)"
            " ORDER BY f.path",
            (self._id, " OR ".join(f"({query})" for query in queries)),
        )
        return [path for (path,) in rows]

    def _query(self, parts: Sequence[str]) -> str:
        """Return the full-text query for the word parts of a branch; "" if a part is in no file."""
        groups = []
        for part in parts:
            words = self._words_with(part.lower())
            if not words:
                return ""
            groups.append("(" + " OR ".join(f'"{word}"' for word in words) + ")")
        return " AND ".join(groups)

    def _words_with(self, part: str) -> list[str]:
        """Return words of the index that have the part in them."""
        if self._words is None:
            row = self._db.execute("SELECT words FROM vocabulary").fetchone()
            self._words = str(row[0]) if row else ""
        found: list[str] = []
        words, at = self._words, self._words.find(part)  # one word a line
        while at >= 0 and len(found) < _MOST_WORDS:
            start, end = words.rfind("\n", 0, at) + 1, words.find("\n", at)
            found.append(words[start:end])
            at = words.find(part, end)
        return found

    def read(self, path: str) -> str | None:
        """Return a file as it is now; None if it cannot be read, is no text, or leads out of the tree."""
        full = os.path.join(self.root, path)
        if not os.path.realpath(full).startswith(os.path.join(os.path.realpath(self.root), "")):
            return None
        try:
            descriptor = os.open(full, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # a pipe must not block
            with open(descriptor, "rb") as file:
                data = file.read(_LONGEST_TEXT)
        except OSError:
            return None
        return None if b"\0" in data[:_LOOKED_AT] else data.decode("utf-8", "replace")

    def exists(self, path: str) -> bool:
        """Report whether a file or folder is there now."""
        return os.path.lexists(os.path.join(self.root, path))

    def close(self) -> None:
        """Close the database."""
        self._db.close()


def open_tree(home: str, root: str, *, work_seconds: float, is_ours: bool = False) -> KeptTree | None:
    """Open the tree of a root, bounded in work; None without a complete index that this user made.

    `is_ours`: the caller has just made the index.
    """
    path = os.path.join(home, CODEBASE)
    if any(os.path.islink(path + ending) for ending in ("", "-wal", "-shm")):
        return None
    try:
        db = open_read_only(path, wait_seconds=HOOK_WAIT_SECONDS)
        if db is None:
            return None
        end = time.monotonic() + work_seconds
        db.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST_VALUE)
        mark = db.execute("SELECT value FROM meta WHERE key = ?", (OWNER,)).fetchone()
        is_ours = is_ours or (mark is not None and is_our_mark(str(mark[0])))
        if not is_ours or db.execute("PRAGMA user_version").fetchone()[0] != SCHEMA:
            return None
        row = db.execute("SELECT id, updated, folders FROM tree WHERE root = ?", (root,)).fetchone()
    except sqlite3.Error:
        return None
    return KeptTree(db, root, *row) if row and row[1] else None  # updated is 0 if the index is incomplete


class TreeNames:
    """Names of files and folders of a tree."""

    def __init__(self, tree: KeptTree) -> None:
        self.tree = tree

    @property
    def paths(self) -> list[str]:
        """Every file."""
        return self.tree.paths

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
        return path == "" or ((path in self._files or path in self.folders) and self.tree.exists(path))

    def named(self, name: str) -> list[str]:
        """The files of a name, in whatever case."""
        return self._there(self._by_name.get(name.lower(), []))

    def stemmed(self, stem: str) -> list[str]:
        """The files of a name in whatever case, spelling and with whatever ending."""
        return self._there(self._by_stem.get(plain(stem), []))

    def _there(self, paths: list[str]) -> list[str]:
        return [path for path in paths[:200] if self.tree.exists(path)]


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
