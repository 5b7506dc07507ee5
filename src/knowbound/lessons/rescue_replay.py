"""Rescue outside of a hook: the index is made or brought up to date first, then each event is answered."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from knowbound.codebase.kept_index.tree import KeptTree, open_tree
from knowbound.codebase.kept_index.update import open_index, update_index
from knowbound.errors import InputError
from knowbound.store.data_dir import CODEBASE

SECONDS = 10.0  # for the searches of one event: nobody waits for it
_WORK_SECONDS = 10_000.0


@contextmanager
def indexed(root: Path, home: Path) -> Iterator[KeptTree]:
    """The tree as it is now: by the index in the data folder where there is one, else by one for the time being."""
    with tempfile.TemporaryDirectory(prefix="knowbound-") as made:
        folder = home if (home / CODEBASE).exists() else Path(made)
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
