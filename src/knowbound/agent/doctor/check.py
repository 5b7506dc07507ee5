"""One check of `doctor`: what was looked at, what was found, what to do."""

from __future__ import annotations

import msgspec

OK, NOTE, PROBLEM = "ok", "note", "problem"


class HealthCheck(msgspec.Struct, frozen=True, omit_defaults=True):
    """One thing that was looked at."""

    name: str
    state: str
    found: str
    do: str = ""  # the next command, where there is one
