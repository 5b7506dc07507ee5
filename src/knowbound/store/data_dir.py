"""Where a project's data are, seen from the folder an agent works in. The hook loads it: it imports only os."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

DATA_FOLDER = ".knowbound"
FINDINGS = "knowbound.db"  # what `observe`, `eval` and judges found
ITEMS = "items.db"  # the embedded backend of items
INDEX = "index.db"  # the items of every backend, as they are searched and injected
CODEBASE = "codebase.db"  # the index of source trees
INJECTIONS = "injections"  # the log of injections, one file a day
RESCUES = "rescues"  # the log of rescued misses, one file a day
ENDED = "ended"  # the queue of turns that have ended and are to be scored, one file a day
STOP_CHECKS = "stop_checks"  # what the check before an agent stops said, or would have said, one file a day
EVALS = "evals"  # the run folders of evaluations


def data_folder(cwd: str) -> tuple[str, str]:
    """The project's root and its data folder: the nearest one upwards, or what KNOWBOUND_HOME names; "" without one.

    A linked work tree (`git worktree`) without one has that of its main work tree. A data folder of another account is
    passed by: on a shared machine anyone can put one above a project.
    """
    if given := os.environ.get("KNOWBOUND_HOME"):
        given = os.path.abspath(os.path.expanduser(given))
        return cwd, given if os.path.isdir(given) else ""
    folder = os.path.abspath(cwd)
    while True:
        for root in filter(None, (folder, main_work_tree(folder))):
            home = os.path.join(root, DATA_FOLDER)
            if os.path.isdir(home) and is_of_this_account(home):
                return root, home
        parent = os.path.dirname(folder)
        if parent == folder:
            return cwd, ""
        folder = parent


def is_of_this_account(home: str | os.PathLike[str]) -> bool:
    """Whether the folder belongs to whoever runs this, or to the system."""
    if not hasattr(os, "getuid"):
        return True
    return os.getuid() == 0 or os.stat(home).st_uid in (0, os.getuid())


def project_root(cwd: str) -> str:
    """The project that a folder belongs to: where its data folder is, else the root of its work tree, else itself."""
    root, home = data_folder(cwd)
    return root if home and not os.environ.get("KNOWBOUND_HOME") else work_tree(cwd) or cwd


def work_tree(cwd: str) -> str:
    """The root of the git work tree around a folder; "" where there is none."""
    folder = os.path.abspath(cwd)
    while not os.path.lexists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return ""
        folder = parent
    return folder


def main_work_tree(folder: str) -> str:
    """For the root of a linked work tree the root of the main one, or a bare repository itself; "" for any other.

    Both sides must name each other, as git has it: a file in a checkout cannot claim somebody else's repository.
    """
    link = os.path.join(folder, ".git")
    if not os.path.isfile(link):
        return ""
    repository = _named(link, "gitdir:", folder)
    common = _named(os.path.join(repository, "commondir"), "", repository) if repository else ""
    if not common or os.path.realpath(_named(os.path.join(repository, "gitdir"), "", repository)) != os.path.realpath(
        link
    ):
        return ""
    return os.path.dirname(common) if os.path.basename(common) == ".git" else common


def _named(path: str, prefix: str, base: str) -> str:
    """The path that a small file of git names, or ""."""
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
