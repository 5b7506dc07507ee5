"""Intent of a lookup that missed, from the call alone (specification 1, section 10).

A malformed call is malformed before all else, and an incidental one is no check of the project.
"""

from __future__ import annotations

from typing import Any

from knowbound.core.lazy_pattern import lazy
from knowbound.core.paths import is_machine_state
from knowbound.core.tool_kinds import LookupIntent, Syntax, ToolKind

# Syntax of the patterns of agents' tools (patterns.Syntax); it is unknown for other tools.
_SYNTAX = {
    **dict.fromkeys(("grep", "rg", "ripgrep", "grep_search", "grep_files", "search_files"), "rust"),
    "search_file_content": "extended",
    "glob": "glob",
}
# Names that agents give as a file type, and that ripgrep refuses.
_UNKNOWN_TYPES = frozenset("tsx jsx mts cts mjs cjs yml javascript rs kt rb golang shell bash scss hpp cc".split())
_TYPE = lazy(r"\w+")
_QUOTES = "\"'`"


def tool_intent(
    name: str, kind: ToolKind, input_: dict[str, Any], query: str, where: str, purpose: str, folder: str
) -> tuple[LookupIntent, str]:
    """Return the intent of a call (no command line) that found nothing, and the fault of a malformed one.

    `folder` is the agent's working folder, "" if it is not known.
    """
    fault = _call_fault(name.lower(), kind, input_, query)
    if fault:
        return LookupIntent.MALFORMED, fault
    place = where or (query if kind is not ToolKind.SEARCH or query.startswith(("/", "~")) else "")
    if is_machine_state(place, folder):
        return LookupIntent.INCIDENTAL, ""
    is_check = input_.get("output_mode") == "count"
    if purpose and not is_check:
        from knowbound.traces.calls.purpose import announces_check  # noqa: PLC0415  # few calls have a description

        is_check = announces_check(purpose)
    return (LookupIntent.CHECK if is_check else LookupIntent.LOOKUP), ""


def _call_fault(name: str, kind: ToolKind, input_: dict[str, Any], query: str) -> str:
    """Return the fault of a call, in words; "" if it has none."""
    if kind is not ToolKind.SEARCH:
        return "quotes in a path" if query and (query[0] in _QUOTES or query[-1] in _QUOTES) else ""
    if name not in _SYNTAX:
        return ""
    from knowbound.traces.calls.patterns import fault, has_stray_quote, is_option  # noqa: PLC0415  # a path has none

    syntax = Syntax(_SYNTAX[name])
    if syntax is not Syntax.GLOB and is_option(query):
        return "an option as the pattern"
    if syntax is not Syntax.GLOB and has_stray_quote(query):
        return "a stray quote at the end of the pattern"
    glob, type_ = input_.get("glob"), input_.get("type")
    if isinstance(type_, str) and type_ and (type_ in _UNKNOWN_TYPES or not _TYPE.fullmatch(type_)):
        return f"ripgrep knows no file type `{type_[:40]}`"
    return fault(query, syntax, multiline=bool(input_.get("multiline"))) or (
        fault(glob, Syntax.GLOB) if isinstance(glob, str) else ""
    )
