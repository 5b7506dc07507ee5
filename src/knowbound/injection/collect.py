"""Moves what the hook recorded in its journals into the table `injected` of the index.

How far a journal was read is kept in the index, in the same transaction as the rows, and a journal is removed only
after that. A line counts once, by the id that the hook gave it (lines of earlier versions: by their place in the
journal), so reading it again after a kill changes nothing. A line that a full disk cut short is skipped and counted.
The candidate pool of an injection is in the row of its best-ranked item and '' in the others.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

from knowbound.injection.record import JOURNAL, SESSIONS
from knowbound.store.data_dir import INDEX
from knowbound.store.database import Database
from knowbound.store.erasing import blank_lines, sessions_in
from knowbound.store.forgotten import Forgotten, load_forgotten

TORN = "torn injections"  # the key in the table `meta`: how many lines could not be read
_COLUMNS = "session turn prompt_id time prompt item backend excerpt content_length confidence rank score pool".split()
_INSERT = (
    f"INSERT OR IGNORE INTO injected ({', '.join(_COLUMNS)}, record) VALUES ({', '.join('?' * (len(_COLUMNS) + 1))})"
)
_BEGINNING = b'{"time":'  # of every record; inside one its quotes are escaped
_STILL_WRITTEN = 3600.0  # seconds: a hook may hold the journal of a day that has just ended
_SILENT = 30 * 24 * 3600.0  # seconds: a session without an injection for so long starts anew

_Row = tuple[str | int | float, ...]


def collect(home: Path) -> int:
    """Move what is new in the journals into the index, and clear old files away; how many injections were new."""
    journals = sorted((home / JOURNAL).glob("*.jsonl"))
    if not journals or not (home / INDEX).exists():
        return 0
    forgotten = load_forgotten(home)
    if forgotten is not None:  # a session that goes on after it was forgotten
        for journal in journals:
            blank_lines(journal, partial(_is_of, forgotten), preview=False)
    with closing(Database(home / INDEX)) as index:
        count = sum(_collect(journal, index) for journal in journals)
    for session in (home / SESSIONS).glob("*"):
        if _age(session) > _SILENT:
            session.unlink(missing_ok=True)
    return count


def _collect(journal: Path, index: Database) -> int:
    key = f"{JOURNAL}:{journal.name}"
    is_over = journal.stem < time.strftime("%Y-%m-%d", time.gmtime()) and _age(journal) > _STILL_WRITTEN
    count = 0
    with index.writing() as db:
        row = db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        try:
            data = journal.read_bytes()
        except FileNotFoundError:  # another process was quicker
            return 0
        done = int(row[0]) if row and int(row[0]) <= len(data) else 0
        end = len(data) if is_over else data.rfind(b"\n") + 1  # a line that is being written waits
        torn = 0
        for place, line in _lines(data, done, end):
            rows, is_torn = _read(line, f"{journal.name}:{place}")
            count += db.executemany(_INSERT, rows).rowcount > 0
            torn += is_torn
        db.execute("REPLACE INTO meta (key, value) VALUES (?, ?)", (key, str(max(done, end))))
        if torn:
            db.execute("INSERT OR IGNORE INTO meta (key, value) VALUES (?, 0)", (TORN,))
            db.execute("UPDATE meta SET value = value + ? WHERE key = ?", (torn, TORN))
    if is_over:  # only now: what is committed needs its journal no longer
        journal.unlink(missing_ok=True)
        with index.writing() as db:
            db.execute("DELETE FROM meta WHERE key = ?", (key,))
    return count


def _is_of(forgotten: Forgotten, line: bytes) -> bool:
    """Whether a journal line is of a session that was forgotten."""
    return any(map(forgotten.has_session, sessions_in(line)))


def _lines(data: bytes, start: int, end: int) -> Iterator[tuple[int, bytes]]:
    """Each line with its place in the journal."""
    for line in data[start:end].splitlines(keepends=True):
        yield start, line
        start += len(line)


def _read(line: bytes, place: str) -> tuple[list[_Row], bool]:
    """The rows of a line, and whether a record in it was cut short; one that was glued to such a one is whole."""
    if not line.strip():
        return [], False
    for start in dict.fromkeys((0, max(0, line.rfind(_BEGINNING)))):
        try:
            return list(_rows(json.loads(line[start:]), place)), start > 0
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
    return [], True


def _rows(injection: dict[str, object], place: str) -> Iterator[_Row]:
    record = _plain(injection.get("id") or place)
    pool = json.dumps(injection["pool"], separators=(",", ":"))
    common = [_plain(injection[name]) for name in _COLUMNS[:5]]
    items = injection["items"]
    if not isinstance(items, list):
        raise TypeError
    for number, item in enumerate(items):
        yield (*common, *(_plain(item[name]) for name in _COLUMNS[5:12]), "" if number else pool, record)


def _plain(value: object) -> str | int | float:
    """What a column can hold: no half of a surrogate pair, no number beyond 64 bits."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, float) or (isinstance(value, int) and abs(value) < 1 << 63):
        return value
    raise TypeError


def _age(path: Path) -> float:
    try:
        return time.time() - path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
