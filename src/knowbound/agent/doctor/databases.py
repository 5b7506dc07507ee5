"""The database files, and the items in the index."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from knowbound.agent.doctor.check import NOTE, OK, PROBLEM, HealthCheck
from knowbound.config import Settings
from knowbound.store.data_dir import FINDINGS, INDEX
from knowbound.store.database import newest_schema
from knowbound.store.read_only import open_read_only

_UNFINISHED = {"pending", "intent"}  # tables of the index that only a killed writer leaves something in


def check_databases(home: Path) -> Iterator[HealthCheck]:
    """Each file by itself: whole, and of a schema that we know."""
    for name in (FINDINGS, INDEX):
        try:
            if db := open_read_only(home / name):
                with closing(db):
                    yield _database(name, db)
        except sqlite3.Error as error:
            yield HealthCheck(name, PROBLEM, f"cannot be opened: {error}", "knowbound explain store-unwritable")


def _database(name: str, db: sqlite3.Connection) -> HealthCheck:
    try:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        health = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        return HealthCheck(name, PROBLEM, f"damaged or not ours: {error}", "knowbound explain store-corrupt")
    if health != "ok":
        return HealthCheck(name, PROBLEM, f"damaged: {health}", "knowbound explain store-corrupt")
    if version > newest_schema(name):
        found = f"schema {version}, newer than ours ({newest_schema(name)})"
        return HealthCheck(name, PROBLEM, found, "update knowbound")
    return HealthCheck(name, OK, f"healthy, schema {version}")


def check_index(settings: Settings) -> Iterator[HealthCheck]:
    """The items of each backend, whether it was synchronised, and whether every write was completed."""
    try:
        db = open_read_only(settings.home / INDEX)
        if db is None:
            return
        with closing(db):
            rows = db.execute("SELECT backend, count(*), sum(served) FROM item GROUP BY backend ORDER BY backend")
            held = {backend: (items, served) for backend, items, served in rows}
            stamped = {
                key.removeprefix("stamp ") for (key,) in db.execute("SELECT key FROM meta WHERE key LIKE 'stamp %'")
            }
            known = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}  # it may be of an earlier schema
            left = [db.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in _UNFINISHED & known]
    except sqlite3.Error:
        return  # the check of the databases names it
    for backend in sorted({*held, *settings.kms_backends}):
        items, served = held.get(backend, (0, 0))
        if backend not in settings.kms_backends:
            yield HealthCheck(
                f"index of {backend}", NOTE, f"{items} items of a backend not in use", "knowbound kms sync"
            )
        elif backend not in stamped:
            yield HealthCheck(f"index of {backend}", PROBLEM, "never synchronised", "knowbound kms sync")
        else:
            yield HealthCheck(f"index of {backend}", OK, f"{items} items, {served} served")
    if not any(served for _, served in held.values()):
        yield HealthCheck("items", NOTE, "none is stored that could be injected", "knowbound kms import CLAUDE.md")
    if any(left):
        yield HealthCheck("index", PROBLEM, "a writer was killed: its change is to be completed", "knowbound kms sync")
