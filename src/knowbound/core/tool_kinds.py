"""Kind, outcome and purpose of a tool call; syntax of a pattern. Hooks load this module: it imports only enum."""

from __future__ import annotations

from enum import StrEnum


class ToolKind(StrEnum):
    """Action of a tool call, whatever the name of the tool."""

    SEARCH = "search"
    LIST = "list"
    READ = "read"
    SHELL = "shell"
    EDIT = "edit"
    WEB = "web"
    OTHER = "other"


class Outcome(StrEnum):
    """Outcome of a tool call, as shown by the trace."""

    OK = "ok"
    EMPTY = "empty"  # the search ran and matched nothing
    MISSING = "missing"  # a path or name does not exist
    ERROR = "error"  # usage, permission, crash, or the error of a sibling call
    TIMEOUT = "timeout"
    REJECTED = "rejected"  # by the user or a permission rule
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"  # no result in the trace, or an unclear one


class LookupIntent(StrEnum):
    """Purpose of a lookup that missed, as shown by the call alone (specification 1, section 10)."""

    LOOKUP = "lookup"  # a search for knowledge
    CHECK = "check"  # an existence check: either answer was expected
    MALFORMED = "malformed"  # the pattern or the call itself was wrong; `reason` says how
    INCIDENTAL = "incidental"  # a filter over program output, the path of a program, state of the machine


class Syntax(StrEnum):
    """Syntax of a search pattern."""

    RUST = "rust"  # ripgrep, and the Grep of most agents
    PERL = "perl"  # grep -P, ag, ack
    EXTENDED = "extended"  # grep -E
    BASIC = "basic"  # grep
    FIXED = "fixed"  # grep -F
    GLOB = "glob"  # find -name, the Glob of agents


LOOKUPS = frozenset({ToolKind.SEARCH, ToolKind.LIST, ToolKind.READ})
MISSES = frozenset({Outcome.EMPTY, Outcome.MISSING})
