"""What a tool call does, how it ended and what it was for. The hook loads it: it imports only enum."""

from __future__ import annotations

from enum import StrEnum


class ToolKind(StrEnum):
    """What a tool call does, whatever the agent calls its tool."""

    SEARCH = "search"
    LIST = "list"
    READ = "read"
    SHELL = "shell"
    EDIT = "edit"
    WEB = "web"
    OTHER = "other"


class Outcome(StrEnum):
    """How a tool call ended, as far as the trace shows."""

    OK = "ok"
    EMPTY = "empty"  # the search ran and matched nothing
    MISSING = "missing"  # a path or name that is not there
    ERROR = "error"  # usage, permission, crash, or the error of a sibling call
    TIMEOUT = "timeout"
    REJECTED = "rejected"  # by the user or a permission rule
    CANCELLED = "cancelled"
    UNKNOWN = "unknown"  # no result in the trace, or one that does not say


class LookupIntent(StrEnum):
    """What a lookup that missed was for, as far as the call alone shows (specification 1, section 10)."""

    LOOKUP = "lookup"  # it looked for something
    CHECK = "check"  # it asked whether something is there: either answer was expected
    MALFORMED = "malformed"  # the pattern or the call itself was wrong; `reason` says how
    INCIDENTAL = "incidental"  # a filter over a program's output, a program's place, a state of the machine


LOOKUPS = frozenset({ToolKind.SEARCH, ToolKind.LIST, ToolKind.READ})
MISSES = frozenset({Outcome.EMPTY, Outcome.MISSING})
