"""Ownership of a data folder (`.knowbound/owner`). Hooks load this module: it imports only os.

A data folder from a checkout is not trusted: its items would be injected into an agent's context, and its cached
answers and verdicts believed. So a data folder has a mark that only the user's key can make. The index in it, which the
hook reads for every prompt, has the mark too: `git pull` replaces ignored files silently. A folder that git tracks is
never used, so that lessons for rescue (accepted_lessons.py) cannot come with a checkout either. An unmarked folder that
git does not track was made by an earlier version: it is marked once, with a note to the user.
"""

from __future__ import annotations

import os

from knowbound.store.data_dir import INDEX, is_of_this_account
from knowbound.user_files import is_sealed, make_file, seal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from knowbound.errors import StoreError

OWNER = "owner"  # name of the file, and of the key in the table `meta` of the index
OURS, NOBODYS, ANOTHERS = "ours", "nobody's", "another's"
_LONGEST = 200  # characters of a mark
_GIT_SECONDS = 10.0


def owner_of(home: str | Path) -> str:
    """Return the owner of a data folder: OURS, NOBODYS (no mark) or ANOTHERS."""
    path = os.path.join(home, OWNER)
    try:
        if os.path.islink(home) or not is_of_this_account(home):
            return ANOTHERS
        if os.path.lexists(path) and (os.path.islink(path) or not os.path.isfile(path)):
            return ANOTHERS  # a link, or a pipe
        with open(path, encoding="utf-8") as file:
            mark = file.read(_LONGEST)
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


def mark_folder(home: str | Path, *, anew: bool = False) -> str:
    """Return the mark of the folder, making a missing one; `anew` also replaces another's. Raises StoreError."""
    owner = NOBODYS if anew else owner_of(home)
    if owner == ANOTHERS:
        raise not_yours_error(home)
    path = os.path.join(home, OWNER)
    try:
        if owner == OURS:
            with open(path, encoding="utf-8") as file:
                return file.read(_LONGEST).strip()
        name = os.urandom(16).hex()
        mark = f"{name} {seal(f'data folder {name}')}"
        make_file(path, f"{mark}\n".encode())
    except OSError as error:
        from knowbound.errors import StoreError  # noqa: PLC0415

        raise StoreError(
            "store-unwritable", f"Cannot mark the data folder {home} as yours: {error}. Try: KNOWBOUND_HOME=DIR"
        ) from error
    return mark


def name_of(home: str | Path) -> str:
    """Return the random name in the mark, which identifies the folder in a shared store; "" without a mark."""
    from knowbound.errors import StoreError  # noqa: PLC0415

    try:
        return mark_folder(home).partition(" ")[0]
    except StoreError:  # another's folder, or the key cannot be stored
        return ""


def not_yours_error(home: str | Path) -> StoreError:
    """Return the error for a data folder made by another user, or on another machine."""
    from knowbound.errors import StoreError  # noqa: PLC0415  # hooks do not need it

    return StoreError(
        "store-not-yours",
        f"{home} was not made by you on this machine: it is not used. If it is yours, try: knowbound trust. "
        "Otherwise delete it, or set KNOWBOUND_HOME=DIR",
    )


def check_data_folder(home: Path, *, is_given: bool) -> str:
    """Raise StoreError if the folder may not be used; return a note if the folder was marked as this user's now.

    `is_given`: the user named the folder (KNOWBOUND_HOME), so it needs no mark of this machine.
    """
    from contextlib import suppress  # noqa: PLC0415

    from knowbound.errors import StoreError  # noqa: PLC0415

    if not os.path.lexists(home):
        return ""
    tracked = refuse_tracked(home)
    owner = owner_of(home)
    if owner == OURS:
        return ""
    if is_given:
        with suppress(StoreError):  # the key cannot be stored: verbs need no mark, hooks stay silent
            adopt(home)
        return ""
    if owner == ANOTHERS or tracked is None:
        raise not_yours_error(home)
    try:
        adopt(home)
    except StoreError as error:
        return f"{error.args[0]} Until then hooks do not use it."
    return f"{home} had no mark of its owner: it is marked as yours now. If it came from somebody else, delete it."


def refuse_tracked(home: Path) -> bool | None:
    """Raise StoreError if git tracks the folder; otherwise return the result of `is_tracked`.

    A tracked folder of ours loses its mark: since the last pull it may contain files of others.
    """
    tracked = is_tracked(home)
    if tracked:
        from contextlib import suppress  # noqa: PLC0415

        from knowbound.errors import StoreError  # noqa: PLC0415

        if owner_of(home) == OURS:
            with suppress(OSError):
                make_file(os.path.join(home, OWNER), b"git tracked this folder\n")
        raise StoreError(
            "store-tracked",
            f"git tracks {home}: what came with a checkout is not used. Try: git rm -r --cached {home.name}, and then "
            "delete it, unless you know that all of it is yours (knowbound trust); or KNOWBOUND_HOME=DIR",
        )
    return tracked


def adopt(home: Path) -> None:
    """Mark the folder and its index as this user's, even if another user made them."""
    import sqlite3  # noqa: PLC0415
    from contextlib import closing, suppress  # noqa: PLC0415

    mark = mark_folder(home, anew=owner_of(home) != OURS)
    index = home / INDEX
    if index.is_file():
        # A damaged index, or one of another schema, is reported when it is opened.
        with suppress(sqlite3.Error), closing(sqlite3.connect(index, timeout=5.0)) as db, db:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (OWNER, mark))


def is_tracked(home: Path) -> bool | None:
    """Report whether a repository around the folder tracks a file in it, as after a checkout. None: unknown.

    Every repository above is asked by its own path: an inner one would hide it, and a bare one inside a checkout would
    be taken for it. The last commit is asked too: the list of tracked files may be missing.
    """
    from knowbound.git import run_git  # noqa: PLC0415

    home, is_known = home.absolute(), True
    for top in home.parents:
        if not os.path.lexists(top / ".git"):
            continue
        place = {"GIT_DIR": str(top / ".git"), "GIT_WORK_TREE": str(top)}
        name = str(home.relative_to(top))
        for asked in (("ls-files", "-z", "--"), ("ls-tree", "-z", "--name-only", "HEAD", "--")):
            ran = run_git(top, *asked, name, seconds=_GIT_SECONDS, output_bytes=1 << 20, added=place)
            if ran.out or ran.cut:
                return True
            is_known &= ran.code == 0 or (asked[0] == "ls-tree" and ran.code == 128)  # no commit yet
    return False if is_known else None


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
