"""Paths of an event, relative to the root of the tree, also where the event was recorded on another machine."""

from __future__ import annotations

import os
import posixpath

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


_MADE = frozenset({"node_modules", ".venv", "site-packages", "__pycache__", ".git"})  # by tools: no place of the tree


class EventRoots:
    """Where the agent worked, and which folder of its machine the root of the tree stands for."""

    def __init__(self, cwd: str, root: str, is_folder: Callable[[str], bool]) -> None:
        root, cwd = root.rstrip("/"), posixpath.normpath(cwd.replace("\\", "/")) if cwd else ""
        roots = dict.fromkeys((root, os.path.realpath(root)))
        self._below = next((_below(cwd, one) for one in roots if _below(cwd, one) is not None), None)
        if self._below is None:  # recorded elsewhere: the end of its path that the tree has, too
            self._below = _known_end(cwd, is_folder) if posixpath.basename(cwd) != posixpath.basename(root) else ""
            own = cwd[: len(cwd) - len(self._below)].rstrip("/")
            roots |= dict.fromkeys((own,)) if own else {}
        self._roots = tuple(one for one in roots if one)

    def relative(self, path: str) -> str | None:
        """The path from the root, "" for the root itself; None where it leads out of the tree."""
        path = path.strip().replace("\\ ", " ")
        if path.startswith(("~", "$")):
            return None
        if path.startswith("/"):
            near = next((found for one in self._roots if (found := _below(path, one)) is not None), None)
        else:
            near = posixpath.normpath(posixpath.join(self._below or ".", path or "."))
        if near is None or near == ".." or near.startswith(("../", "/")) or not _MADE.isdisjoint(near.split("/")):
            return None
        return "" if near == "." else near


def _below(path: str, folder: str) -> str | None:
    if not path or not folder:
        return None
    if posixpath.normpath(path) == folder:
        return ""
    start = folder + "/"
    return posixpath.normpath(path[len(start) :]) if path.startswith(start) else None


def _known_end(cwd: str, is_folder: Callable[[str], bool]) -> str:
    parts = cwd.strip("/").split("/")
    ends = ("/".join(parts[at:]) for at in range(1, len(parts)))
    return next((end for end in ends if is_folder(end)), "")
