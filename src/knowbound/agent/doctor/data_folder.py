"""Checks of the data folder: its owner, the trusted settings, the databases, and how current the indexes are."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from knowbound.agent.background import FAILED, INDEXING, SYNC
from knowbound.agent.doctor import NOTE, OK, PROBLEM, HealthCheck, first_wrong
from knowbound.agent.hook import log as hook_log
from knowbound.agent.worker import IDLE_SECONDS
from knowbound.codebase.kept_index import open_tree
from knowbound.config import Settings, risky_settings
from knowbound.kms.index.freshness import Freshness, freshness_of
from knowbound.store.data_dir import ANOTHERS, FINDINGS, INDEX, NOBODYS, owner_of
from knowbound.store.database import newest_schema
from knowbound.store.marking import is_tracked
from knowbound.store.read_only import open_read_only
from knowbound.trust import is_trusted

_UNFINISHED = {"pending", "intent"}  # tables of the index in which only a killed writer leaves rows
_TREE_SECONDS = 5.0


def check_data_folder(settings: Settings) -> HealthCheck:
    """Check whether the data folder is this user's own; any other is not looked into."""
    home, name = settings.home, "data folder"
    if not home.is_dir():
        return HealthCheck(name, NOTE, f"{home} is not there: nothing is stored yet", "knowbound kms add")
    owner = "" if settings.home_is_given else owner_of(home)  # a folder that the user names needs no mark
    trust = "knowbound trust"
    findings = (
        (is_tracked(home), PROBLEM, f"{home} is tracked by git: it is not used", "knowbound explain store-tracked"),
        (owner == ANOTHERS, PROBLEM, f"{home} was not made by you: it is not used", trust),
        (owner == NOBODYS, PROBLEM, f"{home} has no mark of its owner: hooks do not use it", trust),
        (not os.access(home, os.W_OK), PROBLEM, f"{home} cannot be written", "set KNOWBOUND_HOME to another folder"),
    )
    return first_wrong(name, findings) or HealthCheck(name, OK, str(home))


def check_config(settings: Settings) -> Iterator[HealthCheck]:
    """Note risky settings of the project that the user has not trusted."""
    risky = risky_settings(settings.root)
    if risky and not is_trusted(settings.root, risky):
        finding = f"{', '.join(setting.key for setting in risky)} of the project: not trusted, refused"
        yield HealthCheck("config", NOTE, finding, "knowbound trust")


def check_databases(home: Path) -> Iterator[HealthCheck]:
    """Check each database file: undamaged, and of a known schema."""
    for name in (FINDINGS, INDEX):
        try:
            if db := open_read_only(home / name):
                with closing(db):
                    yield _check_database(name, db)
        except sqlite3.Error as error:
            yield HealthCheck(name, PROBLEM, f"cannot be opened: {error}", "knowbound explain store-unwritable")


def _check_database(name: str, db: sqlite3.Connection) -> HealthCheck:
    """Check one database: that it is undamaged, and of a schema that we know."""
    try:
        version = db.execute("PRAGMA user_version").fetchone()[0]
        health = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    except sqlite3.Error as error:
        return HealthCheck(name, PROBLEM, f"damaged or not ours: {error}", "knowbound explain store-corrupt")
    if health != "ok":
        return HealthCheck(name, PROBLEM, f"damaged: {health}", "knowbound explain store-corrupt")
    if version > newest_schema(name):
        finding = f"schema {version}, newer than ours ({newest_schema(name)})"
        return HealthCheck(name, PROBLEM, finding, "update knowbound")
    return HealthCheck(name, OK, f"healthy, schema {version}")


def first_row(database: Path, query: str) -> tuple[Any, ...] | None:
    """Return the first row of a query; None without a database, with a damaged one or with one of an earlier schema."""
    return next(iter(all_rows(database, query)), None)


def all_rows(database: Path, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query; none without a database, with a damaged one or with one of an earlier schema."""
    try:
        if (db := open_read_only(database)) is None:
            return []
        with closing(db):
            return db.execute(query).fetchall()
    except sqlite3.Error:
        return []  # the check of the databases names it


def check_index(settings: Settings) -> Iterator[HealthCheck]:
    """Check the items of each backend, its synchronisation, and whether every write was completed."""
    try:
        db = open_read_only(settings.home / INDEX)
        if db is None:
            return
        with closing(db):
            rows = db.execute("SELECT backend, count(*), sum(served) FROM item GROUP BY backend ORDER BY backend")
            counts = {backend: (items, served) for backend, items, served in rows}
            stamps = db.execute("SELECT key FROM meta WHERE key LIKE 'stamp %'")
            synchronised = {key.removeprefix("stamp ") for (key,) in stamps}
            tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master")}  # earlier schemas lack some
            has_unfinished = any(
                db.execute(f"SELECT 1 FROM {name} LIMIT 1").fetchone() for name in _UNFINISHED & tables
            )
    except sqlite3.Error:
        return  # the check of the databases names it
    for backend in sorted({*counts, *settings.kms_backends}):
        items, served = counts.get(backend, (0, 0))
        name = f"index of {backend}"
        if backend not in settings.kms_backends:
            yield HealthCheck(name, NOTE, f"{items} items of a backend not in use", "knowbound kms sync")
        elif backend not in synchronised:
            yield HealthCheck(name, PROBLEM, "never synchronised", "knowbound kms sync")
        else:
            yield HealthCheck(name, OK, f"{items} items, {served} served")
    if not any(served for _, served in counts.values()):
        yield HealthCheck("items", NOTE, "none: no sentence is stored to be injected", "knowbound kms import docs")
    if has_unfinished:
        yield HealthCheck("index", PROBLEM, "a writer was killed: its change is to be completed", "knowbound kms sync")


def check_freshness(settings: Settings) -> Iterator[HealthCheck]:
    """Check each shared backend: an index older than the bound is a problem if agents work with it."""
    for name in settings.shared_backends:
        freshness = freshness_of(settings.home, name)
        yield HealthCheck(f"sync of {name}", *_freshness_finding(settings, freshness))


def _freshness_finding(settings: Settings, freshness: Freshness) -> tuple[str, str, str]:
    """Return the state, the finding and the command of the check of one backend."""
    bound, sync = f"kms.sync_seconds = {settings.kms_sync_seconds}", "knowbound kms sync"
    if freshness.reason:
        since = f"failing since {freshness.failing_since}, last current {freshness.current_at}"
        return PROBLEM, f"{since}: {freshness.reason}", sync
    if not freshness.is_late(settings):
        return OK, f"current at {freshness.current_at} ({bound})", ""
    if not _is_agent_working(settings):
        return NOTE, f"last current {freshness.current_at}; the next hook starts the background sync", sync
    return PROBLEM, f"last current {freshness.current_at} ({bound}); {settings.home / SYNC.log} says why", sync


def _is_agent_working(settings: Settings) -> bool:
    """Report whether a hook ran lately enough for a worker to run, and long enough ago for it to have synchronised."""
    runs = [str(run.get("time", "")) for run in hook_log.runs(str(settings.home))]
    now = time.time()
    earliest, latest = (
        datetime.fromtimestamp(now - seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        for seconds in (IDLE_SECONDS, 3 * settings.kms_sync_seconds)
    )
    return any(earliest <= run <= latest for run in runs)


def check_source_index(settings: Settings) -> Iterator[HealthCheck]:
    """Check the index of the source tree, if missed lookups are answered from it and a session has started."""
    if not settings.rescue_enabled:
        return
    last = INDEXING.last_note(str(settings.home))
    if last and last["event"] == FAILED:
        finding = f"the last update failed: {last.get('reason')}"
        yield HealthCheck("source index", NOTE, finding, "knowbound explain defect")
    elif tree := open_tree(str(settings.home), str(settings.root), work_seconds=_TREE_SECONDS):
        seconds = max(0.0, time.time() - tree.updated)
        age = f"{seconds / 60:.0f} minutes" if seconds < 2 * 3600 else f"{seconds / 3600:.0f} hours"
        yield HealthCheck("source index", OK, f"{len(tree.paths):,} files, {age} old")
        tree.close()
