"""Times as ISO text in UTC, which sorts: now, and the times of traces."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_USUAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z", re.ASCII)


def utc_now() -> str:
    """Return the current time, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def comparable_time(text: str) -> str:
    """Return a time of a trace as an ISO time in UTC, "" if it is no time. A time without a zone is UTC."""
    if not text or _USUAL.fullmatch(text):
        return text
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return ""
    return moment.isoformat().replace("+00:00", "Z")
