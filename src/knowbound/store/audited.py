"""Stores the results of `audit`: the audited turns of each session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from knowbound.core.audit import AuditedSession
from knowbound.store.data_dir import FINDINGS
from knowbound.store.database import Database
from knowbound.store.forgotten import Forgotten, load_forgotten

_sessions = msgspec.msgpack.Decoder(list[AuditedSession])


class Audited:
    """The audited turns of one data folder."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._db = Database(home / FINDINGS)

    def states(self) -> dict[str, str]:
        """Return the state of every stored session, by key."""
        return dict(self._db.rows("SELECT key, state FROM audited"))

    def keep(self, rows: Iterable[tuple[str, str, bytes]]) -> None:
        """Store audited sessions (key, state, msgpack), without forgotten ones."""
        with self._db.writing() as db:
            forgotten = load_forgotten(self._home)
            kept = rows if forgotten is None else _without(forgotten, rows)
            db.executemany("INSERT OR REPLACE INTO audited VALUES (?, ?, ?)", kept)

    def sessions(self, keys: Iterable[str] | None = None) -> Iterator[AuditedSession]:
        """Yield the audited sessions of these keys, or all of them."""
        for key in self.states() if keys is None else keys:
            for (sessions,) in self._db.rows("SELECT sessions FROM audited WHERE key = ?", key):
                yield from self._db.decoded(_sessions, sessions)


def _without(forgotten: Forgotten, rows: Iterable[tuple[str, str, bytes]]) -> Iterator[tuple[str, str, bytes]]:
    """Yield the rows without sessions that were forgotten by id, project or time."""
    for key, state, encoded in rows:
        left = [one for one in _sessions.decode(encoded) if not forgotten.has(one)]
        yield key, state, msgspec.msgpack.encode(left)
