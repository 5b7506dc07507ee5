"""Whether a data folder is this user's own (`.knowbound/owner`). The hook loads it: it imports only os.

What came with a checkout is not ours: its items would be injected into an agent's context, its cached answers and
verdicts believed. So a data folder carries a mark that only the user's key can make, and so does the index in it, which
alone the hook reads: `git pull` replaces ignored files silently. A folder that git tracks is never used. A folder
without a mark that git does not track is of an earlier version: it is marked once, and that is said.
"""

from __future__ import annotations

import os

from knowbound.store.data_dir import INDEX, is_of_this_account
from knowbound.user_files import is_sealed, make_file, seal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path

    from knowbound.errors import StoreError

OWNER = "owner"  # the file, and the key in the index's table `meta`
OURS, NOBODYS, ANOTHERS = "ours", "nobody's", "another's"
_LONGEST = 200  # characters of a mark
_GIT_SECONDS = 10.0


def owner_of(home: str | Path) -> str:
    """Whose data folder it is: OURS, NOBODYS (no mark) or ANOTHERS."""
    try:
        if not is_of_this_account(home):
            return ANOTHERS
        with open(os.path.join(home, OWNER), encoding="utf-8") as file:
            mark = file.read(_LONGEST)
    except FileNotFoundError:
        return NOBODYS
    except (OSError, ValueError):
        return ANOTHERS
    return OURS if is_our_mark(mark) else ANOTHERS


def is_our_mark(mark: str) -> bool:
    """Whether this user's key made it."""
    name, _, code = mark.strip().partition(" ")
    return bool(name) and is_sealed(f"data folder {name}", code)


def mark_folder(home: str | Path, *, anew: bool = False) -> str:
    """The folder's mark, made where there is none; with `anew` also in place of another's. Raises StoreError."""
    owner = NOBODYS if anew else owner_of(home)
    if owner == ANOTHERS:
        raise not_yours(home)
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


def not_yours(home: str | Path) -> StoreError:
    """The error for a data folder that another user, or this user on another machine, made."""
    from knowbound.errors import StoreError  # noqa: PLC0415  # the hook has its own words for it

    return StoreError(
        "store-not-yours",
        f"{home} was not made by you on this machine: it is not used. If it is yours, try: knowbound trust. "
        "Otherwise delete it, or set KNOWBOUND_HOME=DIR",
    )


def check_data_folder(home: Path, *, is_given: bool) -> str:
    """Raise StoreError where the folder is not to be used; the note to show where it was marked as this user's now.

    `is_given`: the user named it (KNOWBOUND_HOME), so it needs no mark of this machine.
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
        with suppress(StoreError):  # no key can be kept: verbs need no mark, hooks stay silent
            adopt(home)
        return ""
    if owner == ANOTHERS or tracked is None:
        raise not_yours(home)
    adopt(home)
    return f"{home} had no mark of its owner: it is marked as yours now. If it came from somebody else, delete it."


def refuse_tracked(home: Path) -> bool | None:
    """Raise StoreError where git tracks the folder; otherwise what `is_tracked` says."""
    tracked = is_tracked(home)
    if tracked:
        from knowbound.errors import StoreError  # noqa: PLC0415

        raise StoreError(
            "store-tracked",
            f"git tracks {home}: what came with a checkout is not used. "
            f"Try: git rm -r --cached {home.name}, or KNOWBOUND_HOME=DIR",
        )
    return tracked


def adopt(home: Path) -> None:
    """Mark the folder and the index in it as this user's, whoever made them."""
    import sqlite3  # noqa: PLC0415
    from contextlib import closing, suppress  # noqa: PLC0415

    mark = mark_folder(home, anew=owner_of(home) != OURS)
    index = home / INDEX
    if index.is_file():
        # One that is damaged or of another schema says so when it is opened.
        with suppress(sqlite3.Error), closing(sqlite3.connect(index, timeout=5.0)) as db, db:
            db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (OWNER, mark))


def is_tracked(home: Path) -> bool | None:
    """Whether git tracks anything in the folder: then it came with the checkout. None where git cannot tell."""
    if not any(os.path.lexists(folder / ".git") for folder in (home, *home.absolute().parents)):
        return False
    from knowbound.git import run_git  # noqa: PLC0415

    # From the folder above, so that a folder that is itself a link or a repository is seen as it was committed.
    ran = run_git(home.absolute().parent, "ls-files", "-z", "--", home.name, seconds=_GIT_SECONDS, output_bytes=1 << 20)
    if ran.out or ran.cut:
        return True
    return False if ran.code == 0 else None
