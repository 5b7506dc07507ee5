"""Memory stores of other tools, read as entries: Claude Code's memory, claude-mem, an export of Mem0, JSON lines.

They are read only, within bounds, and what they hold is data.
"""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from knowbound.errors import InputError
from knowbound.files import read_text
from knowbound.kms.importing.claude_files import memory_folder

CLAUDE_CODE, CLAUDE_MEM = "claude-code", "claude-mem"
_MOST, _MOST_BYTES = 20_000, 64_000_000
_LARGEST_FILE = 1_000_000
_PARAGRAPH = re.compile(r"\n(?=\s{0,3}[-*+] )|\n\s*\n")
_TEXTS = ("content", "memory", "text", "data")


class StoreEntry(msgspec.Struct, frozen=True):
    """One entry of a memory store."""

    id: str
    content: str
    created: str = ""  # as the store has it; ISO times compare


def read_store(name: str, root: Path) -> list[StoreEntry]:
    """Return the entries of `claude-code`, of `claude-mem`, or of a file or folder. Raises InputError."""
    if name == CLAUDE_CODE:
        return _bounded(_notes(memory_folder(root, os.environ)))
    path = Path.home() / ".claude-mem" / "claude-mem.db" if name == CLAUDE_MEM else Path(name)
    if not path.exists():
        raise InputError(
            "no-such-path", f"There is no store {path}. Try: claude-code, claude-mem, or the path of a file."
        )
    if path.is_dir():
        return _bounded(_notes(path))
    with path.open("rb") as file:
        head = file.read(16)
    try:
        return _bounded(_observations(path, root) if head.startswith(b"SQLite format 3") else _exported(path))
    except (sqlite3.Error, msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise InputError("no-such-path", f"{path} is no store that can be read: {error}.") from error


def _bounded(entries: Iterator[StoreEntry]) -> list[StoreEntry]:
    found = [one for one in entries if one.content.strip()]
    if not found:
        raise InputError("no-such-path", "The store has no entries.")
    return found[:_MOST]


def _notes(folder: Path) -> Iterator[StoreEntry]:
    """Yield the paragraphs and bullets of Markdown notes; an id is the file and the line."""
    for path in sorted(folder.glob("**/*.md"))[:1_000]:
        text = read_text(folder, path.relative_to(folder).as_posix(), _LARGEST_FILE) or ""
        at = 0
        for part in _PARAGRAPH.split(text):
            start = text.find(part, at)
            at = start + len(part)
            plain = part.strip()
            if plain and not (plain.startswith("#") and "\n" not in plain) and plain != "---":
                line = text.count("\n", 0, start + len(part) - len(part.lstrip())) + 1
                yield StoreEntry(f"{path.relative_to(folder).as_posix()}:{line}", plain)


def _observations(path: Path, root: Path) -> Iterator[StoreEntry]:
    """Yield the observations of claude-mem about the project, or about every project if it knows none of that name."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
        columns = {row[1] for row in db.execute("PRAGMA table_info(observations)")}
        wanted = [name for name in ("title", "subtitle", "narrative", "text", "facts") if name in columns]
        if "id" not in columns or not wanted:
            raise InputError("no-such-path", f"{path} has no table of observations that is known.")
        created = "created_at" if "created_at" in columns else "''"
        query = f"SELECT id, {created}, {', '.join(wanted)} FROM observations"
        own = " WHERE project = ?" if "project" in columns else ""
        rows = db.execute(f"{query}{own} ORDER BY id LIMIT {_MOST}", (root.name,) if own else ()).fetchall()
        rows = rows or db.execute(f"{query} ORDER BY id LIMIT {_MOST}").fetchall()
    for id_, made, *texts in rows:
        yield StoreEntry(str(id_), "\n".join(_text(one) for one in texts if one), str(made or ""))


def _text(value: object) -> str:
    """Return a text; a list in JSON line by line."""
    text = str(value)
    if text.startswith("["):
        try:
            return "\n".join(map(str, msgspec.json.decode(text, type=list[Any])))
        except msgspec.DecodeError:
            return text
    return text


def _exported(path: Path) -> Iterator[StoreEntry]:
    """Yield the entries of a JSON file (a list, or `results` or `memories` of an object) or of JSON lines."""
    with path.open("rb") as file:
        raw = file.read(_MOST_BYTES)
    try:
        found = msgspec.json.decode(raw)
        rows = (
            found
            if isinstance(found, list)
            else next((found[key] for key in ("results", "memories") if key in found), [])
        )
    except msgspec.DecodeError:
        rows = [msgspec.json.decode(line) for line in raw.splitlines() if line.strip()]
    for number, row in enumerate(rows, 1):
        if isinstance(row, dict):
            text = next((str(row[key]) for key in _TEXTS if row.get(key)), "")
            yield StoreEntry(
                str(row.get("id", number)), text, str(row.get("created_at") or row.get("updated_at") or "")
            )
