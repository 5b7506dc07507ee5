"""Makes the mark of a data folder's owner (data_dir.py), and refuses folders of others and those that git tracks."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing, suppress

from knowbound.errors import StoreError
from knowbound.store.data_dir import ANOTHERS, INDEX, LONGEST_MARK, NOBODYS, OURS, OWNER, owner_of
from knowbound.user_files import make_file, seal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

_GIT_SECONDS = 10.0


def mark_folder(home: str | Path, *, anew: bool = False) -> str:
    """Return the mark of the folder, making a missing one; `anew` also replaces another's. Raises StoreError."""
    owner = NOBODYS if anew else owner_of(home)
    if owner == ANOTHERS:
        raise not_yours_error(home)
    path = os.path.join(home, OWNER)
    try:
        if owner == OURS:
            with open(path, encoding="utf-8") as file:
                return file.read(LONGEST_MARK).strip()
        name = os.urandom(16).hex()
        mark = f"{name} {seal(f'data folder {name}')}"
        make_file(path, f"{mark}\n".encode())
    except OSError as error:
        raise StoreError(
            "store-unwritable", f"Cannot mark the data folder {home} as yours: {error}. Try: KNOWBOUND_HOME=DIR"
        ) from error
    return mark


def name_of(home: str | Path) -> str:
    """Return the random name in the mark, which identifies the folder in a shared store; "" without a mark."""
    try:
        return mark_folder(home).partition(" ")[0]
    except StoreError:  # another's folder, or the key cannot be stored
        return ""


def not_yours_error(home: str | Path) -> StoreError:
    """Return the error for a data folder made by another user, or on another machine."""
    return StoreError(
        "store-not-yours",
        f"{home} was not made by you on this machine: it is not used. If it is yours, try: knowbound trust. "
        "Otherwise delete it, or set KNOWBOUND_HOME=DIR",
    )


def check_data_folder(home: Path, *, is_given: bool) -> str:
    """Raise StoreError if the folder may not be used; return a note if the folder was marked as this user's now.

    `is_given`: the user named the folder (KNOWBOUND_HOME), so it needs no mark of this machine.
    """
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
    if owner == ANOTHERS or tracked is None:  # None: git could not say
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
        environ = {"GIT_DIR": str(top / ".git"), "GIT_WORK_TREE": str(top)}
        name = str(home.relative_to(top))
        for command in (("ls-files", "-z", "--"), ("ls-tree", "-z", "--name-only", "HEAD", "--")):
            ran = run_git(top, *command, name, seconds=_GIT_SECONDS, output_bytes=1 << 20, added=environ)
            if ran.out or ran.cut:
                return True
            is_known &= ran.code == 0 or (command[0] == "ls-tree" and ran.code == 128)  # no commit yet
    return False if is_known else None
