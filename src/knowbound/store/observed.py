"""Stores the results of `observe` and `audit`.

Files by size and time, findings and audited turns by session, reports by run, and unmanaged items.
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from knowbound.core.audit import AuditedSession, AuditedTurn
from knowbound.core.bundle import is_ours
from knowbound.core.signal import Findings
from knowbound.store.database import SessionResults, as_store_errors
from knowbound.store.retention import load_forgotten

_Report = TypeVar("_Report")
_findings = msgspec.msgpack.Decoder(list[Findings])
_keys = msgspec.msgpack.Decoder(list[str])
_MOST_RUNS = 20
READ_AHEAD = "ahead"  # kind of the row that keeps what was read in the background; no report
UNJUDGED = "unjudged "  # before the state of a session that is read and waits for a judge
# Sources of unmanaged items. The skills that a client lists and the files that it shows are not among them.
KNOWLEDGE_SOURCES = ("hook", "nested_memory", "memory", "relevant_memories", "instructions")


class FileRow(msgspec.Struct, frozen=True):
    """Facts from the first lines of a file; valid while its size and time stay the same."""

    path: str
    size: int
    mtime_ns: int
    reader: str = ""
    session: str = ""
    agent_id: str = ""
    time: str = ""
    problem: str = ""
    root: str = ""  # id of the first message; of a file that is no trace: the readers that did not know it


class UnmanagedItem(msgspec.Struct, frozen=True):
    """A text that another tool injected, read from traces, with its number of injections (specification 2)."""

    id: str
    source: str
    path: str
    excerpt: str
    content_length: int
    injections: int = 0
    sessions: int = 0


class UnmanagedInjection(msgspec.Struct, frozen=True):
    """One injection of an unmanaged item."""

    item: UnmanagedItem
    session: str
    turn: int
    time: str


class Observed(SessionResults):
    """The store of one data folder."""

    _table, _column = "session", "findings"

    def files(self) -> dict[str, FileRow]:
        """Return all known files by path, without those whose head has to be looked at again."""
        rows = self._db.rows(
            "SELECT path, size, mtime_ns, reader, session, agent_id, time, problem, coalesce(root, '') FROM file "
            "WHERE root IS NOT NULL OR problem = 'forgotten'"
        )
        return {row[0]: FileRow(*row) for row in rows}

    def keep_files(self, rows: Iterable[FileRow]) -> None:
        """Store the facts about files, without forgotten sessions."""
        with self._db.writing() as db:
            forgotten = load_forgotten(self._home)
            kept = (row for row in rows if forgotten is None or not forgotten.has_session(row.session or row.path))
            db.executemany(
                "INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (msgspec.structs.astuple(row) for row in kept),
            )

    def are_read(self, keys: Iterable[str]) -> bool:
        """Report whether all these sessions are read."""
        states = self.states()
        return all(states.get(key, "") and not states[key].startswith(UNJUDGED) for key in keys)

    def keep_sessions(self, rows: Iterable[tuple[str, str, str, bytes]]) -> set[str]:
        """Store findings (key, name, state, msgpack); return the keys that were forgotten and not stored.

        Forgotten sessions are looked up within the transaction: another process may forget some meanwhile.
        """
        received = list(rows)
        with self._db.writing() as db:
            kept = _not_forgotten(received, self._home)
            db.executemany("INSERT OR REPLACE INTO session VALUES (?, ?, ?, ?)", kept)
        return {row[0] for row in received} - {row[0] for row in kept}

    def findings(self, keys: Iterable[str]) -> Iterator[Findings]:
        """Yield the findings of these sessions."""
        for _, findings in self.bodies(keys):
            yield from self._db.decoded(_findings, findings)

    def keep_unmanaged(self, injections: Iterable[UnmanagedInjection]) -> None:
        """Store injections by other tools; known injections stay unchanged."""
        rows = list(injections)
        if not rows:
            return
        with self._db.writing() as db:
            if (forgotten := load_forgotten(self._home)) is not None:
                rows = [row for row in rows if not forgotten.has_session(row.session.partition(":")[2])]
            db.executemany(
                "INSERT OR IGNORE INTO unmanaged VALUES (?, ?, ?, ?, ?)",
                (msgspec.structs.astuple(row.item)[:5] for row in rows),
            )
            db.executemany(
                "INSERT OR IGNORE INTO unmanaged_injection VALUES (?, ?, ?, ?)",
                ((row.item.id, row.session, row.turn, row.time) for row in rows),
            )

    def unmanaged(self) -> list[UnmanagedItem]:
        """Return the unmanaged items, most often injected first."""
        rows = self._db.rows(
            "SELECT unmanaged.*, count(*), count(DISTINCT session) FROM unmanaged "
            "JOIN unmanaged_injection ON item = id GROUP BY id ORDER BY count(*) DESC, id"
        )
        return [UnmanagedItem(*row) for row in rows]

    def keep_run(self, kind: str, made: str, corpus: str, keys: list[str], report: object) -> int:
        """Store a report and delete the oldest runs. A report about a forgotten session is not stored (id 0)."""
        with self._db.writing() as db:
            forgotten = load_forgotten(self._home) if keys else None
            if forgotten is not None and any(forgotten.has_session(session_of(key)) for key in keys):
                return 0
            db.execute("DELETE FROM run WHERE kind = ? AND corpus = ?", (kind, corpus))  # an earlier report of it
            cursor = db.execute(
                "INSERT INTO run (kind, made, corpus, keys, report) VALUES (?, ?, ?, ?, ?)",
                (kind, made, corpus, msgspec.msgpack.encode(keys), msgspec.msgpack.encode(report)),
            )
            _make_room(db)
        return cursor.lastrowid or 0

    def keep_read_ahead(self, keys: list[str]) -> None:
        """Keep findings that no report has used: run 0 lists their keys, with nothing (x'c0': nil) as its report."""
        with self._db.writing() as db:
            db.execute("DELETE FROM run WHERE kind = ?", (READ_AHEAD,))
            db.execute(
                "INSERT INTO run (id, kind, made, corpus, keys, report) VALUES (0, ?, '', '', ?, x'c0')",
                (READ_AHEAD, msgspec.msgpack.encode(keys)),
            )

    def digested(self, keys: Iterable[str]) -> list[str]:
        """Return keys of other sessions of which the findings alone are left: read in the background, files gone."""
        row = self._db.row("SELECT keys FROM run WHERE kind = ?", READ_AHEAD)
        if row is None:
            return []
        given_sessions = {session_of(key) for key in keys}
        others = [key for key in _keys.decode(row[0]) if session_of(key) not in given_sessions]
        files_by_key = {key: [file for found in self.findings([key]) for file in found.files] for key in others}
        return [key for key, files in files_by_key.items() if files and not any(map(os.path.lexists, files))]

    def make_newest(self, kind: str, corpus: str) -> None:
        """Make a run that is shown again the newest one, so that `report` shows it."""
        newest = self._db.row("SELECT id, kind, corpus FROM run ORDER BY id DESC LIMIT 1")
        if newest is not None and newest[1:] != (kind, corpus):
            self._db.write("UPDATE run SET id = ? WHERE kind = ? AND corpus = ?", newest[0] + 1, kind, corpus)

    def runs(self, kind: str, type_: type[_Report]) -> Iterator[_Report]:
        """Yield the reports of a kind that decode as this type, newest first."""
        decoder = msgspec.msgpack.Decoder(type_)
        for (report,) in self._db.rows("SELECT report FROM run WHERE kind = ? ORDER BY id DESC", kind):
            with as_store_errors(self._db.path), suppress(msgspec.ValidationError):
                yield decoder.decode(report)

    def newest_kind(self) -> str:
        """Return the kind of the newest run, or ""."""
        row = self._db.row("SELECT kind FROM run WHERE kind <> ? ORDER BY id DESC LIMIT 1", READ_AHEAD)
        return str(row[0]) if row else ""

    def newest_evaluation(self) -> int | None:
        """Return the id of the newest evaluation; None if a newer run of `observe` exists."""
        row = self._db.row(
            "SELECT kind, corpus FROM run WHERE kind IN ('evaluation', 'observe') ORDER BY id DESC LIMIT 1"
        )
        return int(row[1]) if row is not None and row[0] == "evaluation" else None  # its corpus is its id

    def run(self, kind: str, type_: type[_Report], corpus: str | None = None) -> tuple[_Report, list[str]] | None:
        """Return the newest report of a kind, or that of a corpus, with the keys of its sessions."""
        query = "SELECT report, keys FROM run WHERE kind = ?" + (" AND corpus = ?" if corpus else "")
        row = self._db.row(f"{query} ORDER BY id DESC LIMIT 1", kind, *([corpus] if corpus else []))
        if row is None:
            return None
        with as_store_errors(self._db.path):
            try:
                return msgspec.msgpack.decode(row[0], type=type_), _keys.decode(row[1])
            except msgspec.ValidationError:
                return None  # of another version: the report is made again


def unmanaged_in(found: Findings) -> Iterator[UnmanagedInjection]:
    """Yield the injections by other tools in a session, turn by turn."""
    for turn in found.turns:
        for injected in turn.injected:
            text = injected.excerpt
            if injected.source.startswith(KNOWLEDGE_SOURCES) and text.strip() and not (injected.item or is_ours(text)):
                identity = (injected.source, injected.path, text, injected.content_length)
                digest = hashlib.sha256("\0".join(map(str, identity)).encode("utf-8", "replace")).hexdigest()
                item = UnmanagedItem(f"u{digest[:12]}", *identity)
                yield UnmanagedInjection(item, f"{found.agent}:{found.session}", turn.index, turn.time)


def session_of(key: str) -> str:
    """Return the agent's id of a session from its key (reader:id:hash)."""
    return key.partition(":")[2].rpartition(":")[0]


def _not_forgotten(rows: list[tuple[str, str, str, bytes]], home: Path) -> list[tuple[str, str, str, bytes]]:
    """Return the rows without forgotten sessions. The ids of sessions forgotten by project or time are stored."""
    forgotten = load_forgotten(home)
    if forgotten is None:
        return rows
    known_count, kept = len(forgotten.sessions), []
    for key, name, state, encoded in rows:
        findings = _findings.decode(encoded)
        gone = [found for found in findings if forgotten.has(found)]
        for found in gone:
            forgotten.add_session(found.session)
        if not gone:
            kept.append((key, name, state, encoded))
        elif len(gone) < len(findings):
            left = [found for found in findings if found not in gone]
            kept.append((key, name, state, msgspec.msgpack.encode(left)))
    if len(forgotten.sessions) > known_count:
        forgotten.keep(home)
    return kept


def _make_room(db: sqlite3.Connection) -> None:
    """Delete the oldest runs, but not run 0 (keep_read_ahead), and findings and material that no run uses any more."""
    db.execute(
        "DELETE FROM run WHERE id > 0 AND id NOT IN (SELECT id FROM run ORDER BY id DESC LIMIT ?)", (_MOST_RUNS,)
    )
    used = {key for (keys,) in db.execute("SELECT keys FROM run") for key in _keys.decode(keys)}
    stored = {key for (key,) in db.execute("SELECT key FROM session")}
    db.executemany("DELETE FROM session WHERE key = ?", ((key,) for key in stored - used))
    db.execute("DELETE FROM material WHERE key NOT IN (SELECT key FROM session)")


_sessions = msgspec.msgpack.Decoder(list[AuditedSession])


class Audited(SessionResults):
    """The audited turns of one data folder."""

    _table, _column = "audited", "sessions"

    def rules_version(self) -> int | None:
        """Return the version of the rules that the stored sessions were audited by; None if there are none."""
        for (sessions,) in self._db.rows("SELECT sessions FROM audited LIMIT 1"):
            return min((session.rules for session in self._db.decoded(_sessions, sessions)), default=0)
        return None

    def keep(self, rows: Iterable[tuple[str, str, bytes]]) -> None:
        """Store audited sessions (key, state, msgpack), without forgotten ones."""
        with self._db.writing() as db:
            forgotten = load_forgotten(self._home)
            for key, state, encoded in rows:
                kept = encoded
                if forgotten is not None:
                    left = [session for session in _sessions.decode(encoded) if not forgotten.has(session)]
                    kept = msgspec.msgpack.encode(left)
                db.execute("INSERT OR REPLACE INTO audited VALUES (?, ?, ?)", (key, state, kept))

    def sessions(self, keys: Iterable[str] | None = None) -> Iterator[AuditedSession]:
        """Yield the audited sessions of these keys, or all of them."""
        for _, sessions in self.bodies(self.states() if keys is None else keys):
            yield from self._db.decoded(_sessions, sessions)

    def replace_turns(self, turns: Mapping[tuple[str, int], AuditedTurn]) -> None:
        """Store these turns, by session and number, in the place of those that are stored."""
        if not turns:
            return
        from knowbound.store.listing import list_changed  # noqa: PLC0415

        with self._db.writing() as db:
            list_changed(db)
            query = "SELECT key FROM listed_session WHERE session = ? AND audited"
            names = sorted({session for session, _ in turns})
            for key in sorted({key for name in names for (key,) in db.execute(query, (name,))}):
                encoded = db.execute("SELECT sessions FROM audited WHERE key = ?", (key,)).fetchone()[0]
                sessions = _sessions.decode(encoded)
                for session in sessions:
                    session.turns = [turns.get((turn.session, turn.turn), turn) for turn in session.turns]
                db.execute("UPDATE audited SET sessions = ? WHERE key = ?", (msgspec.msgpack.encode(sessions), key))
