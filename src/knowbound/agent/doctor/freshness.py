"""Whether the index keeps up with the backends that other machines write to."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime

from knowbound.agent import hook_log
from knowbound.agent.doctor.check import NOTE, OK, PROBLEM, HealthCheck
from knowbound.agent.sync_worker import IDLE_SECONDS, LOG
from knowbound.config import Settings
from knowbound.kms.freshness import Freshness, freshness_of


def check_freshness(settings: Settings) -> Iterator[HealthCheck]:
    """Per shared backend: a problem where agents work with an index that is older than the bound."""
    for name in settings.shared_backends:
        found = freshness_of(settings.home, name)
        yield HealthCheck(f"sync of {name}", *_state(settings, found))


def _state(settings: Settings, found: Freshness) -> tuple[str, str, str]:
    bound = f"kms.sync_seconds = {settings.kms_sync_seconds}"
    if found.reason:
        since = f"failing since {found.failing_since}, last current {found.current_at}: {found.reason}"
        return PROBLEM, since, "knowbound kms sync"
    if not found.is_late(settings):
        return OK, f"current at {found.current_at} ({bound})", ""
    if not _agents_work(settings):
        return NOTE, f"last current {found.current_at}; the next hook starts the background sync", "knowbound kms sync"
    return PROBLEM, f"last current {found.current_at} ({bound}); {settings.home / LOG} says why", "knowbound kms sync"


def _agents_work(settings: Settings) -> bool:
    """Whether a hook ran so lately that a worker should run, and not in this very moment."""
    runs = [str(run.get("time", "")) for run in hook_log.runs(str(settings.home))]
    now = time.time()
    first, last = (
        datetime.fromtimestamp(now - seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        for seconds in (IDLE_SECONDS, 3 * settings.kms_sync_seconds)
    )
    return any(first <= run <= last for run in runs)
