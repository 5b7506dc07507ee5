"""What was injected: by us, and by others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from knowbound.agent.doctor.check import NOTE, OK, PROBLEM, HealthCheck
from knowbound.config import Settings
from knowbound.errors import KnowboundError, StoreError
from knowbound.injection.log import read_log
from knowbound.injection.upkeep import tidy
from knowbound.store.data_dir import FINDINGS
from knowbound.store.observed import Observed


def check_injections(settings: Settings) -> Iterator[HealthCheck]:
    """What the hooks recorded, in the last days that are kept."""
    try:
        tidy(settings.home, settings.injection_log_days)
        log = read_log(settings.home)
    except (KnowboundError, OSError) as error:
        yield HealthCheck("injections", PROBLEM, f"cannot be read: {error}")
        return
    if log.records or log.torn:
        delivered = sum(record.delivered is True for record in log.records)
        lost = f", {log.torn} lines could not be read: the disk was full" if log.torn else ""
        found = f"{len(log.records)} recorded, {delivered} with items that were delivered{lost}"
        yield HealthCheck("injections", NOTE if log.torn else OK, found)


def check_unmanaged(home: Path) -> Iterator[HealthCheck]:
    """What others injected, as `observe` saw it in the traces."""
    if not (home / FINDINGS).exists():
        return
    try:
        store = Observed(home)
        items = store.unmanaged()
        store.close()
    except StoreError:
        return  # the check of the databases names it
    if items:
        times = sum(item.injections for item in items)
        yield HealthCheck("injected by others", OK, f"{len(items)} items of unmanaged sources, injected {times} times")
