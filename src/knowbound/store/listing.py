"""Pages of stored results, by index: sessions, audited turns, one turn, the sessions that share a name.

The rows are made of `session` and `audited` (migrations/knowbound/0010_listing.sql) when somebody asks, of what changed
since then: reading traces costs nothing more. A page goes on after its cursor, so that the last page is as quick as the
first, and nothing is shown twice while sessions arrive.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import Any, Generic, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

import msgspec

from knowbound.core.audit import AuditedSession, AuditedTurn
from knowbound.core.paths import project_name
from knowbound.core.signal import NOT_CLOSED, Findings, Signal, Status, Turn
from knowbound.errors import StoreError
from knowbound.store.database import FindingsStore
from knowbound.text.terms import plain_term

PAGE = 50  # rows
_KEYS_AT_ONCE = 200  # listed in one transaction
_LACKING_STATUSES = NOT_CLOSED | {Status.RESOLVED}  # signals with such a status may belong to a topic
# Keys whose every session ended before a day, with the number of sessions: a file with several has one key.
ENDED_BEFORE = (
    "SELECT key, count(*) FROM listed_session WHERE key IN (SELECT key FROM listed_session "
    "WHERE ended > '' AND ended < ?1) GROUP BY key HAVING max(ended) < ?1"
)

Row = TypeVar("Row")
CountedBy: TypeAlias = Literal["project", "agent", "diagnosis"]


class ListedSession(NamedTuple):
    """A session in a list."""

    key: str
    session: str
    agent: str
    project: str
    folder: str
    started: str
    ended: str
    turns: int
    calls: int
    signals: int
    open: int
    audited: int  # turns


class ListedTurn(NamedTuple):
    """An audited turn in a list."""

    session: str
    turn: int
    time: str
    project: str
    diagnosis: str


class ResultPage(NamedTuple, Generic[Row]):
    """Some rows of a list, newest first, and the cursor of those that follow; "" after the last."""

    rows: list[Row]
    after: str


class StoredSession(NamedTuple):
    """Everything that is stored of a session; each part is None if it was not made."""

    findings: Findings | None
    audited: AuditedSession | None


class StoredTurn(NamedTuple):
    """Everything that is stored of a turn; each part is None if it was not made."""

    turn: Turn | None
    signals: list[Signal]
    audited: AuditedTurn | None


class ResultPages(Protocol):
    """Stored results of sessions, page by page: in the SQLite file of a machine, or in the MongoDB of a team."""

    def sessions(
        self, *, project: str = "", agent: str = "", since: str = "", after: str = "", most: int = PAGE
    ) -> ResultPage[ListedSession]:
        """Return sessions that ended since a time, newest first."""

    def turns(
        self, *, project: str = "", diagnosis: str = "", after: str = "", most: int = PAGE
    ) -> ResultPage[ListedTurn]:
        """Return audited turns, newest first."""

    def session(self, session: str) -> StoredSession:
        """Return one session by its id."""

    def counts(self, by: CountedBy, *, project: str = "", session: str = "") -> dict[str, int]:
        """Return the number of sessions by project or agent, or of audited turns by diagnosis, most first."""

    def keys_about(self, names: Collection[str]) -> list[str]:
        """Return the keys of the sessions with a signal about one of these names."""

    def turn(self, session: str, number: int) -> StoredTurn:
        """Return one turn of a session."""
        found = self.session(session)
        turns = found.findings.turns if found.findings else []
        signals = found.findings.signals if found.findings else []
        audited = found.audited.turns if found.audited else []
        return StoredTurn(
            next((turn for turn in turns if turn.index == number), None),
            [signal for signal in signals if signal.turn == number],
            next((turn for turn in audited if turn.turn == number), None),
        )

    def first_prompts(self, sessions: Iterable[str]) -> dict[str, str]:
        """Return the first prompt of each of these sessions that has one."""
        found = {}
        for session in sessions:
            with suppress(StoreError, msgspec.MsgspecError):  # bytes of another version
                findings = self.session(session).findings
                if prompt := next((turn.prompt for turn in findings.turns if turn.prompt), "") if findings else "":
                    found[session] = prompt
        return found


class SessionRow(msgspec.Struct, omit_defaults=True):
    """A session as it is listed, of what `observe` and `audit` stored under a key."""

    session: str
    agent: str = ""
    project: str = ""
    folder: str = ""
    started: str = ""
    ended: str = ""
    turns: int = 0
    calls: int = 0
    signals: int = 0
    open: int = 0
    names: list[str] = []
    audited: list[tuple[int, str, str]] = []  # turn, time, diagnosis


class _SignalHead(msgspec.Struct):
    status: Status
    query: str = ""
    text: str = ""
    names: tuple[str, ...] = ()


class _SessionHead(msgspec.Struct):
    session: str
    agent: str
    project: str = ""
    started: str = ""
    ended: str = ""


class _FindingsHead(_SessionHead):
    turns: list[msgspec.Raw] = []
    signals: list[_SignalHead] = []
    tool_calls: int = 0


class _TurnHead(msgspec.Struct):
    turn: int
    diagnosis: str
    time: str = ""


class _AuditedHead(_SessionHead):
    turns: list[_TurnHead] = []


_heads = msgspec.msgpack.Decoder(list[_FindingsHead])
_audited_heads = msgspec.msgpack.Decoder(list[_AuditedHead])
_findings = msgspec.msgpack.Decoder(list[Findings])
_audited = msgspec.msgpack.Decoder(list[AuditedSession])


def session_rows(key: str, findings: bytes | None, audited: bytes | None) -> Iterator[SessionRow]:
    """Yield the sessions of a key. One whose bytes are of another version is known by its key alone."""
    try:
        heads = _heads.decode(findings) if findings else []
        turns = {session.session: session for session in (_audited_heads.decode(audited) if audited else [])}
    except msgspec.MsgspecError:
        yield SessionRow(key.partition(":")[2].rpartition(":")[0], key.partition(":")[0])  # reader:id:hash
        return
    for head in heads:
        lacking = [signal for signal in head.signals if signal.status in _LACKING_STATUSES]
        row = _row(head, turns.pop(head.session, None))
        row.turns, row.calls, row.signals = len(head.turns), head.tool_calls, len(head.signals)
        row.open = sum(signal.status is Status.OPEN for signal in lacking)
        names_by_signal = (signal.names or (plain_term((signal.query or signal.text).lower()),) for signal in lacking)
        row.names = sorted({name for names in names_by_signal for name in names})
        yield row
    yield from (_row(head, head) for head in turns.values())  # audited alone


def _row(head: _SessionHead, audited: _AuditedHead | None) -> SessionRow:
    """Return the row of a session; a turn without a time has that of the session's start."""
    turns = [(turn.turn, turn.time or head.started, turn.diagnosis) for turn in (audited.turns if audited else ())]
    return SessionRow(
        head.session, head.agent, project_name(head.project), head.project, head.started, head.ended, audited=turns
    )


def list_changed(db: sqlite3.Connection, most: int = -1) -> int:
    """List the sessions of changed keys (`unlisted`) anew, in the caller's transaction; return the number of keys."""
    keys = db.execute("SELECT key FROM unlisted LIMIT ?", (most,)).fetchall()  # -1: all
    for (key,) in keys:
        for table in ("listed_name", "listed_turn"):
            db.execute(f"DELETE FROM {table} WHERE id IN (SELECT id FROM listed_session WHERE key = ?)", (key,))
        db.execute("DELETE FROM listed_session WHERE key = ?", (key,))
        findings = db.execute("SELECT findings FROM session WHERE key = ?", (key,)).fetchone()
        audited = db.execute("SELECT sessions FROM audited WHERE key = ?", (key,)).fetchone()
        if findings or audited:
            for row in session_rows(key, findings and findings[0], audited and audited[0]):
                _insert_row(db, key, row)
    db.executemany("DELETE FROM unlisted WHERE key = ?", keys)
    return len(keys)


def _insert_row(db: sqlite3.Connection, key: str, row: SessionRow) -> None:
    """Write the row of a session, and those of its names and of its audited turns."""
    values = (*msgspec.structs.astuple(row)[:-2], len(row.audited))  # the last two: names, audited
    id_ = db.execute(f"INSERT INTO listed_session VALUES (NULL, ?{', ?' * len(values)})", (key, *values)).lastrowid
    db.executemany("INSERT OR IGNORE INTO listed_name VALUES (?, ?)", ((name, id_) for name in row.names))
    turns = ((id_, turn, time, row.project, diagnosis) for turn, time, diagnosis in row.audited)
    db.executemany("INSERT OR REPLACE INTO listed_turn VALUES (?, ?, ?, ?, ?)", turns)


class SqliteResults(FindingsStore, ResultPages):
    """The results of one data folder, page by page."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        while self._db.row("SELECT 1 FROM unlisted LIMIT 1"):
            with self._db.writing() as db:
                list_changed(db, _KEYS_AT_ONCE)

    def sessions(
        self, *, project: str = "", agent: str = "", since: str = "", after: str = "", most: int = PAGE
    ) -> ResultPage[ListedSession]:
        values = {"project": project, "agent": agent}
        query, bound = sessions_query(values, since, _cursor(after, 1))
        rows = self._db.rows(query, *bound, most + 1)
        # The first column is the id of the row, the eighth the end of the session.
        return paged(rows, most, lambda row: ListedSession(*row[1:]), lambda row: (row[7], row[0]))

    def turns(
        self, *, project: str = "", diagnosis: str = "", after: str = "", most: int = PAGE
    ) -> ResultPage[ListedTurn]:
        query, bound = turns_query({"project": project, "diagnosis": diagnosis}, _cursor(after, 2))
        rows = self._db.rows(query, *bound, most + 1)
        # By time, id of the session's row, and number of the turn.
        return paged(rows, most, lambda row: ListedTurn(*row[1:]), lambda row: (row[3], row[0], row[2]))

    def session(self, session: str) -> StoredSession:
        """Return the newest findings and the newest audit of a session."""
        findings: Findings | None = None
        audited: AuditedSession | None = None
        for (key,) in self._db.rows("SELECT key FROM listed_session WHERE session = ? ORDER BY id DESC", session):
            if findings is None and (row := self._db.row("SELECT findings FROM session WHERE key = ?", key)):
                stored = self._db.decoded(_findings, row[0])
                findings = _with_id(stored, session)
            if audited is None and (row := self._db.row("SELECT sessions FROM audited WHERE key = ?", key)):
                audits = self._db.decoded(_audited, row[0])
                audited = _with_id(audits, session)
        return StoredSession(findings, audited)

    def counts(self, by: CountedBy, *, project: str = "", session: str = "") -> dict[str, int]:
        """Return the number of turns (by diagnosis) or of sessions (by any other column) of each value, most first."""
        table = "listed_turn" if by == "diagnosis" else "listed_session"
        joined = f"{table} JOIN listed_session USING (id)" if session and by == "diagnosis" else table
        filters = {name: value for name, value in ((f"{table}.project", project), ("session", session)) if value}
        where = " AND ".join(f"{name} = ?" for name in filters) or "1"
        rows = self._db.rows(f"SELECT {table}.{by}, count(*) FROM {joined} WHERE {where} GROUP BY 1", *filters.values())
        return dict(Counter(dict(rows)).most_common())

    def audits(self) -> Iterator[tuple[AuditedSession, Counter[str]]]:
        """Yield every audited session without its turns, with their number by diagnosis."""
        rows = self._db.rows(
            "SELECT id, session, agent, folder, started, ended, diagnosis, count(*) FROM listed_turn "
            "JOIN listed_session USING (id) GROUP BY id, diagnosis ORDER BY id"
        )
        for (_, *head), of_session in groupby(rows, key=lambda row: row[:6]):
            yield AuditedSession(*head), Counter({diagnosis: turns for *_, diagnosis, turns in of_session})

    def keys_about(self, names: Collection[str]) -> list[str]:
        about = "SELECT id FROM listed_name WHERE name IN (SELECT value FROM json_each(?))"
        query = f"SELECT key FROM listed_session WHERE id IN ({about}) ORDER BY id"
        return list(dict.fromkeys(row[0] for row in self._db.rows(query, json.dumps([*names]))))

    def keys_ended_before(self, day: str) -> set[str]:
        """Return the keys whose every session ended before a day."""
        return {key for key, _ in self._db.rows(ENDED_BEFORE, day)}

    def keys_of(self, sessions: Iterable[str]) -> list[str]:
        """Return the keys that these sessions are stored under."""
        query = "SELECT key FROM listed_session WHERE session = ?"
        return list(dict.fromkeys(row[0] for session in sessions for row in self._db.rows(query, session)))


_Session = TypeVar("_Session", Findings, AuditedSession)


def _with_id(found: Iterable[_Session], session: str) -> _Session | None:
    return next((stored for stored in found if stored.session == session), None)


def sessions_query(
    values: dict[str, str], since: str = "", cursor: tuple[str | int, ...] = ()
) -> tuple[str, list[str | int]]:
    """Return the query for a page of sessions, and its values but the last, the number of rows."""
    return _page_query("listed_session", values, ("ended", "id"), since, cursor)


def turns_query(values: dict[str, str], cursor: tuple[str | int, ...] = ()) -> tuple[str, list[str | int]]:
    """Return the query for a page of turns, and its values but the last, the number of rows."""
    query, bound = _page_query("listed_turn", values, ("time", "id", "turn"), "", cursor)
    return (
        f"SELECT page.id, session, turn, time, page.project, diagnosis FROM ({query}) AS page "
        "JOIN listed_session USING (id) ORDER BY time DESC, page.id DESC, turn DESC",
        bound,
    )


def _page_query(
    table: str, values: dict[str, str], order: tuple[str, ...], since: str, cursor: tuple[str | int, ...]
) -> tuple[str, list[str | int]]:
    """Return the query for the rows after a cursor, newest first, and its values but the number of rows."""
    where = [f"{name} = ?" for name, value in values.items() if value]
    bound: list[str | int] = [value for value in values.values() if value]
    if since:
        where.append(f"{order[0]} >= ?")
        bound.append(since)
    if cursor:
        where.append(f"({', '.join(order)}) < ({', '.join('?' * len(order))})")
        bound += cursor
    condition = f" WHERE {' AND '.join(where)}" if where else ""
    by = ", ".join(f"{name} DESC" for name in order)
    return f"SELECT * FROM {table}{condition} ORDER BY {by} LIMIT ?", bound


def paged(
    found: list[Any], most: int, row_of: Callable[[Any], Row], cursor_of: Callable[[Any], tuple[str | int, ...]]
) -> ResultPage[Row]:
    """Return a page of `most` rows; one row more says that another page follows."""
    shown = found[:most]
    after = "|".join(map(str, cursor_of(shown[-1]))) if len(found) > most and shown else ""
    return ResultPage([row_of(row) for row in shown], after)


def _cursor(after: str, numbers: int) -> tuple[str | int, ...]:
    """Return the values of a cursor: a time, and as many numbers. Anything else is the first page."""
    time, *parts = after.rsplit("|", numbers)
    return (time, *map(int, parts)) if len(parts) == numbers and all(part.isdigit() for part in parts) else ()
