"""What was injected: by us, and by others."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from knowbound.agent.doctor.check import NOTE, OK, PROBLEM, HealthCheck
from knowbound.errors import KnowboundError
from knowbound.injection.log import read_log
from knowbound.store.data_dir import FINDINGS
from knowbound.store.read_only import open_read_only


def check_injections(home: Path) -> Iterator[HealthCheck]:
    """What the hooks recorded, in the last days that are kept."""
    try:
        log = read_log(home)
    except (KnowboundError, OSError) as error:
        yield HealthCheck("injections", PROBLEM, f"cannot be read: {error}")
        return
    if log.records or log.pulls or log.torn:
        delivered = sum(record.delivered is True and bool(record.items) for record in log.records)
        lost = f", {log.torn} lines could not be read: the disk was full" if log.torn else ""
        pulled = f"; {len(log.pulls)} pulled by agents" if log.pulls else ""
        found = f"{len(log.records)} recorded, {delivered} with items that were delivered{pulled}{lost}"
        yield HealthCheck("injections", NOTE if log.torn else OK, found)


def check_unmanaged(home: Path) -> Iterator[HealthCheck]:
    """What others injected, as `observe` saw it in the traces."""
    try:
        db = open_read_only(home / FINDINGS)
        if db is None:
            return
        with closing(db):
            items, times = db.execute("SELECT count(DISTINCT item), count(*) FROM unmanaged_injection").fetchone()
    except sqlite3.Error:
        return  # the check of the databases names it, or it is of an earlier schema
    if items:
        yield HealthCheck("injected by others", OK, f"{items} items of unmanaged sources, injected {times} times")
