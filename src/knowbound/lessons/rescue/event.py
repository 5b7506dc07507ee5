"""Reads an event of a client's hooks, PostToolUse or PostToolUseFailure: what it looked for and did not find.

What a miss is, and what it was for, is decided as for transcripts (`traces/`): specification 1, source 1 and section
10. What was looked for in temporary folders, or in the output of a program, is left alone.
"""

from __future__ import annotations

import os
import posixpath

from knowbound.core.lazy_pattern import lazy
from knowbound.core.tool_kinds import LOOKUPS, ToolKind
from knowbound.lessons.rescue.words import GLOB, PATH, MissedLookup
from knowbound.traces.calls.tools import kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


_OF_TOOLS = frozenset({"node_modules", ".venv", "site-packages", "__pycache__", ".git"})  # no places of the tree
_DRIVE, _SHELL_DRIVE = lazy(r"[A-Za-z]:[\\/]"), lazy(r"/[A-Za-z]/")
_WILD = lazy(r"[*?{]|\[[^\]]*\]")
_MOST_LOOKUPS = 4  # of one call


class EventRoots:
    """The folder where the agent worked, and the folder of its machine that is the root of the tree."""

    def __init__(self, cwd: str, root: str, is_folder: Callable[[str], bool]) -> None:
        self._is_windows = bool(_DRIVE.match(cwd))
        root, cwd = root.rstrip("/"), posixpath.normpath(self._posix(cwd)) if cwd else ""
        roots = dict.fromkeys((root, os.path.realpath(root)))
        self._folder_in_tree = next((_below(cwd, root) for root in roots if _below(cwd, root) is not None), None)
        if self._folder_in_tree is None:  # recorded elsewhere: the end of its path that the tree has, too
            self._folder_in_tree = (
                _known_end(cwd, is_folder) if posixpath.basename(cwd) != posixpath.basename(root) else ""
            )
            own = cwd[: len(cwd) - len(self._folder_in_tree)].rstrip("/")
            roots |= dict.fromkeys((own,)) if own else {}
        self._roots = tuple(root for root in roots if root)

    def relative(self, path: str) -> str | None:
        """The path from the root, "" for the root itself; None where it leads out of the tree."""
        path = self._posix(path.strip()).replace("\\ ", " ")
        if path.startswith(("~", "$")):  # home folders and variables
            return None
        if path.startswith("/") or _DRIVE.match(path):
            near = next((found for root in self._roots if (found := _below(path, root)) is not None), None)
        else:
            near = posixpath.normpath(posixpath.join(self._folder_in_tree or ".", path or "."))
        if near is None or near == ".." or near.startswith(("../", "/")) or not _OF_TOOLS.isdisjoint(near.split("/")):
            return None
        return "" if near == "." else near

    def _posix(self, path: str) -> str:
        """A path of Windows with slashes and its drive in capitals, as `C:/`, also if a shell writes `/c/`."""
        if not self._is_windows:
            return path
        path = path.replace("\\", "/")
        path = f"{path[1]}:{path[2:]}" if _SHELL_DRIVE.match(path) else path
        return path[:1].upper() + path[1:] if _DRIVE.match(path) else path


def _below(path: str, folder: str) -> str | None:
    """Return a path relative to a folder, "" for the folder itself; None if it is not below it."""
    if not path or not folder:
        return None
    if posixpath.normpath(path) == folder:
        return ""
    start = folder + "/"
    return posixpath.normpath(path[len(start) :]) if path.startswith(start) else None


def _known_end(cwd: str, is_folder: Callable[[str], bool]) -> str:
    """Return the longest end of a path that is a folder of the tree; "" if there is none."""
    parts = cwd.strip("/").split("/")
    ends = ("/".join(parts[at:]) for at in range(1, len(parts)))
    return next((end for end in ends if is_folder(end)), "")


def missed_lookups(event: Mapping[str, Any], roots: EventRoots) -> list[MissedLookup]:
    """Return the lookups of a call that found nothing; none if it found something, or looked outside of the tree."""
    name, given = event.get("tool_name"), event.get("tool_input")
    if not isinstance(name, str) or not isinstance(given, dict) or event.get("is_interrupt"):
        return []
    kind = kind_of(name)
    if kind is ToolKind.SHELL:
        from knowbound.lessons.rescue.shell import shell_lookups  # noqa: PLC0415  # most calls are none

        return shell_lookups(event, name, given, roots)[:_MOST_LOOKUPS]
    if kind not in LOOKUPS:
        return []
    from knowbound.lessons.rescue.tool_calls import missed_lookup  # noqa: PLC0415  # a command line needs no tools

    found = missed_lookup(event, name, kind, given, roots)
    return [found] if found else []


def glob_lookup(
    glob: str, place: str, roots: EventRoots, *, wrong: str = "", is_check: bool = False, tool: str = ""
) -> MissedLookup | None:
    """A glob from the root, with what it means in `globs`; one without wildcards is a path."""
    folder = f"{place.rstrip('/')}/" if place and not glob.startswith(("/", "~")) else ""
    meant = roots.relative(f"{folder}{glob}")
    if not meant:
        return None
    if not is_wild(meant):
        return MissedLookup(PATH, meant, is_check=is_check, tool=tool)
    # An agent in a folder below may write the path from the root.
    globs = (meant, glob) if "/" in glob and not glob.startswith("/") else (meant,)
    return MissedLookup(GLOB, meant, globs=tuple(dict.fromkeys(globs)), wrong=wrong, is_check=is_check, tool=tool)


def is_wild(text: str) -> bool:
    """Report whether a text is a glob and not a plain path."""
    return _WILD.search(text) is not None


def text_in(given: Mapping[str, Any], key: str) -> str:
    """Return an input that is a text; "" for any other."""
    value = given.get(key)
    return value if isinstance(value, str) else ""
