"""Whether a data folder is this user's own (`.knowbound/owner`). The hook loads it: it imports only os.

What came with a checkout is not ours: its items would be injected into an agent's context, its cached answers and
verdicts believed. So a data folder carries a mark that only the user's key can make, and so does the index in it, which
the hook reads for every prompt: `git pull` replaces ignored files silently. A folder that git tracks is never used, so
lessons, which rescue reads too (accepted_lessons.py), cannot come with a checkout either. A folder without a mark that
git does not track is of an earlier version: it is marked once, and that is said.
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
    path = os.path.join(home, OWNER)
    try:
        if os.path.islink(home) or not is_of_this_account(home):
            return ANOTHERS
        if os.path.lexists(path) and (os.path.islink(path) or not os.path.isfile(path)):
            return ANOTHERS  # a link, or a pipe that nobody writes to
        with open(path, encoding="utf-8") as file:
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


def name_of(home: str | Path) -> str:
    """The random name in the folder's mark, by which a shared store knows what came from it; "" where it has none."""
    from knowbound.errors import StoreError  # noqa: PLC0415

    try:
        return mark_folder(home).partition(" ")[0]
    except StoreError:  # another's, or no key can be kept
        return ""


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
    try:
        adopt(home)
    except StoreError as error:
        return f"{error.args[0]} Until then hooks do not use it."
    return f"{home} had no mark of its owner: it is marked as yours now. If it came from somebody else, delete it."


def refuse_tracked(home: Path) -> bool | None:
    """Raise StoreError where git tracks the folder; otherwise what `is_tracked` says.

    A folder of ours that git tracks may hold files of others since the last pull: it loses its mark.
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
    """Whether a repository around the folder tracks anything in it: then it came with the checkout. None: unknown.

    Every repository above is asked, by its own name: one inside another would hide it, and a bare one in the middle of
    a checkout would be taken for it. Its last commit is asked, too: the list of tracked files may be missing.
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
    """Whether git may track something in the folder, from the lists of files alone: the hook has no time for more."""
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
    """Whether the repository's list of tracked files has the name. A list that we cannot read has it."""
    try:
        if os.path.isfile(git):  # a work tree or a submodule: the file says where its repository is
            with open(git, "rb") as file:
                git = os.path.join(os.path.dirname(git), os.fsdecode(file.read(4096).removeprefix(b"gitdir:").strip()))
        if any(entry.startswith("sharedindex.") for entry in os.listdir(git)):
            return True  # in two files
        with open(os.path.join(git, "index"), "rb") as file:
            listed = file.read()
    except FileNotFoundError:
        return False  # nothing is tracked yet
    except OSError:
        return True
    if listed[4:8] not in (b"\0\0\0\2", b"\0\0\0\3"):
        return True  # names are shortened there
    at = listed.find(name)
    while at >= 0:
        # Before a name are its length and flags; before the end of a longer path is a slash after something readable.
        is_whole = listed[at - 1 : at] != b"/" or listed[at - 2] < ord(" ")
        if is_whole and listed[at + len(name) : at + len(name) + 1] in (b"/", b"\0"):
            return True
        at = listed.find(name, at + 1)
    return False
