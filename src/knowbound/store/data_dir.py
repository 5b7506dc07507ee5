"""Where our data are, and how they are written: for the user alone. The hook loads it: it imports only built-ins."""

from __future__ import annotations

import _thread  # threading itself costs 4 ms
import errno
import os

DATA_FOLDER = ".knowbound"
FINDINGS = "knowbound.db"  # what `observe`, `eval` and judges found
ITEMS = "items.db"  # the embedded backend of items
INDEX = "index.db"  # the items of every backend, as they are searched and injected
EVALS = "evals"  # the run folders of evaluations
PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700  # whatever the umask: prompts and transcripts are the user's alone


def data_folder(cwd: str) -> tuple[str, str]:
    """The project's root and its data folder: the nearest one upwards, or what KNOWBOUND_HOME names; "" without one.

    A data folder of another user is passed by: on a shared machine anyone can put one above a project.
    """
    if given := os.environ.get("KNOWBOUND_HOME"):
        given = os.path.abspath(os.path.expanduser(given))
        return cwd, given if os.path.isdir(given) else ""
    folder = os.path.abspath(cwd)
    while True:
        home = os.path.join(folder, DATA_FOLDER)
        if os.path.isdir(home) and _is_trusted(home):
            return folder, home
        parent = os.path.dirname(folder)
        if parent == folder:
            return cwd, ""
        folder = parent


def state_folder() -> str:
    """Where things of the user are kept that belong to no project: backups of settings, a log with no other place."""
    base = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(base, "knowbound")


def append(path: str, data: bytes) -> int:
    """Add whole lines to the end of a file of the user alone, or raise OSError; the file's new size.

    One write, so that processes do not mix theirs. Where a full disk cut the line before us short, ours begins a new
    one: only that line is lost, and its writer was told.
    """
    flags = os.O_RDWR | os.O_APPEND | os.O_CREAT
    try:
        file = os.open(path, flags, PRIVATE_FILE)
    except FileNotFoundError:
        make_folder(os.path.dirname(path))
        file = os.open(path, flags, PRIVATE_FILE)
    try:
        if os.lseek(file, 0, os.SEEK_END):
            os.lseek(file, -1, os.SEEK_END)
            if os.read(file, 1) != b"\n":
                data = b"\n" + data
        written = os.write(file, data)
        if written < len(data):
            raise OSError(errno.ENOSPC, f"only {written} of {len(data)} bytes were written", path)
        return os.fstat(file).st_size
    finally:
        os.close(file)


def make_folder(path: str | os.PathLike[str]) -> None:
    """A folder of the user alone, with the folders above it that are missing; one that is there stays as it is."""
    missing = []
    folder = os.path.abspath(path)
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    for folder in reversed(missing):
        try:
            os.mkdir(folder, PRIVATE_FOLDER)
        except FileExistsError:  # another process was quicker, or a file is in the way
            if not os.path.isdir(folder):
                raise


def make_file(path: str | os.PathLike[str], data: bytes) -> None:
    """A file of the user alone with this content, whole or not at all: whoever finds it finds all of it."""
    draft = f"{os.fspath(path)}.{os.getpid()}-{_thread.get_ident()}"
    file = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_NOFOLLOW", 0), PRIVATE_FILE)
    try:
        with open(file, "wb") as opened:
            opened.write(data)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise


def keep_private(path: str | os.PathLike[str]) -> None:
    """Take a file or folder of ours, which an earlier version left readable for others, from them, where we can."""
    found = os.stat(path)
    if found.st_mode & 0o077:
        try:
            os.chmod(path, found.st_mode & 0o700)
        except OSError:  # another user's, or a file system that cannot be written
            return


def _is_trusted(home: str) -> bool:
    if not hasattr(os, "getuid"):
        return True
    return os.getuid() == 0 or os.stat(home).st_uid in (0, os.getuid())
