"""The time as it is stored and shown: UTC, to the second; and times of others as they can be compared."""

from __future__ import annotations

import re
from datetime import UTC, datetime

_USUAL = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?Z", re.ASCII)


def utc_now() -> str:
    """Now, as an ISO time that sorts as text."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def comparable_time(text: str) -> str:
    """A time of a trace as an ISO time in UTC, which sorts as text; "" for what is none. Without a zone it is UTC."""
    if not text or _USUAL.fullmatch(text):
        return text
    try:
        moment = datetime.fromisoformat(text)
        moment = moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return ""
    return moment.isoformat().replace("+00:00", "Z")
