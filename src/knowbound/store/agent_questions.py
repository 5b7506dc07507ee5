"""Questions that wait for the agent of a session, and its answers, which are kept like those of any model."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path

import msgspec

from knowbound.store.data_dir import FINDINGS
from knowbound.store.database import Database

KEPT_DAYS = 30  # an older question is not answered any more


class QueuedEntry(msgspec.Struct, frozen=True):
    """One of the things that a question asks about."""

    id: str  # its name in the material; "" if the question is about one thing
    key: str  # of its answer
    session: str = ""
    project: str = ""


class QueuedQuestion(msgspec.Struct, frozen=True):
    """A question as the agent gets it, and where its answers go."""

    id: str  # hash of the judge, the prompt's version and the keys of the entries
    judge: str
    prompt: str
    version: str
    instructions: str
    text: str
    schema: Mapping[str, object]
    entries: tuple[QueuedEntry, ...]  # those without an answer yet
    made: str = ""  # day, UTC


def question_id(judge: str, version: str, entries: Iterable[QueuedEntry]) -> str:
    """Return the name by which a question is answered."""
    keys = "\n".join((judge, version, *(entry.key for entry in entries)))
    return hashlib.sha256(keys.encode()).hexdigest()[:12]


def erase_questions(db: sqlite3.Connection, is_erased: Callable[[str, str], bool], before: str) -> int:
    """Erase the questions about erased sessions and projects, those of earlier days, and unreadable ones."""
    gone = []
    for id_, made, data in db.execute("SELECT id, made, question FROM agent_question").fetchall():
        try:
            entries = msgspec.json.decode(data, type=QueuedQuestion).entries
        except msgspec.MsgspecError:
            entries = ()
        if not entries or made < before[:10] or any(is_erased(one.session, one.project) for one in entries):
            gone.append((id_,))
    db.executemany("DELETE FROM agent_question WHERE id = ?", gone)
    return len(gone)


class AgentQuestions:
    """The queue of one data folder. Its methods may be called from several threads."""

    def __init__(self, home: Path) -> None:
        self._path = home / FINDINGS

    @cached_property
    def _db(self) -> Database:
        db = Database(self._path)
        oldest = (datetime.now(UTC) - timedelta(days=KEPT_DAYS)).strftime("%Y-%m-%d")
        with db.writing() as writing:
            writing.execute("DELETE FROM agent_question WHERE made < ?", (oldest,))
        return db

    def put(self, client: str, question: QueuedQuestion) -> None:
        """Queue a question, once."""
        with self._db.writing() as db:
            db.execute(
                "INSERT OR REPLACE INTO agent_question (id, client, made, question) VALUES (?, ?, ?, ?)",
                (question.id, client, question.made or _today(), msgspec.json.encode(question)),
            )

    def open(self, client: str) -> list[QueuedQuestion]:
        """Return the questions for this client, oldest first."""
        rows = self._db.rows("SELECT question FROM agent_question WHERE client = ? ORDER BY rowid", client)
        return [msgspec.json.decode(row[0], type=QueuedQuestion) for row in rows]

    def take(self, client: str, id_: str) -> QueuedQuestion | None:
        """Remove a question and return it to the first caller; None to others, and if it is not open."""
        with self._db.writing() as db:
            query = "DELETE FROM agent_question WHERE id = ? AND client = ? RETURNING question, made"
            row = db.execute(query, (id_, client)).fetchone()
        if row is None:
            return None
        return msgspec.structs.replace(msgspec.json.decode(row[0], type=QueuedQuestion), made=row[1])


def _today() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%d")
