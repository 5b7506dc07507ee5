"""A checkout that statements are checked against, as it is or as of a commit: its files, scripts and texts.

Files are read within bounds, links that lead out are not followed, and nothing of it is run. A commit is read from
git's objects: nothing is checked out.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from knowbound.core.evidence import Quality
from knowbound.core.paths import IGNORED_IN_SOURCES
from knowbound.errors import InputError
from knowbound.files import list_files, read_text, rg
from knowbound.git import run_git
from knowbound.process import Ran
from knowbound.text.digest import digest_of

SECONDS = 20.0
LARGEST = 2_000_000  # bytes of a file that are read: lock files are long
_NAMES_AT_ONCE, _MOST_PLACES = 200, 40  # names in one search, and lines that are kept of each
_MOST_COMMITS = 5_000  # that are read for deleted files
_COMMITS_AT_ONCE = 200
MOST_OUTPUT = 20_000_000  # bytes of history
_SEARCH_OUTPUT = 4_000_000  # bytes of one search for names
_TEXT_OUTPUT = 2_000_000  # bytes of one search for a text
_MOST_LINES = 50  # that have a text
_FEW_LINES, _MANY_LINES = 5, 1_000  # lines of a file that the first and the second search take
_EARLIER_VERSIONS = 3  # versions of a knowledge file whose trees are searched for names that are gone
_TOML_TASK = re.compile(r"""^\[tasks\.["']?([\w:.-]+)["']?\]""")
_TARGETS = re.compile(r"^([A-Za-z0-9_.%/-][^:=#\t]*?)\s*::?(?![=:])")  # of a Makefile, several before one colon
_RECIPE = re.compile(r"^(?:alias\s+([\w-]+)\s*:=|@?([A-Za-z_][\w-]*)(?:\s[^:=]*(?:=[^:]*)?)*:(?!=))")
_SECTIONS = {"package.json": "scripts", "deno.json": "tasks", "composer.json": "scripts"}
_MANIFESTS: dict[str, re.Pattern[str]] = {
    "mise.toml": _TOML_TASK, ".mise.toml": _TOML_TASK, "Makefile": _TARGETS, "makefile": _TARGETS, "justfile": _RECIPE,
    "Justfile": _RECIPE, ".justfile": _RECIPE, "GNUmakefile": _TARGETS,
}  # fmt: skip
_NUMBERED = re.compile(r"(\d+)[\0:](.*)")  # of ripgrep with a colon, of git with a NUL
_INCLUDES = re.compile(r"^(?:-?s?include|import\??|mod\??)\s+\S")
_TASK_FOLDERS = ("mise-tasks/", ".mise-tasks/", "mise/tasks/", ".mise/tasks/", ".config/mise/tasks/")


class TreeLine(NamedTuple):
    """A line of a file of the tree."""

    path: str
    line: int = 0
    quality: str = Quality.VERIFIED


class PastLine(NamedTuple):
    """A name of an earlier tree: the commit, and the files that had it."""

    commit: str
    paths: frozenset[str]


class Checkout:
    """The files of one checkout."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._head = "HEAD"
        self._base = ""  # the commit that this checkout is compared with
        self._texts: dict[str, str] = {}  # by path, or by commit:path
        self._lines: dict[str, list[str]] = {}
        self.unsearched: set[str] = set()  # names whose search ended early: that none was found says nothing
        self._searched: dict[str, list[TreeLine]] = {}
        self._commits_of: dict[str, list[str]] = {}
        self._renames: dict[str, dict[str, str]] = {}  # by commit

    @cached_property
    def files(self) -> frozenset[str]:
        """Every file that is searched, relative to the root."""
        names, _ = list_files(self.root, SECONDS)
        return frozenset(name for name in names if IGNORED_IN_SOURCES.isdisjoint(name.split("/")))

    @cached_property
    def stamp(self) -> str:
        """A hash that changes with the commit and with the name, size or time of any file."""
        found, root = [self.commit], str(self.root)
        for name in sorted(self.files):
            with suppress(OSError):
                info = os.lstat(f"{root}/{name}")
                found.append(f"{name}|{info.st_size}|{info.st_mtime_ns}")
        return digest_of(found)

    @cached_property
    def folders(self) -> frozenset[str]:
        """The folders of those files."""
        found: set[str] = set()
        for name in self.files:
            while (name := name.rpartition("/")[0]) and name not in found:
                found.add(name)
        return frozenset(found)

    @cached_property
    def by_name(self) -> dict[str, list[str]]:
        """The files by the last part of their path, in lower case."""
        names: dict[str, list[str]] = {}
        for path in sorted(self.files):
            names.setdefault(path.rpartition("/")[2].lower(), []).append(path)
        return names

    @cached_property
    def commit(self) -> str:
        """The commit that is checked out; "" where there is none."""
        ran = run_git(self.root, "rev-parse", "--short=12", "HEAD", seconds=SECONDS, output_bytes=1000)
        return ran.out.decode("ascii", "replace").strip() if ran.code == 0 else ""

    @cached_property
    def deleted(self) -> dict[str, str]:
        """The files and folders that history deleted and that are not there, each with the last such commit."""
        form = "--format=%x00%h"
        log = ("log", "--no-renames", "--diff-filter=D", "--name-only", form, f"--max-count={_MOST_COMMITS}", "HEAD")
        ran = run_git(self.root, *log, seconds=SECONDS, output_bytes=MOST_OUTPUT)
        found: dict[str, str] = {}
        commit = ""
        for line in ran.out.decode("utf-8", "replace").splitlines() if ran.code == 0 else ():
            if line.startswith("\0"):  # the commit of the following paths
                commit = line[1:]
                continue
            path = line
            while path and path not in found and not self.has(path):
                found[path] = commit
                path = path.rpartition("/")[0]
        return found

    def note_deleted_since(self, commit: str, files: Iterable[str]) -> None:
        """Take in what a base has and this checkout has not, also where its history is cut off or not committed yet."""
        gone = dict.fromkeys((path for path in files if not self.has(path)), commit)
        for path in list(gone):
            while (path := path.rpartition("/")[0]) and path not in gone and not self.has(path):
                gone[path] = commit
        self.deleted.update(gone)
        self._base = commit
        self._note_renames([commit], "diff", "--no-ext-diff", commit)

    def renamed(self, path: str) -> str:
        """Return the present place of what history renamed when it went away; "" if it shows none.

        A folder is where most of its files are, each at its own place in it.
        """
        deleted_inside = [file for file in self.deleted if file.startswith(f"{path}/")]
        if deleted_inside:
            self._load_renames(self.deleted[file] for file in deleted_inside)
            present_places = [(file.removeprefix(path), self._renamed_file(file)) for file in deleted_inside]
            folders = Counter(new.removesuffix(rest) for rest, new in present_places if new.endswith(rest))
            folder, number = folders.most_common(1)[0] if folders else ("", 0)
            renamed_files = sum(bool(new) for _, new in present_places)
            return folder if 2 * number > renamed_files else ""
        return self._renamed_file(path)

    def _renamed_file(self, path: str) -> str:
        """Return the present place of one renamed file; "" if there is none."""
        commit = self.deleted.get(path, "")
        self._load_renames([commit])
        new = self._renames.get(commit, {}).get(path, "")
        return new if new and self.has(new) else ""

    def _load_renames(self, commits: Iterable[str]) -> None:
        """Read the renames of commits that are not known yet, in few calls."""
        wanted = sorted({commit for commit in commits if commit and commit not in self._renames})
        for at in range(0, len(wanted), _COMMITS_AT_ONCE):
            batch = wanted[at : at + _COMMITS_AT_ONCE]
            self._note_renames(batch, "log", "--no-walk=unsorted", "--format=%x00%h", *batch)

    def _note_renames(self, commits: list[str], verb: str, *given: str) -> None:
        """Note the renames that git shows, below the commit before them; without one, of the first of these commits."""
        options = ("-M", "--diff-filter=R", "--name-status")
        ran = run_git(self.root, verb, *options, *given, seconds=SECONDS, output_bytes=MOST_OUTPUT)
        self._renames.update((commit, {}) for commit in commits)
        commit = commits[0]
        for line in ran.out.decode("utf-8", "replace").splitlines() if ran.code == 0 else ():
            row = line.split("\t")
            if line.startswith("\0"):
                commit = line[1:]
            elif len(row) == 3:  # status, old path, new path
                self._renames.setdefault(commit, {})[row[1]] = row[2]

    def has(self, path: str) -> bool:
        """Report whether there is a file or folder."""
        path = path.strip("/")
        if path in self.files or path in self.folders:
            return True
        # A link, or what a search of sources leaves out; nothing is followed or read.
        return bool(path) and ".." not in path.split("/") and os.path.lexists(self.root / path)

    def text(self, path: str) -> str:
        """The text of a file; "" where it has none."""
        if path not in self._texts:
            self._texts[path] = (read_text(self.root, path, LARGEST) or "") if path in self.files else ""
        return self._texts[path]

    def lines(self, path: str) -> list[str]:
        """The lines of a file."""
        if path not in self._lines:
            self._lines[path] = self.text(path).splitlines()
        return self._lines[path]

    def line_with(self, path: str, text: str) -> TreeLine | None:
        """The first line of a file that has the text."""
        for number, line in enumerate(self.lines(path), 1):
            if text in line:
                return TreeLine(path, number)
        return None

    def lines_with(self, text: str) -> list[TreeLine]:
        """The lines of all files that have the text, at most 50."""
        if text not in self._searched:
            arguments = ("--fixed-strings", "--line-number", "--max-count", "2", "--null", "--", text, ".")
            found = _places_in(rg(self.root, arguments, SECONDS, _TEXT_OUTPUT))
            self._searched[text] = [place for place, _ in islice(found, _MOST_LINES)]
        return self._searched[text]

    def places_of(self, names: Iterable[str]) -> dict[str, list[TreeLine]]:
        """Return some lines that have each name as a whole word, found in few searches.

        The first search stops early in files with many names, so names that it found in prose alone are searched again.
        """
        found: dict[str, list[TreeLine]] = {name: [] for name in sorted(set(names))}
        for most_of_file in (_FEW_LINES, _MANY_LINES):
            without_code = (name for name, places in found.items() if all(is_prose(place.path) for place in places))
            searched = sorted(without_code, key=lambda name: (-len(name), name))
            for at in range(0, len(searched), _NAMES_AT_ONCE):
                for name, place in self._lines_of(searched[at : at + _NAMES_AT_ONCE], most_of_file):
                    if name in found:
                        found[name].append(place)
        # Sorted before they are cut: a search in several threads finds them in any order.
        return {
            name: sorted(set(places), key=lambda place: (is_prose(place.path), place))[:_MOST_PLACES]
            for name, places in found.items()
        }

    def _search(self, names: list[str], *options: str) -> Ran:
        """Search for names as whole words; the options are those that ripgrep and `git grep` share."""
        patterns = [part for name in names for part in ("-e", name)]
        arguments = ("--fixed-strings", "--word-regexp", "--null", *options, *patterns, "--", ".")
        return rg(self.root, arguments, SECONDS, _SEARCH_OUTPUT)

    def _lines_of(self, names: list[str], most_of_file: int) -> Iterator[tuple[str, TreeLine]]:
        """Yield the lines that have one of the names as a whole word, at most so many of a file."""
        ran = self._search(names, "--only-matching", "--line-number", "--max-count", str(most_of_file))
        # That a search came to its end is known: its exit code is 1 if nothing was found.
        self.unsearched = self.unsearched | set(names) if _ended_early(ran) else self.unsearched - set(names)
        return ((name, place) for place, name in _places_in(ran))

    def commits_of(self, file: str) -> list[str]:
        """Return commits that changed a file, newest first: the newest, the middle and the oldest.

        The commit that this checkout is compared with comes before them.
        """
        if file not in self._commits_of:
            arguments = ("log", "--format=%h", f"--max-count={_MOST_COMMITS}", self._head, "--", file)
            ran = run_git(self.root, *arguments, seconds=SECONDS, output_bytes=MOST_OUTPUT)
            found = ran.out.decode("ascii", "replace").split() if ran.code == 0 else []
            steps = range(_EARLIER_VERSIONS) if found else ()
            spaces = _EARLIER_VERSIONS - 1  # between the versions, all equal
            chosen = [found[len(found) * step // spaces - bool(step)] for step in steps]
            self._commits_of[file] = list(dict.fromkeys([self._base, *chosen] if self._base else chosen))
        return self._commits_of[file]

    def text_at(self, commit: str, path: str) -> str:
        """Return the text of a file at a commit; "" if it had none."""
        key = f"{commit}:{path}"
        if key not in self._texts:
            ran = run_git(self.root, "cat-file", "blob", key, seconds=SECONDS, output_bytes=LARGEST)
            self._texts[key] = ran.out.decode("utf-8", "replace") if ran.code == 0 and not ran.cut else ""
        return self._texts[key]

    def earlier(self, file: str, names: Iterable[str]) -> dict[str, PastLine]:
        """Return the names that the tree had when versions of a file were committed, with the files that had them."""
        wanted = sorted(set(names))
        commits = self.commits_of(file) if wanted else []
        if not commits:
            return {}
        options = ("-F", "-w", "-o", "-I", "-z", "--full-name", "--max-count", str(_MANY_LINES))
        patterns = [part for name in wanted for part in ("-e", name)]
        arguments = ("grep", *options, *patterns, *commits, "--")
        ran = run_git(self.root, *arguments, seconds=SECONDS, output_bytes=MOST_OUTPUT)
        files_by_name: dict[str, dict[str, set[str]]] = {}
        for line in ran.out.decode("utf-8", "replace").splitlines():
            place, null, name = line.partition("\0")
            commit, _, path = place.partition(":")
            if null:
                files_by_name.setdefault(name, {}).setdefault(commit, set()).add(path)
        # The commits are in order, newest first.
        newest = {name: min(by_commit, key=commits.index) for name, by_commit in files_by_name.items()}
        return {name: PastLine(commit, frozenset(files_by_name[name][commit])) for name, commit in newest.items()}

    def removed_by(self, name: str, paths: Iterable[str]) -> str:
        """Return the last commit that changed how often these files have a name; "" if history does not show it."""
        arguments = ("log", "-1", "--format=%h", f"-S{name}", self._head, "--", *sorted(paths)[:_MOST_PLACES])
        ran = run_git(self.root, *arguments, seconds=SECONDS, output_bytes=1000)
        return ran.out.decode("ascii", "replace").strip() if ran.code == 0 else ""

    @cached_property
    def scripts(self) -> dict[str, dict[str, int]]:
        """Manifest → its scripts, tasks or targets, each with its line."""
        found: dict[str, dict[str, int]] = {}
        for path in sorted(self.files):
            name = path.rpartition("/")[2]
            if name in _MANIFESTS or name in _SECTIONS:
                found[path] = dict(self._scripts_in(path, name))
            for folder in _TASK_FOLDERS:
                if path.startswith(folder):  # of mise: a file is a task, a folder the start of its name
                    task = path.removeprefix(folder).replace("/", ":").removesuffix(".sh").removesuffix(":_default")
                    found[path] = {task: 1}
        return found

    def _scripts_in(self, path: str, name: str) -> Iterator[tuple[str, int]]:
        """Yield the scripts of a manifest with their lines; `%` stands for those that it takes in from elsewhere."""
        lines = self.text(path).splitlines()
        if name in _SECTIONS:
            yield from self._scripts_in_json(path, _SECTIONS[name], lines)
            return
        for number, line in enumerate(lines, 1):
            if found := _MANIFESTS[name].match(line):
                for script in next(filter(None, found.groups())).split():
                    yield script, number
            elif _INCLUDES.match(line):  # like a pattern rule of make, it may define any name
                yield "%", number

    def _scripts_in_json(self, path: str, section: str, lines: list[str]) -> Iterator[tuple[str, int]]:
        """Yield the scripts in a section of a JSON manifest, with the first line after its name that has them."""
        try:
            found = msgspec.json.decode(self.text(path).encode())
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return
        scripts = found.get(section) if isinstance(found, dict) else None
        start = next((at for at, line in enumerate(lines) if f'"{section}"' in line), 0)  # JSON values have no lines
        for script in scripts if isinstance(scripts, dict) else ():
            numbers = (at for at, line in enumerate(lines[start:], start + 1) if f'"{script}"' in line)
            yield script, next(numbers, start + 1)

    def script(self, name: str, manifest: str = "") -> TreeLine | None:
        """Return the place of a script: in this manifest, or in the manifest nearest to the root."""
        for path in sorted(self.scripts, key=lambda path: (path.count("/"), path)):
            if name in self.scripts[path] and (not manifest or path == manifest):
                return TreeLine(path, self.scripts[path][name])
        return None


def is_prose(path: str) -> bool:
    """Report whether a file is written for readers: that a name occurs in it shows nothing."""
    return path.lower().endswith((".md", ".mdc", ".mdx", ".rst", ".txt", ".adoc"))


def _ended_early(ran: Ran) -> bool:
    return ran.cut or ran.timed_out or ran.code not in (0, 1)  # 1: the search found nothing


def _places_in(ran: Ran) -> Iterator[tuple[TreeLine, str]]:
    """Yield the places that a search printed, and what it found there."""
    for line in ran.out.decode("utf-8", "replace").splitlines():
        path, null, rest = line.partition("\0")
        if null and (found := _NUMBERED.match(rest)):
            yield TreeLine(_path_in_tree(path), int(found[1])), found[2]


def _path_in_tree(printed: str) -> str:
    """Return a path that ripgrep prints below `.`, and `git grep` after the commit."""
    return printed[2:] if printed.startswith("./") else printed.partition(":")[2]


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
        self._head = ran.out.decode("ascii", "replace").strip()
        if ran.code != 0 or not self._head:
            raise InputError("no-such-commit", f"There is no commit {commit!r} in {root}. Try: git fetch")

    @cached_property
    def commit(self) -> str:
        """The commit."""
        return self._head[:12]

    @cached_property
    def _all_files(self) -> frozenset[str]:
        ran = run_git(
            self.root, "ls-tree", "-r", "-z", "--name-only", self._head, seconds=SECONDS, output_bytes=MOST_OUTPUT
        )
        return frozenset(name for name in ran.out.decode("utf-8", "replace").split("\0") if name)

    @cached_property
    def files(self) -> frozenset[str]:
        """Every file of the commit that is searched."""
        return frozenset(name for name in self._all_files if IGNORED_IN_SOURCES.isdisjoint(name.split("/")))

    @cached_property
    def deleted(self) -> dict[str, str]:
        """Nothing: only the commit itself is looked at."""
        return {}

    def has(self, path: str) -> bool:
        """Report whether the commit has a file or folder."""
        path = path.strip("/")
        return path in self._all_files or path in self.folders

    def text(self, path: str) -> str:
        """Return the text of a file; "" if the commit has none, or too large a one."""
        return self.text_at(self._head, path) if path in self._all_files else ""

    def _search(self, names: list[str], *options: str) -> Ran:
        patterns = [part for name in names for part in ("-e", name)]
        given = ("grep", "--fixed-strings", "--word-regexp", "--null", "-I", "--full-name", *options, *patterns)
        return run_git(self.root, *given, self._head, "--", seconds=SECONDS, output_bytes=MOST_OUTPUT)
