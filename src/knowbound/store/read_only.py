"""Opens SQLite files for reading only. Hooks load this module: it imports os and sqlite3 alone."""

from __future__ import annotations

import os
import sqlite3

HOOK_WAIT_SECONDS = 0.05  # wait for a writer


def open_read_only(
    path: str | os.PathLike[str], *, wait_seconds: float = 2.0, factory: type[sqlite3.Connection] = sqlite3.Connection
) -> sqlite3.Connection | None:
    """Open the file; None if it does not exist. Nothing is created or migrated."""
    if not os.path.exists(path):
        return None
    quoted = os.path.abspath(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    db = sqlite3.connect(f"file:{quoted}?mode=ro", uri=True, timeout=wait_seconds, factory=factory)
    db.execute("PRAGMA trusted_schema = OFF")  # a view or a trigger may not call functions with side effects
    return db
