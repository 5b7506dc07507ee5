"""Opens a SQLite file only to read it. The hook loads this module: it imports os and sqlite3 alone."""

from __future__ import annotations

import os
import sqlite3


def open_read_only(path: str | os.PathLike[str], *, wait_seconds: float = 2.0) -> sqlite3.Connection | None:
    """The file as it is, or None where there is none; nothing is made or migrated."""
    if not os.path.exists(path):
        return None
    quoted = os.path.abspath(path).replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return sqlite3.connect(f"file:{quoted}?mode=ro", uri=True, timeout=wait_seconds)
