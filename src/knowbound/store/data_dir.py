"""The data folder of a project, found from the working folder of an agent, and whose it is. Hooks load this module.

A data folder from a checkout is not trusted: its items would be injected into an agent's context, and its cached
answers and verdicts believed. So a data folder has a mark (`owner`) that only the user's key can make. The index in it,
which the hook reads for every prompt, has the mark too: `git pull` replaces ignored files silently. A folder that git
tracks is never used, so that lessons for rescue (accepted_lessons.py) cannot come with a checkout either. An unmarked
folder that git does not track was made by an earlier version: it is marked once, with a note to the user (marking.py).
"""

from __future__ import annotations

import os

from knowbound.user_files import is_sealed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


DATA_FOLDER = ".knowbound"
FINDINGS = "knowbound.db"  # results of `observe`, `eval` and judges
ITEMS = "items.db"  # the embedded backend of items
INDEX = "index.db"  # the items of every backend, for search and injection
CODEBASE = "codebase.db"  # the index of source trees
INJECTIONS = "injections"  # the log of injections, one file a day
LATE = "late"  # choices of a model that wait for a tool event of their turn
CLAIMS = "claims"  # events that a hook or the MCP server has begun to answer, one file each, for a minute
RESCUES = "rescues"  # the log of rescued misses, one file a day
ENDED = "ended"  # the queue of ended turns to be scored, one file a day
STOP_CHECKS = "stop_checks"  # results of the check before an agent stops, one file a day
EVALS = "evals"  # the run folders of evaluations
RECEIPTS = "receipts"  # printed reports, repeated while nothing has changed


def data_folder(cwd: str) -> tuple[str, str]:
    """Return the project root and its data folder: KNOWBOUND_HOME, or the nearest one upwards; "" if there is none.

    A linked work tree (`git worktree`) without a data folder uses that of its main work tree. A data folder of another
    account is skipped: on a shared machine anyone can put one above a project.
    """
    if given := os.environ.get("KNOWBOUND_HOME"):
        given = os.path.abspath(os.path.expanduser(given))
        return cwd, given if os.path.isdir(given) else ""  # the user's word: no owner is asked
    for folder in _upwards(cwd):
        for root in filter(None, (folder, main_work_tree(folder))):
            home = os.path.join(root, DATA_FOLDER)
            if os.path.isdir(home) and is_of_this_account(home):
                return root, home
    return cwd, ""


def _upwards(path: str) -> Iterator[str]:
    """Yield a folder, and every folder above it."""
    folder = os.path.abspath(path)
    yield folder
    while (parent := os.path.dirname(folder)) != folder:
        folder = parent
        yield folder


def is_of_this_account(home: str | os.PathLike[str]) -> bool:
    """Report whether the folder belongs to the current account or to the system."""
    if not hasattr(os, "getuid"):
        return True
    return os.getuid() == 0 or os.stat(home).st_uid in (0, os.getuid())  # root may use any


def project_root(cwd: str) -> str:
    """Return the project of a folder: the folder of its data folder, else the root of its work tree, else itself."""
    root, home = data_folder(cwd)
    return root if home and not os.environ.get("KNOWBOUND_HOME") else work_tree(cwd) or cwd


def work_tree(cwd: str) -> str:
    """Return the root of the git work tree around a folder; "" if there is none."""
    return next((folder for folder in _upwards(cwd) if os.path.lexists(os.path.join(folder, ".git"))), "")


def main_work_tree(folder: str) -> str:
    """Return the root of the main work tree of a linked work tree, or its bare repository; "" for any other folder.

    Both sides must name each other, as in git: a file in a checkout cannot claim somebody else's repository.
    """
    link = os.path.join(folder, ".git")
    if not os.path.isfile(link):
        return ""
    repository = _path_in(link, "gitdir:", folder)
    common = _path_in(os.path.join(repository, "commondir"), "", repository) if repository else ""
    if not common or os.path.realpath(_path_in(os.path.join(repository, "gitdir"), "", repository)) != os.path.realpath(
        link
    ):
        return ""
    return os.path.dirname(common) if os.path.basename(common) == ".git" else common


def _path_in(path: str, prefix: str, base: str) -> str:
    """Return the path that a small file of git names, or ""."""
    try:
        with open(path, encoding="utf-8", errors="surrogateescape") as file:
            line = file.read(4096)
    except (OSError, ValueError):
        return ""
    name = line.removeprefix(prefix).strip() if line.startswith(prefix) else ""
    return os.path.normpath(os.path.join(base, name)) if name else ""


def day_files(home: Path, folder: str) -> list[Path]:
    """Return the files of a log or queue, oldest day first; a name begins with the day. A link is never followed."""
    return [] if (home / folder).is_symlink() else sorted((home / folder).glob("[0-9]*.jsonl"))


OWNER = "owner"  # name of the file, and of the key in the table `meta` of the index
OURS, NOBODYS, ANOTHERS = "ours", "nobody's", "another's"
LONGEST_MARK = 200  # characters of a mark


def owner_of(home: str | Path) -> str:
    """Return the owner of a data folder: OURS, NOBODYS (no mark) or ANOTHERS."""
    path = os.path.join(home, OWNER)
    try:
        if os.path.islink(home) or not is_of_this_account(home):
            return ANOTHERS
        if os.path.lexists(path) and (os.path.islink(path) or not os.path.isfile(path)):
            return ANOTHERS  # a link, or a pipe
        with open(path, encoding="utf-8") as file:
            mark = file.read(LONGEST_MARK)
    except FileNotFoundError:
        return NOBODYS
    except (OSError, ValueError):
        return ANOTHERS
    return OURS if is_our_mark(mark) else ANOTHERS


def is_usable(home: str) -> bool:
    """Report whether hooks may read and write a data folder: this user made or named it, and git does not track it."""
    is_given = bool(os.environ.get("KNOWBOUND_HOME"))
    return (is_given or owner_of(home) == OURS) and not may_be_tracked(home)


def is_our_mark(mark: str) -> bool:
    """Report whether this user's key made the mark."""
    name, _, code = mark.strip().partition(" ")
    return bool(name) and is_sealed(f"data folder {name}", code)


def may_be_tracked(home: str) -> bool:
    """Report whether git may track a file in the folder, by its lists of files alone: quick enough for a hook."""
    home = os.path.abspath(home)
    for folder in _upwards(os.path.dirname(home)):
        git = os.path.join(folder, ".git")
        if os.path.lexists(git) and _may_list(git, os.fsencode(os.path.relpath(home, folder).replace(os.sep, "/"))):
            return True
    return False


def _may_list(git: str, name: bytes) -> bool:
    """Report whether the repository's list of tracked files has the name, or cannot be read."""
    try:
        if os.path.isfile(git):  # a work tree or a submodule: the file names its repository
            with open(git, "rb") as file:
                git = os.path.join(os.path.dirname(git), os.fsdecode(file.read(4096).removeprefix(b"gitdir:").strip()))
        if any(entry.startswith("sharedindex.") for entry in os.listdir(git)):
            return True  # the list is split into two files
        with open(os.path.join(git, "index"), "rb") as file:
            listed = file.read()
    except FileNotFoundError:
        return False  # nothing is tracked yet
    except OSError:
        return True
    if listed[4:8] not in (b"\0\0\0\2", b"\0\0\0\3"):
        return True  # this version of the list shortens names
    start = listed.find(name)
    while start >= 0:
        # Length and flags precede a name; a slash after a readable character precedes the end of a longer path.
        is_whole = listed[start - 1 : start] != b"/" or listed[start - 2] < ord(" ")
        if is_whole and listed[start + len(name) : start + len(name) + 1] in (b"/", b"\0"):
            return True
        start = listed.find(name, start + 1)
    return False
