"""Stores the results of `eval`: finished evaluations, the journal of unfinished ones, and runs for reuse.

The journal makes an interrupted evaluation safe: each run is written when it ends, in a transaction of its own, so that
`--resume` neither loses nor repeats it.
"""

from __future__ import annotations

import sqlite3
from typing import TypeVar

import msgspec

from knowbound.stats.evaluation import Evaluation, EvaluationHead, Origin, SampleRun
from knowbound.store.database import FindingsStore

_run = msgspec.msgpack.Decoder(SampleRun)
_head = msgspec.msgpack.Decoder(EvaluationHead)
_whole = msgspec.msgpack.Decoder(Evaluation)
_Execution = TypeVar("_Execution")
_JOURNAL = "id, made, tasks, (SELECT count(*) FROM journal_run WHERE journal = id)"  # columns of a Journal
_DELETE_JOURNALS = "DELETE FROM journal WHERE plan = (SELECT plan FROM journal WHERE id = ?)"


class Journal(msgspec.Struct, frozen=True):
    """An unfinished evaluation."""

    id: int
    made: str
    tasks: int
    done: int
    same_knowledge: bool = True


class Evaluations(FindingsStore):
    """The evaluations of one data folder. Its methods may be called from several threads."""

    def check(self) -> None:
        """Raise StoreError unless a new evaluation can be stored and compared with the stored ones."""
        self.heads()
        self._db.check()

    def keep(
        self, evaluation: Evaluation, other: Evaluation | None = None, *, journal: int = 0, finished: bool = True
    ) -> Evaluation:
        """Store an evaluation and, if given, that of the other version; return it with the ids of both.

        An earlier stored part of the same run is replaced. A finished run deletes its journal and all others of the
        same plan.
        """
        with self._db.writing() as db:
            if journal:  # parts of this run that were stored before
                ids = db.execute("SELECT id FROM evaluation WHERE journal = ?", (journal,)).fetchall()
                db.executemany("DELETE FROM run WHERE kind = 'evaluation' AND corpus = CAST(? AS TEXT)", ids)
                db.execute("DELETE FROM evaluation WHERE journal = ?", (journal,))
            other_id = _insert(db, other, journal).id if other is not None else 0
            kept = _insert(db, msgspec.structs.replace(evaluation, compared_with=other_id), journal)
            if finished:
                db.execute(_DELETE_JOURNALS, (journal,))
        return kept

    def finish(self, journal: int) -> None:
        """Delete the journals of a plan after its result was shown."""
        self._db.write(_DELETE_JOURNALS, journal)

    def heads(self) -> list[EvaluationHead]:
        """Return every evaluation without its runs, oldest first."""
        return [
            self._db.decoded(_head, report) for (report,) in self._db.rows("SELECT report FROM evaluation ORDER BY id")
        ]

    def get(self, id_: int) -> Evaluation | None:
        """Return an evaluation with its runs, or None."""
        row = self._db.row("SELECT report FROM evaluation WHERE id = ?", id_)
        return self._db.decoded(_whole, row[0]) if row else None

    def newest(self, origin: Origin) -> Evaluation | None:
        """Return the newest evaluation of an origin, without those of `--against`."""
        row = self._db.row(
            "SELECT report FROM evaluation WHERE against = '' AND origin = ? ORDER BY id DESC LIMIT 1", origin
        )
        return self._db.decoded(_whole, row[0]) if row else None

    def note_gates(self, id_: int, gates: dict[str, bool]) -> None:
        """Store which gates an evaluation passed and failed."""
        with self._db.writing() as db:
            row = db.execute("SELECT report FROM evaluation WHERE id = ?", (id_,)).fetchone()
            if row is not None:
                kept = msgspec.structs.replace(self._db.decoded(_whole, row[0]), gates=gates)
                db.execute("UPDATE evaluation SET report = ? WHERE id = ?", (msgspec.msgpack.encode(kept), id_))

    def begin(self, key: str, plan: str, made: str, tasks: int) -> int:
        """Create the journal of a new evaluation and return its id."""
        query = "INSERT INTO journal (key, plan, made, tasks) VALUES (?, ?, ?, ?)"
        return self._db.write(query, key, plan, made, tasks).lastrowid or 0

    def unfinished(self, key: str, plan: str) -> Journal | None:
        """Return the newest interrupted evaluation of this plan, preferably on the same knowledge."""
        query = f"SELECT {_JOURNAL}, key = ?1 FROM journal WHERE key = ?1 OR plan = ?2 ORDER BY key = ?1 DESC, id DESC"
        row = self._db.row(f"{query} LIMIT 1", key, plan)
        if row is None:
            return None
        id_, made, tasks, done, is_same_knowledge = row
        return Journal(id_, made, tasks, done, same_knowledge=bool(is_same_knowledge))

    def journals(self) -> dict[int, str]:
        """Return the plans of all unfinished evaluations by id."""
        return dict(self._db.rows("SELECT id, plan FROM journal"))

    def going(self) -> list[Journal]:
        """Return the journals of evaluations that go on or were interrupted, newest first."""
        return [Journal(*row) for row in self._db.rows(f"SELECT {_JOURNAL} FROM journal ORDER BY id DESC")]

    def note(self, journal: int, task: str, run: SampleRun) -> None:
        """Store an ended task, which is never run again."""
        query = "INSERT OR IGNORE INTO journal_run VALUES (?, ?, ?)"
        self._db.write(query, journal, task, msgspec.msgpack.encode(run))

    def noted(self, journal: int) -> dict[str, SampleRun]:
        """Return the runs of ended tasks by task."""
        rows = self._db.rows("SELECT task, run FROM journal_run WHERE journal = ?", journal)
        return {task: self._db.decoded(_run, run) for task, run in rows}

    def execution(self, key: str, type_: type[_Execution]) -> _Execution | None:
        """Return a stored identical run, or None."""
        row = self._db.row("SELECT execution FROM execution WHERE key = ?", key)
        try:
            return msgspec.msgpack.decode(row[0], type=type_) if row else None
        except msgspec.DecodeError:
            return None  # damaged, or of another version: it runs again

    def keep_execution(self, key: str, made: str, execution: object) -> None:
        """Store a run for reuse."""
        query = "INSERT OR REPLACE INTO execution VALUES (?, ?, ?)"
        self._db.write(query, key, made, msgspec.msgpack.encode(execution))


def _insert(db: sqlite3.Connection, evaluation: Evaluation, journal: int) -> Evaluation:
    """Store an evaluation, and return it with its id."""
    cursor = db.execute(  # first without the report, which holds the id
        "INSERT INTO evaluation (made, sha256, origin, against, journal, report) VALUES (?, ?, ?, ?, ?, x'')",
        (evaluation.made, evaluation.sha256, evaluation.origin, evaluation.against, journal),
    )
    kept = msgspec.structs.replace(evaluation, id=cursor.lastrowid or 0)
    db.execute("UPDATE evaluation SET report = ? WHERE id = ?", (msgspec.msgpack.encode(kept), kept.id))
    # `report` and gates look for the newest run in this list. The compared version and competency questions are not
    # listed: nobody asked for a report about them.
    if not kept.against and kept.origin is Origin.WRITTEN:
        db.execute(
            "INSERT INTO run (kind, made, corpus, keys, report) VALUES ('evaluation', ?, ?, ?, ?)",
            (kept.made, str(kept.id), msgspec.msgpack.encode([]), msgspec.msgpack.encode(kept.id)),
        )
    return kept
