"""A call of a search, a listing or a read that found nothing. A command line is read by `shell.py`."""

from __future__ import annotations

import re

from knowbound.core.lazy_pattern import lazy
from knowbound.core.tool_kinds import LookupIntent, ToolKind
from knowbound.lessons.rescue.event import glob_lookup, text_in
from knowbound.lessons.rescue.words import PATH, PATTERN, MissedLookup
from knowbound.traces.calls.intent import tool_intent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from knowbound.lessons.rescue.event import EventRoots

_NOT_THERE = lazy(r"does not exist|doesn't exist|no such (?:file|directory|path)|enoent|path not found", re.IGNORECASE)
_LONGEST = 1_000  # characters of a query
_ERROR_CHARACTERS = 600  # that are read: the reason comes first


def missed_lookup(
    event: Mapping[str, Any], name: str, kind: ToolKind, given: dict[str, Any], roots: EventRoots
) -> MissedLookup | None:
    """Return the lookup of a call; None if it found something, is incidental, or is outside of the tree."""
    error = event.get("error")
    if isinstance(error, str):
        is_miss = _NOT_THERE.search(error[:_ERROR_CHARACTERS]) is not None
    else:
        is_miss = kind is not ToolKind.READ and _is_empty(event.get("tool_response"))  # an empty file is no miss
    if not is_miss:
        return None
    lookup_of = _search if kind is ToolKind.SEARCH else _read_or_list
    return lookup_of(name, kind, given, roots, text_in(event, "cwd"))


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


def _search(name: str, kind: ToolKind, given: dict[str, Any], roots: EventRoots, cwd: str) -> MissedLookup | None:
    """Return the lookup of a call of Grep or Glob; None if it is outside of the tree, or incidental."""
    query, place = text_in(given, "pattern")[:_LONGEST], text_in(given, "path")
    intent, wrong = tool_intent(name, kind, given, query, place, text_in(given, "description"), cwd)
    if not query or intent is LookupIntent.INCIDENTAL:
        return None
    is_check = intent is LookupIntent.CHECK
    if name.lower() == "glob":
        return glob_lookup(query, place, roots, wrong=wrong, is_check=is_check, tool=name)
    near = roots.relative(place) if place else roots.relative("")
    if near is None:
        return None
    glob = text_in(given, "glob")
    return MissedLookup(
        PATTERN,
        query,
        (near,) if near else (),
        (glob,) if glob else (),
        type=text_in(given, "type"),
        ignore_case=bool(given.get("-i")),
        wrong=wrong,
        is_check=is_check,
        tool=name,
    )


def _read_or_list(name: str, kind: ToolKind, given: dict[str, Any], roots: EventRoots, cwd: str) -> MissedLookup | None:
    """Return the lookup of a call of Read or LS; None if it is outside of the tree, or incidental."""
    keys = ("file_path", "path", "notebook_path", "absolute_path")
    path = next((text_in(given, key) for key in keys if given.get(key)), "")
    intent, wrong = tool_intent(name, kind, given, path, "", "", cwd)
    near = roots.relative(path.strip("\"'`"))
    if not near or intent is LookupIntent.INCIDENTAL:
        return None
    return MissedLookup(PATH, near, wrong=wrong, tool=name)
