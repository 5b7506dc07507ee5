"""What was injected: by us, and by others."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from knowbound.agent.doctor.check import NOTE, OK, PROBLEM, HealthCheck
from knowbound.errors import KnowboundError, StoreError
from knowbound.injection.collect import TORN, collect
from knowbound.store.data_dir import FINDINGS, INDEX
from knowbound.store.observed import Observed
from knowbound.store.read_only import open_read_only


def check_injections(home: Path) -> Iterator[HealthCheck]:
    """What the hooks recorded, brought into the index: nobody has to remember to."""
    try:
        db = open_read_only(home / INDEX)
        if db is None:
            return
        with closing(db):
            collect(home)
            count = db.execute("SELECT count(*) FROM injected").fetchone()[0]
            torn = db.execute("SELECT value FROM meta WHERE key = ?", (TORN,)).fetchone()
    except (KnowboundError, sqlite3.Error, OSError) as error:
        yield HealthCheck("injections", PROBLEM, f"cannot be recorded: {error}")
    else:
        lost = f", {torn[0]} could not be read: the disk was full" if torn else ""
        yield HealthCheck("injections", NOTE if torn else OK, f"{count} recorded{lost}")


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
