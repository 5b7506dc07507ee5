"""Reads an event of a client's hooks, PostToolUse or PostToolUseFailure: what it looked for and did not find.

What a miss is, and what it was for, is decided as for transcripts (`traces/`): specification 1, source 1 and section
10. What was looked for in temporary folders, or in the output of a program, is left alone.
"""

from __future__ import annotations

import os
import posixpath
import re

from knowbound.core.lazy_pattern import lazy
from knowbound.core.tool_kinds import LookupIntent, ToolKind
from knowbound.lessons.rescue.lookup import GLOB, PATH, PATTERN, MissedLookup, is_wild
from knowbound.traces.calls.intent import tool_intent
from knowbound.traces.calls.tools import kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


_OF_TOOLS = frozenset({"node_modules", ".venv", "site-packages", "__pycache__", ".git"})  # no places of the tree
_NOT_THERE = lazy(r"does not exist|doesn't exist|no such (?:file|directory|path)|enoent|path not found", re.IGNORECASE)
_DRIVE, _SHELL_DRIVE = lazy(r"[A-Za-z]:[\\/]"), lazy(r"/[A-Za-z]/")
_LONGEST = 1_000  # characters of a query
_ERROR_CHARACTERS = 600  # that are read: the reason comes first
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
        if path.startswith(("~", "$")):
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
    error = event.get("error")
    if isinstance(error, str):
        is_miss = _NOT_THERE.search(error[:_ERROR_CHARACTERS]) is not None
    else:
        is_miss = kind is not ToolKind.READ and _is_empty(event.get("tool_response"))
    if not is_miss or kind not in (ToolKind.SEARCH, ToolKind.LIST, ToolKind.READ):
        return []
    read = {ToolKind.SEARCH: _search, ToolKind.LIST: _read_or_list, ToolKind.READ: _read_or_list}[kind]
    found = read(name, given, roots, _text(event, "cwd"))
    return [found] if found else []


def _is_empty(response: object) -> bool:
    """Report whether a search came back with nothing: no file, no line, no count."""
    if isinstance(response, dict):
        found = any(response.get(key) for key in ("filenames", "numLines", "numMatches"))
        is_search = not {"filenames", "numFiles", "content"}.isdisjoint(response)
        return is_search and not found and not str(response.get("content") or "").strip()
    if isinstance(response, str):
        from knowbound.traces.calls.outcome import is_empty_result  # noqa: PLC0415

        return is_empty_result(response)
    return False


def _search(name: str, given: dict[str, Any], roots: EventRoots, cwd: str) -> MissedLookup | None:
    """Return the lookup of a call of Grep or Glob; None if it is outside of the tree, or incidental."""
    query, place = _text(given, "pattern")[:_LONGEST], _text(given, "path")
    intent, wrong = tool_intent(name, ToolKind.SEARCH, given, query, place, _text(given, "description"), cwd)
    if not query or intent is LookupIntent.INCIDENTAL:
        return None
    is_check = intent is LookupIntent.CHECK
    if name.lower() == "glob":
        return glob_lookup(query, place, roots, wrong=wrong, is_check=is_check, tool=name)
    near = roots.relative(place) if place else roots.relative("")
    if near is None:
        return None
    glob = _text(given, "glob")
    return MissedLookup(
        PATTERN,
        query,
        (near,) if near else (),
        (glob,) if glob else (),
        type=_text(given, "type"),
        ignore_case=bool(given.get("-i")),
        wrong=wrong,
        is_check=is_check,
        tool=name,
    )


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


def _read_or_list(name: str, given: dict[str, Any], roots: EventRoots, cwd: str) -> MissedLookup | None:
    """Return the lookup of a call of Read or LS; None if it is outside of the tree, or incidental."""
    keys = ("file_path", "path", "notebook_path", "absolute_path")
    path = next((_text(given, key) for key in keys if given.get(key)), "")
    intent, wrong = tool_intent(name, kind_of(name), given, path, "", "", cwd)
    near = roots.relative(path.strip("\"'`"))
    if not near or intent is LookupIntent.INCIDENTAL:
        return None
    return MissedLookup(PATH, near, wrong=wrong, tool=name)


def _text(given: Mapping[str, Any], key: str) -> str:
    value = given.get(key)
    return value if isinstance(value, str) else ""
