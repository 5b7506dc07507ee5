"""Moves what the hook recorded in its journals into the table `injected` of the index.

How far a journal was read is kept in the index, in the same transaction as the rows: every line arrives once, whoever
is killed. The candidate pool of an injection is in the row of its best-ranked item and '' in the others.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from knowbound.injection.record import JOURNAL, SESSIONS
from knowbound.store.data_dir import INDEX
from knowbound.store.database import Database

_COLUMNS = "session turn prompt_id time prompt item backend excerpt content_length confidence rank score pool".split()
_INSERT = f"INSERT INTO injected ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_STILL_WRITTEN = 3600.0  # seconds: a hook may hold the journal of a day that has just ended
_SILENT = 30 * 24 * 3600.0  # seconds: a session without an injection for so long starts anew


def collect(home: Path) -> int:
    """Move what is new in the journals into the index, and clear old files away; how many injections were new."""
    journals = sorted((home / JOURNAL).glob("*.jsonl"))
    if not journals or not (home / INDEX).exists():
        return 0
    with closing(Database(home / INDEX)) as index:
        count = sum(_collect(journal, index) for journal in journals)
    for session in (home / SESSIONS).glob("*"):
        if _age(session) > _SILENT:
            session.unlink(missing_ok=True)
    return count


def _collect(journal: Path, index: Database) -> int:
    key = f"{JOURNAL}:{journal.name}"
    is_over = journal.stem < time.strftime("%Y-%m-%d", time.gmtime()) and _age(journal) > _STILL_WRITTEN
    with index.writing() as db:
        row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        done = int(row[0]) if row else 0
        with journal.open("rb") as file:
            file.seek(done)
            new = file.read()
        whole = new[: new.rfind(b"\n") + 1]  # a line that is being written waits
        injections = [rows for line in whole.splitlines() if (rows := list(_rows(line)))]
        for rows in injections:
            db.executemany(_INSERT, rows)
        if is_over:
            db.execute("DELETE FROM meta WHERE key = ?", (key,))
            journal.unlink()
        else:
            db.execute("REPLACE INTO meta (key, value) VALUES (?, ?)", (key, str(done + len(whole))))
    return len(injections)


def _rows(line: bytes) -> Iterator[tuple[object, ...]]:
    """The rows of one journal line; a line that a full disk cut short has none."""
    try:
        injection = json.loads(line)
        pool = json.dumps(injection["pool"], separators=(",", ":"))
        common = [injection[name] for name in _COLUMNS[:5]]
        for place, item in enumerate(injection["items"]):
            yield (*common, *(item[name] for name in _COLUMNS[5:12]), "" if place else pool)
    except (ValueError, KeyError, TypeError):
        return


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
