"""Whether hooks are switched off."""

from __future__ import annotations

from collections.abc import Iterator

from knowbound.agent.doctor.check import NOTE, HealthCheck
from knowbound.agent.switch import VARIABLE, off_state


def check_switch() -> Iterator[HealthCheck]:
    """That they are off, and since when; nothing where they are on."""
    if state := off_state():
        do = f"unset {VARIABLE}" if state.by_variable else "knowbound on"
        yield HealthCheck("hooks", NOTE, f"switched off, {state}: nothing is injected", do)
