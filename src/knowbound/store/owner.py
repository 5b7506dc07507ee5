"""Ownership of a data folder (`.knowbound/owner`). Hooks load this module: it imports only os.

A data folder from a checkout is not trusted: its items would be injected into an agent's context, and its cached
answers and verdicts believed. So a data folder has a mark that only the user's key can make. The index in it, which the
hook reads for every prompt, has the mark too: `git pull` replaces ignored files silently. A folder that git tracks is
never used, so that lessons for rescue (accepted_lessons.py) cannot come with a checkout either. An unmarked folder that
git does not track was made by an earlier version: it is marked once, with a note to the user (marking.py).
"""

from __future__ import annotations

import os

from knowbound.store.data_dir import is_of_this_account
from knowbound.user_files import is_sealed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

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
    folder = os.path.dirname(home)
    while True:
        git = os.path.join(folder, ".git")
        if os.path.lexists(git) and _lists(git, os.fsencode(os.path.relpath(home, folder).replace(os.sep, "/"))):
            return True
        parent = os.path.dirname(folder)
        if parent == folder:
            return False
        folder = parent


def _lists(git: str, name: bytes) -> bool:
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
    at = listed.find(name)
    while at >= 0:
        # Length and flags precede a name; a slash after a readable character precedes the end of a longer path.
        is_whole = listed[at - 1 : at] != b"/" or listed[at - 2] < ord(" ")
        if is_whole and listed[at + len(name) : at + len(name) + 1] in (b"/", b"\0"):
            return True
        at = listed.find(name, at + 1)
    return False
