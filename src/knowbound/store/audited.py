"""Stores the results of `audit`: the audited turns of each session."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec

from knowbound.core.audit import AuditedSession, AuditedTurn
from knowbound.store.data_dir import FINDINGS
from knowbound.store.database import Database
from knowbound.store.forgotten import Forgotten, load_forgotten
from knowbound.store.listing import list_changed

_sessions = msgspec.msgpack.Decoder(list[AuditedSession])


class Audited:
    """The audited turns of one data folder."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._db = Database(home / FINDINGS)

    def close(self) -> None:
        """Close the database."""
        self._db.close()

    def states(self) -> dict[str, str]:
        """Return the state of every stored session, by key."""
        return dict(self._db.rows("SELECT key, state FROM audited"))

    def rules_version(self) -> int | None:
        """Return the version of the rules that the stored sessions were audited by; None if there are none."""
        for (sessions,) in self._db.rows("SELECT sessions FROM audited LIMIT 1"):
            return min((one.rules for one in self._db.decoded(_sessions, sessions)), default=0)
        return None

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

    def bodies(self, keys: Iterable[str]) -> list[tuple[str, bytes]]:
        """Return the stored bytes of these sessions."""
        query = "SELECT key, sessions FROM audited WHERE key = ?"
        return [tuple(row) for key in keys for row in self._db.rows(query, key)]

    def replace_turns(self, turns: Mapping[tuple[str, int], AuditedTurn]) -> None:
        """Store these turns, by session and number, in the place of those that are stored."""
        if not turns:
            return
        with self._db.writing() as db:
            list_changed(db)
            query = "SELECT key FROM listed_session WHERE session = ? AND audited"
            named = sorted({session for session, _ in turns})
            for key in sorted({key for one in named for (key,) in db.execute(query, (one,))}):
                encoded = db.execute("SELECT sessions FROM audited WHERE key = ?", (key,)).fetchone()[0]
                sessions = _sessions.decode(encoded)
                for one in sessions:
                    one.turns = [turns.get((turn.session, turn.turn), turn) for turn in one.turns]
                db.execute("UPDATE audited SET sessions = ? WHERE key = ?", (msgspec.msgpack.encode(sessions), key))


def _without(forgotten: Forgotten, rows: Iterable[tuple[str, str, bytes]]) -> Iterator[tuple[str, str, bytes]]:
    """Yield the rows without sessions that were forgotten by id, project or time."""
    for key, state, encoded in rows:
        left = [one for one in _sessions.decode(encoded) if not forgotten.has(one)]
        yield key, state, msgspec.msgpack.encode(left)
