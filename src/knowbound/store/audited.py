"""Stores what `audit` found between runs: the audited turns of each session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from knowbound.core.audit import AuditedSession
from knowbound.store.data_dir import FINDINGS
from knowbound.store.database import Database
from knowbound.store.forgotten import load_forgotten
from knowbound.store.observed import session_of

_sessions = msgspec.msgpack.Decoder(list[AuditedSession])


class Audited:
    """The audited turns of one data folder."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._db = Database(home / FINDINGS)

    def states(self) -> dict[str, str]:
        """The state of every stored session, by key."""
        return dict(self._db.rows("SELECT key, state FROM audited"))

    def keep(self, rows: Iterable[tuple[str, str, bytes]]) -> None:
        """Keep audited sessions (key, state, msgpack), without those that were forgotten."""
        with self._db.writing() as db:
            forgotten = load_forgotten(self._home)
            kept = [row for row in rows if forgotten is None or not forgotten.has_session(session_of(row[0]))]
            db.executemany("INSERT OR REPLACE INTO audited VALUES (?, ?, ?)", kept)

    def drop_others(self, keys: Iterable[str]) -> None:
        """Remove sessions whose files are gone: what is stored is what is there."""
        wanted = set(keys)
        gone = [(key,) for key in self.states() if key not in wanted]
        if gone:
            with self._db.writing() as db:
                db.executemany("DELETE FROM audited WHERE key = ?", gone)

    def sessions(self, keys: Iterable[str] | None = None) -> Iterator[AuditedSession]:
        """The audited sessions under these keys, or all of them, one at a time."""
        for key in self.states() if keys is None else keys:
            for (sessions,) in self._db.rows("SELECT sessions FROM audited WHERE key = ?", key):
                yield from self._db.decoded(_sessions, sessions)
