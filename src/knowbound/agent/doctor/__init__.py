"""The health of an installation. The checks repair nothing."""

from __future__ import annotations

import msgspec

OK, NOTE, PROBLEM = "ok", "note", "problem"


class HealthCheck(msgspec.Struct, frozen=True, omit_defaults=True):
    """One check: its name, its state, what was found, and what to do."""

    name: str
    state: str
    found: str
    do: str = ""  # the next command, if one helps
