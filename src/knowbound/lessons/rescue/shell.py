"""Reads a command line that found nothing: each of its lookups (`traces/shell/`)."""

from __future__ import annotations

import posixpath
import re
from functools import partial

from knowbound.core.lazy_pattern import lazy
from knowbound.core.tool_kinds import MISSES, LookupIntent, Syntax, ToolKind
from knowbound.lessons.rescue.event import glob_lookup, is_wild
from knowbound.lessons.rescue.words import PATH, PATTERN, MissedLookup
from knowbound.traces.calls.tools import COMMAND_KEYS, first_text
from knowbound.traces.shell.lookup import read_result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from knowbound.lessons.rescue.event import EventRoots
    from knowbound.traces.shell.programs import ParsedCommand

_FOLDER = lazy(r"\s*cd\s+(\"[^\"]+\"|'[^']+'|[^\s;&|]+)\s*(?:&&|;)")
_IGNORES_CASE = lazy(
    r"\b(?:grep|rg|ag|egrep|fgrep|ack)\b(?:\s+--?[\w=-]+)*\s+-[A-Za-z]*i|\s-[A-Za-z]*i[A-Za-z]*\s*$|\s-i\s"
)
_INCLUDED = lazy(r"(?:--include[= ]|\s-g\s*|--glob[= ])(\"[^\"]+\"|'[^']+'|[^\s\"']+)")
_LISTED = lazy(
    r"\s*(?:cd\s+\S+\s*(?:&&|;)\s*)?(?:find|fd|git\s+ls-files|rg\s+--files|ls\s+-\w*R)\b[^|]*\|\s*(?:e?grep|rg|ag)\b"
)
_PLAIN = lazy(r"[\w.-]{4,}")
_NAMED = lazy(r"-i?name\s+(\"[^\"]+\"|'[^']+'|[^\s\"')]+)")
_CHECKING = lazy(r"\s*(?:check|verify|confirm|ensure|make sure|double[- ]check)\b", re.IGNORECASE)


def shell_lookups(event: Mapping[str, Any], name: str, given: dict[str, Any], roots: EventRoots) -> list[MissedLookup]:
    """The lookups of a command line, if it was one that looked something up and missed."""
    command = first_text(given, COMMAND_KEYS)
    cwd = event.get("cwd")
    output, exit_code, is_error = output_of(event)
    purpose = first_text(given, ("description", "explanation", "justification"))
    result = read_result(command, output, exit_code, is_error, purpose, cwd if isinstance(cwd, str) else "")
    if result.outcome not in MISSES or result.intent is LookupIntent.INCIDENTAL:
        return []
    is_check = result.intent is LookupIntent.CHECK or _CHECKING.match(purpose) is not None
    start = _FOLDER.match(command)
    folder = start[1].strip("\"'") if start else ""
    found: list[MissedLookup] = []
    for lookup in result.line.lookups:
        if not lookup.parsed.is_state:  # it asks for more than a state of services
            found += _lookups(lookup.parsed, command, folder, roots, name, is_check=is_check)
    return list(dict.fromkeys(found))


def output_of(event: Mapping[str, Any]) -> tuple[str, int | None, bool]:
    """Text, exit code and whether the client calls it a failure."""
    error, response = event.get("error"), event.get("tool_response")
    if isinstance(error, str):
        return error, None, True
    if isinstance(response, dict):
        texts = [str(response.get(key) or "") for key in ("stdout", "stderr", "output")]
        code = response.get("exit_code", response.get("exitCode"))
        if not isinstance(code, int):
            code = 1 if response.get("returnCodeInterpretation") == "No matches found" else 0
        return "\n".join(filter(None, texts)), code, bool(code > 1)  # 1: nothing was found
    return (response if isinstance(response, str) else ""), None, False


def _lookups(
    parsed: ParsedCommand, command: str, folder: str, roots: EventRoots, name: str, *, is_check: bool
) -> list[MissedLookup]:
    """Return what one program of a command line looked for: globs of a search by name, a pattern, or paths."""
    operands = [posixpath.join(folder, operand) if folder else operand for operand in parsed.operands]
    found: list[MissedLookup | None] = []
    of_glob = partial(glob_lookup, roots=roots, is_check=is_check, tool=name)
    filters_list = parsed.syntax is not Syntax.GLOB and _LISTED.match(command)
    if parsed.kind is ToolKind.SEARCH and filters_list:
        if _PLAIN.fullmatch(parsed.query):  # of a list of files: a part of their paths
            found.append(of_glob(f"**/*{parsed.query}*", folder))
    elif parsed.kind is ToolKind.SEARCH and parsed.program in ("find", "fd"):
        named = [glob.strip("\"'") for glob in _NAMED.findall(command)] or ([parsed.query] if parsed.query else [])
        found += [of_glob(f"**/{glob}", place) for glob in named for place in operands or [folder]]
    elif parsed.kind is ToolKind.SEARCH:
        found.append(_pattern(parsed, command, operands or [folder], roots, name, is_check=is_check))
    else:
        for operand in operands:
            if is_wild(operand):
                found.append(of_glob(operand, ""))
            elif near := roots.relative(operand):
                found.append(MissedLookup(PATH, near, is_check=is_check, tool=name))
    return [lookup for lookup in found if lookup]


def _pattern(
    parsed: ParsedCommand, command: str, places: list[str], roots: EventRoots, name: str, *, is_check: bool
) -> MissedLookup | None:
    """Grep and the like, over files; what they filter out of a program's output is not in the tree."""
    is_over_files = parsed.operands or parsed.program in ("rg", "ag", "ack", "ripgrep", "git")
    if parsed.syntax in (None, Syntax.GLOB) or not parsed.query or not is_over_files:
        return None
    where = tuple(near for place in places if (near := roots.relative(place)) is not None and not is_wild(near))
    if not where:
        return None
    return MissedLookup(
        PATTERN,
        parsed.query,
        () if "" in where else where,
        tuple(glob.strip("\"'") for glob in _INCLUDED.findall(command)),
        syntax=str(parsed.syntax),
        ignore_case=_IGNORES_CASE.search(command) is not None,
        is_check=is_check,
        tool=name,
        hides_errors="2>/dev/null" in command,
    )
