"""Amount of traces in a report: its sessions, excluded sessions with the reason, known lines and calls."""

from __future__ import annotations

from enum import StrEnum

import msgspec


class LeftOut(StrEnum):
    """Reason why a session is not in a report."""

    OTHER_PROJECT = "other_project"
    OTHER_AGENT = "other_agent"
    BEFORE = "before"  # it ended before the time that was asked for
    FORGOTTEN = "forgotten"  # `knowbound forget`
    UNREADABLE = "unreadable"  # its file could not be read


class SessionsRead(msgspec.Struct, frozen=True):
    """The sessions of a report, and the number of excluded sessions by reason."""

    read: int = 0
    left_out: dict[LeftOut, int] = {}

    @property
    def found(self) -> int:
        """Number of sessions that were found."""
        return self.read + sum(self.left_out.values())


class ReadShares(msgspec.Struct, frozen=True):
    """Trace lines and tool calls that were read, and those that knowbound does not know: a newer client has many."""

    lines: int = 0
    unread: int = 0
    calls: int = 0
    unknown: int = 0

    def __add__(self, other: ReadShares) -> ReadShares:
        return ReadShares(
            self.lines + other.lines, self.unread + other.unread, self.calls + other.calls, self.unknown + other.unknown
        )

    @property
    def of_lines(self) -> float | None:
        """Share of unknown lines; None without any."""
        return self.unread / self.lines if self.lines else None

    @property
    def of_calls(self) -> float | None:
        """Share of unknown calls; None without any."""
        return self.unknown / self.calls if self.calls else None

    def to_json(self) -> dict[str, float | None]:
        """Return both shares under the names that reports have."""
        return {"unknown_lines": self.of_lines, "unknown_tools": self.of_calls}
