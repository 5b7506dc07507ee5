"""Where a project's data are, seen from the folder an agent works in. The hook loads it: it imports only os."""

from __future__ import annotations

import os

DATA_FOLDER = ".knowbound"
FINDINGS = "knowbound.db"  # what `observe`, `eval` and judges found
ITEMS = "items.db"  # the embedded backend of items
INDEX = "index.db"  # the items of every backend, as they are searched and injected


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
    """Add to the end of a file of the user alone, in one write, so that processes do not mix theirs; its new size."""
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    try:
        file = os.open(path, flags, 0o600)
    except FileNotFoundError:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        file = os.open(path, flags, 0o600)
    try:
        os.write(file, data)
        return os.fstat(file).st_size
    finally:
        os.close(file)


def _is_trusted(home: str) -> bool:
    if not hasattr(os, "getuid"):
        return True
    return os.getuid() == 0 or os.stat(home).st_uid in (0, os.getuid())
