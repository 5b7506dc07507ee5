"""Whose the data folder is, and which settings of the project count."""

from __future__ import annotations

import os
from collections.abc import Iterator

from knowbound.agent.doctor.check import NOTE, OK, PROBLEM, HealthCheck
from knowbound.config import Settings, risky_settings
from knowbound.store.owner import ANOTHERS, NOBODYS, is_tracked, owner_of
from knowbound.trust import is_trusted


def check_data_folder(settings: Settings) -> HealthCheck:
    """What is not this user's own is not looked into."""
    home, name = settings.home, "data folder"
    if not home.is_dir():
        return HealthCheck(name, NOTE, f"{home} is not there: nothing is stored yet", "knowbound kms add")
    if is_tracked(home):
        return HealthCheck(
            name, PROBLEM, f"{home} is tracked by git: it is not used", "knowbound explain store-tracked"
        )
    if not settings.home_is_given and owner_of(home) == ANOTHERS:
        return HealthCheck(name, PROBLEM, f"{home} was not made by you: it is not used", "knowbound trust")
    if not settings.home_is_given and owner_of(home) == NOBODYS:
        return HealthCheck(name, PROBLEM, f"{home} has no mark of its owner: hooks do not use it", "knowbound trust")
    if not os.access(home, os.W_OK):
        return HealthCheck(name, PROBLEM, f"{home} cannot be written", "set KNOWBOUND_HOME to another folder")
    return HealthCheck(name, OK, str(home))


def check_config(settings: Settings) -> Iterator[HealthCheck]:
    """Risky settings of the project that the user has not trusted."""
    risky = risky_settings(settings.root)
    if risky and not is_trusted(settings.root, risky):
        found = f"{', '.join(one.key for one in risky)} of the project: not trusted, refused"
        yield HealthCheck("config", NOTE, found, "knowbound trust")
