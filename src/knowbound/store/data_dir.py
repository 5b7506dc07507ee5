"""Where a project's data are, seen from the folder an agent works in. The hook loads it: it imports only os."""

from __future__ import annotations

import os

DATA_FOLDER = ".knowbound"
FINDINGS = "knowbound.db"  # what `observe`, `eval` and judges found
ITEMS = "items.db"  # the embedded backend of items
INDEX = "index.db"  # the items of every backend, as they are searched and injected
EVALS = "evals"  # the run folders of evaluations


def data_folder(cwd: str) -> tuple[str, str]:
    """The project's root and its data folder: the nearest one upwards, or what KNOWBOUND_HOME names; "" without one.

    A data folder of another account is passed by: on a shared machine anyone can put one above a project.
    """
    if given := os.environ.get("KNOWBOUND_HOME"):
        given = os.path.abspath(os.path.expanduser(given))
        return cwd, given if os.path.isdir(given) else ""
    folder = os.path.abspath(cwd)
    while True:
        home = os.path.join(folder, DATA_FOLDER)
        if os.path.isdir(home) and is_of_this_account(home):
            return folder, home
        parent = os.path.dirname(folder)
        if parent == folder:
            return cwd, ""
        folder = parent


def is_of_this_account(home: str | os.PathLike[str]) -> bool:
    """Whether the folder belongs to whoever runs this, or to the system."""
    if not hasattr(os, "getuid"):
        return True
    return os.getuid() == 0 or os.stat(home).st_uid in (0, os.getuid())
