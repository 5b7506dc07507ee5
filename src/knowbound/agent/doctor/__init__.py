"""The health of an installation. The checks repair nothing."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

OK, NOTE, PROBLEM = "ok", "note", "problem"


class HealthCheck(msgspec.Struct, frozen=True, omit_defaults=True):
    """One check: its name, its state, what was found, and what to do."""

    name: str
    state: str
    found: str
    do: str = ""  # the next command, if one helps


def first_wrong(name: str, findings: Iterable[tuple[object, str, str, str]]) -> HealthCheck | None:
    """Return the first finding whose condition holds, the worst being listed first: condition, state, found, do."""
    checks = (HealthCheck(name, state, found, do) for is_wrong, state, found, do in findings if is_wrong)
    return next(checks, None)
