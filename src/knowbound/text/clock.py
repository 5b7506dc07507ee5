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
    if not text or _USUAL.fullmatch(text):  # it is in this form already
        return text
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return ""
    return moment.isoformat().replace("+00:00", "Z")


def iso_time(value: object, per_second: int = 1) -> str:
    """Return a time given as a number since 1970 as ISO text in UTC, "" if it is no such number."""
    if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value / per_second < 4e9:
        return ""
    return datetime.fromtimestamp(value / per_second, UTC).isoformat().replace("+00:00", "Z")
