"""Reads accepted lessons for the hook: decodes only lessons that contain a part of a name.

A data folder has some hundreds of lessons at most, so searching their bytes takes less than a millisecond. Only the
fields that rescue needs are read (core/lesson.py has all fields, and needs msgspec).
"""

from __future__ import annotations

import os
import sqlite3
import struct
import time
from typing import NamedTuple

from knowbound.store.data_dir import FINDINGS
from knowbound.store.read_only import HOOK_WAIT_SECONDS, open_read_only

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

ABOUT_COMMANDS = "misused:"  # prefix of the names of lessons about failing commands
_STATUSES = ("accepted", "applied", "closed", "reopened")  # core/lesson.py: accepted by a person, and not stale
_MOST = 50  # limit of searched parts, and of lessons read
_STEPS = 20_000  # SQLite instructions between two checks of the clock
_LARGEST_VALUE = 1024 * 1024
_SECONDS = 0.1
# Msgpack, by type byte. Loading msgspec takes 25 ms, longer than reading all lessons of a project.
_CONSTANTS = {0xC0: None, 0xC2: False, 0xC3: True}
_NUMBERS = dict(zip((0xCA, 0xCB, *range(0xCC, 0xD4)), ">f >d >B >H >I >Q >b >h >i >q".split(), strict=True))
# Type byte of a length-prefixed value: bytes of the length, and kind of the value.
_TEXT, _BYTES, _LIST, _MAP = range(4)
_SIZED = {
    0xD9: (1, _TEXT), 0xDA: (2, _TEXT), 0xDB: (4, _TEXT), 0xC4: (1, _BYTES), 0xC5: (2, _BYTES), 0xC6: (4, _BYTES),
    0xDC: (2, _LIST), 0xDD: (4, _LIST), 0xDE: (2, _MAP), 0xDF: (4, _MAP),
}  # fmt: skip


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
    wanted = [part.encode("utf-8", "replace") for part in dict.fromkeys(parts)][:_MOST]
    path = os.path.join(home, FINDINGS)
    if not wanted or any(os.path.islink(path + ending) for ending in ("", "-wal", "-shm")):
        return []
    marks, has = ",".join("?" * len(_STATUSES)), " OR ".join(["instr(lesson, ?)"] * len(wanted))
    query = f"SELECT lesson FROM lesson WHERE status IN ({marks}) AND ({has}) ORDER BY project, id LIMIT {_MOST}"
    db = None
    try:
        db = open_read_only(path, wait_seconds=HOOK_WAIT_SECONDS)
        if db is None:
            return []
        end = time.monotonic() + _SECONDS
        db.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
        db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LARGEST_VALUE)
        return list(_decoded(bytes(lesson) for (lesson,) in db.execute(query, (*_STATUSES, *wanted))))
    except sqlite3.Error:  # an earlier schema, a damaged file, or a busy writer
        return []
    finally:
        if db is not None:
            db.close()


def _decoded(rows: Iterable[bytes]) -> Iterator[AcceptedLesson]:
    """Yield the lessons, without those that another version stored in a different form."""
    for row in rows:
        try:
            one = read_value(row)
            applied = one["applied"]
            yield AcceptedLesson(
                id=str(one["id"]),
                kind=str(one["kind"]),
                text=str(one["text"]),
                project=str(one["project"]),
                names=tuple(map(str, one["names"])),
                checks=tuple(AcceptedCheck(check["kind"], check["path"], check["text"]) for check in one["checks"]),
                item=str(applied["place"]) if applied and applied["target"] == "items" else "",
            )
        except (ValueError, KeyError, TypeError):
            continue


def read_value(data: bytes) -> Any:
    """Return a value stored as msgpack; raise ValueError for other bytes and for extension types."""
    try:
        value, end = _value(data, 0)
    except (IndexError, KeyError, TypeError, RecursionError, struct.error, UnicodeDecodeError) as error:
        raise ValueError("no value in msgpack") from error
    if end != len(data):
        raise ValueError("no value in msgpack")
    return value


def _value(data: bytes, at: int) -> tuple[Any, int]:
    sign, at = data[at], at + 1
    if sign < 0x80 or sign >= 0xE0:
        return (sign if sign < 0x80 else sign - 0x100), at
    if sign < 0xC0:
        kind = _MAP if sign < 0x90 else _LIST if sign < 0xA0 else _TEXT
        return _sized(data, at, sign & (0x1F if kind == _TEXT else 0x0F), kind)
    if sign in _SIZED:
        width, kind = _SIZED[sign]
        return _sized(data, at + width, int.from_bytes(data[at : at + width], "big"), kind)
    if sign in _CONSTANTS:
        return _CONSTANTS[sign], at
    return struct.unpack_from(_NUMBERS[sign], data, at)[0], at + struct.calcsize(_NUMBERS[sign])


def _sized(data: bytes, at: int, size: int, kind: int) -> tuple[Any, int]:
    if kind in (_TEXT, _BYTES):
        part = data[at : at + size]
        if len(part) < size:
            raise IndexError
        return (part.decode() if kind == _TEXT else part), at + size
    found = []
    for _ in range(size * (2 if kind == _MAP else 1)):
        value, at = _value(data, at)
        found.append(value)
    return (dict(zip(found[::2], found[1::2], strict=True)) if kind == _MAP else found), at
