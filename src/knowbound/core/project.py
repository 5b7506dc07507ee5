"""The project that a session worked in, by its folder: worktrees are the project they are of."""

from __future__ import annotations

import re
from collections.abc import Iterable

_WORKTREE = re.compile(r"^(?P<main>.+?)(?:/\.claude/worktrees|/\.?worktrees|[._-]{1,2}worktrees)/[^/]+")


def project_folder(folder: str) -> str:
    """The main folder of a project, where its worktrees are kept below it or beside it."""
    folder = folder.replace("\\", "/").rstrip("/")
    found = _WORKTREE.match(folder)
    return found["main"] if found else folder


def works_in(folder: str, roots: Iterable[str]) -> bool:
    """Whether a session worked in one of these folders, below it, or in one of its worktrees."""
    main = project_folder(folder)
    return any(main == root or main.startswith(root.rstrip("/") + "/") for root in roots)


def project_name(folder: str) -> str:
    """The name of a project: the last part of its folder. Clones of several people have one name."""
    return project_folder(folder).rpartition("/")[2]
