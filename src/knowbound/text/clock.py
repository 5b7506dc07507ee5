"""The time as it is stored and shown: UTC, to the second."""

from __future__ import annotations

from datetime import UTC, datetime


def utc_now() -> str:
    """Now, as an ISO time that sorts as text."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
