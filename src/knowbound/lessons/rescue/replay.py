"""Rescue outside of a hook: the index is made or brought up to date first, then each event is answered."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from knowbound.codebase.kept_index import KeptTree, open_tree
from knowbound.codebase.kept_index_update import open_index, update_index
from knowbound.errors import InputError
from knowbound.store.data_dir import CODEBASE

SECONDS = 10.0  # for the searches of one event: nobody waits for it
_WORK_SECONDS = 10_000.0


@contextmanager
def indexed(root: Path, home: Path, *, keep: bool = False) -> Iterator[KeptTree]:
    """The tree as it is now: by the index in the data folder where there is one, else by one for the time being.

    With `keep` one is made in the data folder, where there is such a folder.
    """
    with tempfile.TemporaryDirectory(prefix="knowbound-") as made:
        folder = home if (home / CODEBASE).exists() or (keep and home.is_dir()) else Path(made)
        database = open_index(folder)
        try:
            update_index(database, root)
        finally:
            database.close()
        tree = open_tree(str(folder), str(root), work_seconds=_WORK_SECONDS, is_ours=True)
        if tree is None:
            raise InputError(
                "tree-too-large", f"{root} has more files than can be indexed, or listing them took too long."
            )
        try:
            yield tree
        finally:
            tree.close()


def as_event(pattern: str, path: str, glob: str, cwd: str) -> dict[str, Any]:
    """A search or a path that found nothing, as Claude Code reports it."""
    nothing = {"mode": "files_with_matches", "filenames": [], "numFiles": 0}
    if pattern:
        given = {"pattern": pattern} | ({"path": path} if path else {}) | ({"glob": glob} if glob else {})
        return {"tool_name": "Grep", "tool_input": given, "tool_response": nothing, "cwd": cwd}
    if glob:
        given = {"pattern": glob} | ({"path": path} if path else {})
        return {"tool_name": "Glob", "tool_input": given, "tool_response": nothing, "cwd": cwd}
    return {"tool_name": "Read", "tool_input": {"file_path": path}, "error": "File does not exist.", "cwd": cwd}
