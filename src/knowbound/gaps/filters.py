"""Filters which sessions and samples a report is about."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from knowbound.core.audit import AuditedSession
from knowbound.core.paths import works_in
from knowbound.core.reading import LeftOut
from knowbound.core.signal import Findings
from knowbound.errors import InputError

# What marks a folder as a project.
_MARKS = (
    ".git", ".hg", ".jj", "CLAUDE.md", "AGENTS.md", "GEMINI.md", ".claude", ".codex", ".cursor", "knowbound.toml",
    "pyproject.toml", "setup.py", "package.json", "deno.json", "go.mod", "Cargo.toml", "pom.xml", "build.gradle",
    "build.gradle.kts", "Gemfile", "composer.json", "mix.exs", "Package.swift", "CMakeLists.txt",
)  # fmt: skip


def project_at(root: Path) -> str:
    """The folder, if it is a project. A home folder is none, whatever agents and dotfiles keep in it."""
    is_home = root in (Path.home().resolve(), Path(root.anchor))
    return str(root) if not is_home and any((root / name).exists() for name in _MARKS) else ""


class Filters(msgspec.Struct, frozen=True):
    """Which sessions and samples the report is about; everything is read and kept all the same."""

    since: str = ""  # ISO time: sessions that were active since
    project: str = ""  # a folder, and what is below it, or the name of one
    skill: str = ""
    agent: str = ""

    def admits(self, found: Findings | AuditedSession) -> bool:
        """Whether a session is in the report."""
        return self.why_not(found) is None

    def why_not(self, found: Findings | AuditedSession) -> LeftOut | None:
        """Return the reason why a session is not in the report; None if it is."""
        if not self.has_project(found):
            return LeftOut.OTHER_PROJECT
        if self.agent and found.agent != self.agent:
            return LeftOut.OTHER_AGENT
        return LeftOut.BEFORE if self.since and (not found.ended or found.ended < self.since) else None

    def has_project(self, found: Findings | AuditedSession) -> bool:
        """Whether a session is of the project."""
        if "/" in self.project:
            return works_in(found.project, (self.project,))
        return not self.project or self.project in found.project.split("/")

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
