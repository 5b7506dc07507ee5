"""Reads accepted lessons for the hook: decodes only lessons that contain a part of a name.

A data folder has some hundreds of lessons at most, so searching their text takes less than a millisecond. The column
`accepted` has the fields that rescue needs (decisions.py writes them; core/lesson.py has all, and needs msgspec).
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from typing import NamedTuple

from knowbound.store.data_dir import FINDINGS
from knowbound.store.read_only import HOOK_WAIT_SECONDS, open_read_only

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

ABOUT_COMMANDS = "misused:"  # prefix of the names of lessons about failing commands
_STATUSES = ("accepted", "applied", "closed", "reopened")  # core/lesson.py: accepted by a person, and not stale
_MOST = 50  # limit of searched parts, and of lessons read
_STEPS_PER_CHECK = 20_000  # SQLite instructions between two checks of the clock
_LARGEST_VALUE_BYTES = 1024 * 1024
_WORK_SECONDS = 0.1


class AcceptedCheck(NamedTuple):
    """A condition on the tree under which a lesson is true: a `TreeCheck`."""

    kind: str
    path: str
    text: str


class AcceptedLesson(NamedTuple):
    """A lesson that a person accepted."""

    id: str
    kind: str
    text: str
    project: str
    names: tuple[str, ...]
    checks: tuple[AcceptedCheck, ...]
    item: str  # id of the item that holds the lesson, if any


def lessons_naming(home: str, parts: Iterable[str]) -> list[AcceptedLesson]:
    """Return the accepted lessons that contain one of these parts; [] without a readable file."""
    # As they are in the column: in JSON, without the quotes around them.
    texts = (part.encode("utf-8", "replace").decode() for part in dict.fromkeys(parts))
    json_parts = [json.dumps(text, ensure_ascii=False)[1:-1] for text in texts][:_MOST]
    path = os.path.join(home, FINDINGS)
    if not json_parts or any(os.path.islink(path + ending) for ending in ("", "-wal", "-shm")):
        return []
    marks, contains = ",".join("?" * len(_STATUSES)), " OR ".join(["instr(accepted, ?)"] * len(json_parts))
    query = f"SELECT accepted FROM lesson WHERE status IN ({marks}) AND ({contains}) ORDER BY project, id LIMIT {_MOST}"
    db = None
    try:
        db = open_read_only(path, wait_seconds=HOOK_WAIT_SECONDS)
        if db is None:
            return []
        deadline = time.monotonic() + _WORK_SECONDS
        db.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS_PER_CHECK)
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST_VALUE_BYTES)
        return list(_decoded(row[0] for row in db.execute(query, (*_STATUSES, *json_parts))))
    except sqlite3.Error:  # an earlier schema, a damaged file, or a busy writer
        return []
    finally:
        if db is not None:
            db.close()


def lesson_names(path: str) -> list[str]:
    """Return the names by which a lesson about a missed path is known, surest first."""
    path = path.rstrip("/")
    folder, _, last = path.rpartition("/")
    names = [f"path:{path}", f"folder:{path}", f"base:{last.lower()}"]
    while folder:
        names.append(f"folder:{folder}")
        folder = folder.rpartition("/")[0]
    return names


def _decoded(rows: Iterable[str]) -> Iterator[AcceptedLesson]:
    """Yield the lessons, without those that another version stored in a different form."""
    for row in rows:
        try:
            fields = json.loads(row)
            checks = tuple(AcceptedCheck(*check) for check in fields["checks"])
            yield AcceptedLesson(**fields | {"names": tuple(fields["names"]), "checks": checks})
        except (ValueError, KeyError, TypeError, RecursionError):
            continue
