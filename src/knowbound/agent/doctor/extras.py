"""The optional packages."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from knowbound.agent.doctor.check import NOTE, OK, PROBLEM, HealthCheck
from knowbound.config import Settings
from knowbound.distribution import extra_command
from knowbound.kms.opening import BACKENDS

_EXTRAS = {name: package for name, package in BACKENDS.items() if package} | {"llm": "pydantic_ai"}


def check_extras(settings: Settings) -> Iterator[HealthCheck]:
    """Each extra; one that a configured backend needs is a problem."""
    for extra, module in _EXTRAS.items():
        if find_spec(module):
            yield HealthCheck(f"extra {extra}", OK, "installed")
        else:
            state = PROBLEM if extra in settings.kms_backends else NOTE
            yield HealthCheck(f"extra {extra}", state, "not installed", extra_command(extra))
