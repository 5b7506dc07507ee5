"""Secrets that were found in transcripts: where each lies, never its value."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec


class SecretPlace(msgspec.Struct, frozen=True):
    """A line of a transcript with a secret."""

    file: str
    line: int  # in a database, the number of the row


class LeakedSecret(msgspec.Struct):
    """One secret, wherever it lies."""

    kind: str
    first: str  # time of the first line that has it, or of its file: it has been there at least since then
    lines: int = 0
    places: list[SecretPlace] = []
    files: int = 0


class SecretScan(msgspec.Struct):
    """The secrets of some transcripts, and what was looked at."""

    secrets: list[LeakedSecret] = []
    files: int = 0
    lines: int = 0
    unreadable: list[str] = []


def age_in_days(time: str) -> int | None:
    """Return the days since a time; None if it is unknown."""
    try:
        then = datetime.fromisoformat(time)
    except ValueError:
        return None
    then = then if then.tzinfo else then.replace(tzinfo=UTC)
    return max(0, (datetime.now(UTC) - then).days)
