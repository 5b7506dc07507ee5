"""Filters which sessions and samples a report is about."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import msgspec

from knowbound.core.signal import Findings
from knowbound.errors import InputError


class Filters(msgspec.Struct, frozen=True):
    """Which sessions and samples the report is about; everything is read and kept all the same."""

    since: str = ""  # ISO time: sessions that were active since
    project: str = ""
    skill: str = ""
    agent: str = ""

    def admits(self, found: Findings) -> bool:
        """Whether a session is in the report."""
        if self.since and (not found.ended or found.ended < self.since):
            return False
        if self.agent and found.agent != self.agent:
            return False
        if self.project:
            project = found.project.rstrip("/")
            return project == self.project.rstrip("/") or self.project in project.split("/")
        return True

    def shown(self) -> dict[str, str]:
        """The filters that were given."""
        return {name: value for name, value in msgspec.structs.asdict(self).items() if value}


def since(text: str, now: datetime | None = None) -> str:
    """`7d`, `12h`, `2w` or a date, as an ISO time to compare with."""
    now = now or datetime.now(UTC)
    units = {"h": "hours", "d": "days", "w": "weeks"}
    try:
        if text[-1:] in units and text[:-1].isdigit():
            then = now - timedelta(**{units[text[-1]]: int(text[:-1])})
            # Whole minutes: the same question within one has one answer.
            return then.replace(second=0, microsecond=0, tzinfo=None).isoformat()
        given = datetime.fromisoformat(text)
        if given.tzinfo is not None:
            given = given.astimezone(UTC)
        return given.replace(microsecond=0, tzinfo=None).isoformat()
    except (ValueError, OverflowError):
        raise InputError(
            "bad-since", f"--since {text!r} is neither a span (7d, 12h, 2w) nor a date (2026-11-01)."
        ) from None
