"""Copies the table `injected` of an index of 0.1.0 to the log of injections, before a migration drops it.

Each injection becomes one line with its id. Files are named after their content and written whole: a migration that was
killed writes the same files again, and readers of the log count an id once.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from knowbound.errors import StoreError
from knowbound.store.data_dir import INJECTIONS
from knowbound.user_files import make_file, make_folder

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_COMMON = ("time", "session", "turn", "prompt_id", "prompt")
_OF_ITEM = ("item", "backend", "excerpt", "content_length", "confidence", "rank", "score")


def copy_injected_table(db: sqlite3.Connection, home: Path) -> None:
    """Write the rows of the table, if it exists, to the log. Raises StoreError."""
    if not db.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'injected'").fetchone():
        return
    with closing(db.execute("SELECT * FROM injected ORDER BY id")) as rows:
        names = [column[0] for column in rows.description]
        write_log(home, [dict(zip(names, row, strict=True)) for row in rows])


def write_log(home: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    """Write rows of the table, as columns by name, to the log. Raises StoreError."""
    injections: dict[str, dict[str, Any]] = {}
    for row in rows:
        # Rows without `record` belong to one injection if all common columns are equal.
        id_ = row.get("record") or "table:" + hashlib.sha256(repr([row[name] for name in _COMMON]).encode()).hexdigest()
        common = {"time": row["time"], "id": id_, **{name: row[name] for name in _COMMON[1:]}}
        injection = injections.setdefault(id_, common | {"items": [], "pool": []})
        injection["items"].append({name: row[name] for name in _OF_ITEM})
        injection["pool"] = injection["pool"] or _pool(row["pool"])
    days: dict[str, list[dict[str, Any]]] = {}
    for injection in injections.values():
        named = _DAY.match(injection["time"])
        days.setdefault(named[0] if named else time.strftime("%Y-%m-%d", time.gmtime()), []).append(injection)
    try:
        for day, found in days.items():
            _write(home / INJECTIONS, day, found)
    except OSError as error:
        raise StoreError(
            "store-unwritable",
            f"Cannot write {home / INJECTIONS}: {error}. Nothing was changed. Try: KNOWBOUND_HOME=DIR",
        ) from error


def _write(folder: Path, day: str, injections: list[dict[str, Any]]) -> None:
    data = b"".join(json.dumps(one, separators=(",", ":")).encode() + b"\n" for one in injections)
    make_folder(folder)
    path = folder / f"{day}.{hashlib.sha256(data).hexdigest()[:16]}.jsonl"
    make_file(path, data)
    for written in (path, folder):  # on the disk before the table is dropped
        descriptor = os.open(written, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _pool(text: str) -> list[Any]:
    try:
        found = json.loads(text) if text else []
    except ValueError:
        return []
    return found if isinstance(found, list) else []
