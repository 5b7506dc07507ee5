"""Keeps forgotten sessions out of the store, and results of old ones (`store.keep_days`).

The list of forgotten sessions is `forgotten.json` in the data folder. It keeps them from being read again from the
agents' transcripts, which stay. It has keyed hashes of session ids and folders instead of names: the file shows how
many were forgotten, not which. Without the file everything is read again.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from knowbound.errors import StoreError
from knowbound.files import replacing
from knowbound.store.data_dir import FINDINGS

if TYPE_CHECKING:
    from knowbound.core.audit import AuditedSession
    from knowbound.core.signal import Findings
    from knowbound.store.database import Database

FORGOTTEN_FILE = "forgotten.json"
_FILE_ROW = "forgotten:"  # prefix of a forgotten transcript in the table `file`


class Forgotten(msgspec.Struct):
    """Sessions by id, projects by folder, and everything before a time."""

    format: str = "knowbound.forgotten/1"
    salt: str = msgspec.field(default_factory=lambda: secrets.token_hex(16))
    sessions: set[str] = set()
    projects: set[str] = set()
    before: str = ""  # ISO, UTC: sessions that ended before it

    def add_session(self, id_: str) -> None:
        """Forget a session."""
        self.sessions.add(self.token(id_))

    def add_project(self, folder: str) -> None:
        """Forget the sessions that worked in a folder or below it."""
        self.projects.add(self.token(folder.rstrip("/")))

    def add_before(self, time: str) -> None:
        """Forget the sessions that ended before a time."""
        self.before = max(self.before, time)

    def has_session(self, id_: str) -> bool:
        """Report whether the session with this id was forgotten."""
        return self.token(id_) in self.sessions

    def has(self, found: Findings | AuditedSession) -> bool:
        """Report whether a session was forgotten by its id, its project or its end."""
        if self.has_session(found.session) or bool(self.before and found.ended and found.ended < self.before):
            return True
        spellings = {found.project, os.path.realpath(found.project)} if self.projects and found.project else set()
        return any(self.token(folder) in self.projects for path in spellings for folder in _with_parents(path))

    def file_row(self, path: str) -> str:
        """Return the name of a forgotten transcript in the table `file`."""
        return _FILE_ROW + self.token(path)

    def token(self, text: str) -> str:
        """Return the keyed hash of a name."""
        key = bytes.fromhex(self.salt)
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=key, digest_size=16).hexdigest()

    def keep(self, home: Path) -> None:
        """Write the list."""
        self.sessions, self.projects = set(self.sessions), set(self.projects)
        with replacing(home / FORGOTTEN_FILE, private=True) as file:
            file.write(msgspec.json.encode(self, order="deterministic"))


def _with_parents(path: str) -> Iterator[str]:
    folders = path.rstrip("/").split("/")
    return ("/".join(folders[: end + 1]) for end in range(len(folders)))


def load_forgotten(home: Path) -> Forgotten | None:
    """Return the list of a data folder; None if nothing was forgotten."""
    path = home / FORGOTTEN_FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=Forgotten)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        words = f"{path} cannot be used: {error}. Try: move it away; forgotten sessions are read again then"
        raise StoreError("forgotten-unreadable", words) from error


_SESSION = re.compile(r'"session":\s*("[^"\\\x00-\x1f]*")')


def blank_lines(path: Path, is_gone: Callable[[bytes], bool], *, preview: bool) -> list[bytes]:
    """Overwrite lines with spaces in place; return their former content.

    Others append to the file meanwhile and store their reading position, so no byte moves.
    """
    gone: list[bytes] = []
    try:
        with path.open("rb" if preview else "r+b") as file:
            offset = 0
            for line in file.read().splitlines(keepends=True):
                content = line.rstrip(b"\r\n")
                if content.strip() and is_gone(content):
                    gone.append(content)
                    if not preview:
                        os.pwrite(file.fileno(), b" " * len(content), offset)
                offset += len(line)
            if not preview:
                os.fsync(file.fileno())
    except FileNotFoundError:
        pass
    return gone


def sessions_in(line: bytes) -> list[str]:
    """Return the sessions named in a line of JSON, even if the line is cut or two records share it."""
    try:
        row = json.loads(line)
        session = row.get("session") if isinstance(row, dict) else None
        return [session] if isinstance(session, str) else []
    except (ValueError, RecursionError):
        return [json.loads(name) for name in _SESSION.findall(line.decode("utf-8", "replace"))]


_FREE_SHARE, _FREE_BYTES = 4, 4 * 1024 * 1024  # a quarter of the file, and so much that it matters


def oldest_kept(keep_days: int, now: datetime | None = None) -> str:
    """Return the first day that is kept, UTC; "" without a limit. It changes once a day, so that reports stay."""
    return ((now or datetime.now(UTC)) - timedelta(days=keep_days)).strftime("%Y-%m-%d") if keep_days else ""


def keep_bounded(home: Path, keep_days: int, read: Collection[str]) -> list[str]:
    """Remove results of sessions that ended before the first day that is kept; return a sentence if there were some.

    `read` are the keys of sessions whose files changed since: they stay. So do decisions of a person, trends and the
    list of what was forgotten.
    """
    from knowbound.store.database import Database  # noqa: PLC0415  (an unchanged corpus needs none of it)

    before = oldest_kept(keep_days)
    removed = 0
    with closing(Database(home / FINDINGS)) as database:
        if before:
            removed = _remove(database, before, read)
        free_pages, pages, page_bytes = (
            int(database.row(f"PRAGMA {name}")[0]) for name in ("freelist_count", "page_count", "page_size")
        )
        if free_pages * page_bytes > _FREE_BYTES and free_pages * _FREE_SHARE > pages:
            database.compact_if_idle()
    words = "Results of {:,} sessions that ended before {} were removed (store.keep_days)"
    return [words.format(removed, before)] if removed else []


def _remove(database: Database, before: str, read: Collection[str]) -> int:
    """Remove what sessions left that ended before this day; return the number of sessions."""
    from knowbound.store.listing import ENDED_BEFORE, list_changed  # noqa: PLC0415

    with database.writing() as db:
        list_changed(db)
        kept = set(read)
        keys = [row for row in db.execute(ENDED_BEFORE, (before,)).fetchall() if row[0] not in kept]
        for table in ("session", "audited", "material"):
            db.executemany(f"DELETE FROM {table} WHERE key = ?", ((key,) for key, _ in keys))
        db.execute("DELETE FROM unmanaged_injection WHERE time > '' AND time < ?", (before,))
        db.execute("DELETE FROM unmanaged WHERE id NOT IN (SELECT item FROM unmanaged_injection)")
        oldest = int(datetime.fromisoformat(before).replace(tzinfo=UTC).timestamp() * 1e9)
        db.execute("DELETE FROM file WHERE mtime_ns < ? AND problem <> 'forgotten'", (oldest,))
        list_changed(db)
    return sum(sessions for _, sessions in keys)
