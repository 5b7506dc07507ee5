"""Whether turns that have ended are scored: what waits, what the worker did last, what no judge could decide."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from knowbound.agent.doctor.check import NOTE, OK, PROBLEM, HealthCheck
from knowbound.agent.score_start import SCORING
from knowbound.agent.score_worker import FAILED, LOG
from knowbound.config import Settings
from knowbound.quality.queue import EndedRecord, Queue
from knowbound.store.data_dir import ITEMS
from knowbound.store.read_only import open_read_only

_LATE_MINUTES = 10  # that a turn may wait: the worker starts when it ends, and takes seconds
_NOW, _AGAIN = "knowbound quality score --queue", "knowbound quality score --again"


def check_scoring(settings: Settings) -> Iterator[HealthCheck]:
    """Nothing where no turn has ended yet."""
    waiting, last = Queue(settings.home).pending() or [], _last_run(settings.home)
    if not waiting and last is None:
        return
    ran = f"the last run, {last['time']}, {_did(last)}" if last else "the worker has not run yet"
    found = f"{len(waiting)} in the queue; {ran}"
    if last is not None and last["event"] == FAILED:
        yield HealthCheck("scoring", PROBLEM if waiting else NOTE, found, _NOW)  # by hand it is not logged there
    elif _are_late(waiting) and not SCORING.is_running(str(settings.home)):
        yield HealthCheck("scoring", PROBLEM, found, _NOW)
    else:
        yield HealthCheck("scoring", OK, found)
    unscored, why = _unscored(settings.home)
    if unscored:
        yield HealthCheck("unscored turns", PROBLEM, f"{unscored} in the log without verdicts; the last: {why}", _AGAIN)


def _did(run: dict[str, Any]) -> str:
    if run["event"] == FAILED:
        return f"failed: {run.get('reason')}"
    return f"scored {run.get('turns')} turns"


def _are_late(waiting: list[EndedRecord]) -> bool:
    """Whether one has waited so long that the worker it started must have ended without it."""
    latest = (datetime.now(UTC) - timedelta(minutes=_LATE_MINUTES)).strftime("%Y-%m-%dT%H:%M:%SZ")
    return any(record.time < latest for record in waiting)


def _last_run(home: Path) -> dict[str, Any] | None:
    """What the worker logged last; the log may have just been put aside."""
    for path in (home / LOG, home / f"{LOG}.1"):
        try:
            lines = path.read_bytes().splitlines()
        except OSError:
            continue
        for line in reversed(lines):
            try:
                run = json.loads(line)
            except ValueError:
                continue
            if isinstance(run, dict) and run.keys() >= {"time", "event"}:
                return run
    return None


def _unscored(home: Path) -> tuple[int, str]:
    """Turns of the embedded log that have no verdicts, and why the last has none; a shared log is not asked."""
    query = "SELECT problem, count(*) OVER () FROM kms_quality_log WHERE problem <> '' ORDER BY scored_at DESC LIMIT 1"
    try:
        if (db := open_read_only(home / ITEMS)) is None:
            return 0, ""
        with closing(db):
            row = db.execute(query).fetchone()
    except sqlite3.Error:
        return 0, ""  # of an earlier version, or damaged: the check of the databases names that
    return (int(row[1]), str(row[0])) if row else (0, "")
