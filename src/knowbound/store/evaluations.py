"""What `eval` found, kept: finished evaluations, the journal of unfinished ones, and identical runs.

The journal is what makes an interrupted run safe: a run is written the moment it ended, in a transaction of its own,
so that `--resume` neither loses it nor makes it again.
"""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import TypeVar

import msgspec

from knowbound.stats.evaluation import Evaluation, EvaluationHead, Origin, SampleRun
from knowbound.store.database import NAME, explained, open_database, transaction

_run = msgspec.msgpack.Decoder(SampleRun)
_head = msgspec.msgpack.Decoder(EvaluationHead)
_whole = msgspec.msgpack.Decoder(Evaluation)
_T = TypeVar("_T")


class Journal(msgspec.Struct, frozen=True):
    """An evaluation that was begun and not finished."""

    id: int
    made: str
    tasks: int
    done: int
    same_knowledge: bool = True


class Evaluations:
    """The evaluations of one data folder. Its methods may be called from several threads."""

    def __init__(self, home: Path) -> None:
        open_database(home).close()  # made and migrated where needed
        self.path = home / NAME
        self._lock = threading.Lock()
        self._db = sqlite3.connect(self.path, timeout=20.0, isolation_level=None, check_same_thread=False)
        with explained(self.path):
            self._db.execute("PRAGMA foreign_keys = ON")

    def close(self) -> None:
        """Leave a complete file behind."""
        self._db.close()

    def keep(
        self, evaluation: Evaluation, other: Evaluation | None = None, *, journal: int = 0, finished: bool = True
    ) -> Evaluation:
        """Store an evaluation, and the other version it was run beside; gives it with its id and the other's.

        A part of the same run that was stored before is replaced. A finished run needs its journal no longer, nor any
        that was left behind of the same plan.
        """
        with self._lock, explained(self.path), transaction(self._db):
            if journal:
                self._forget_part(journal)
            beside = self._insert(other, journal).id if other is not None else 0
            kept = self._insert(msgspec.structs.replace(evaluation, compared_with=beside), journal)
            if finished:
                self._db.execute("DELETE FROM journal WHERE plan = (SELECT plan FROM journal WHERE id = ?)", (journal,))
        return kept

    def _forget_part(self, journal: int) -> None:
        ids = [row[0] for row in self._db.execute("SELECT id FROM evaluation WHERE journal = ?", (journal,))]
        self._db.executemany("DELETE FROM run WHERE kind = 'evaluation' AND corpus = ?", ((str(id_),) for id_ in ids))
        self._db.execute("DELETE FROM evaluation WHERE journal = ?", (journal,))

    def _insert(self, evaluation: Evaluation, journal: int) -> Evaluation:
        cursor = self._db.execute(
            "INSERT INTO evaluation (made, sha256, origin, against, journal, report) VALUES (?, ?, ?, ?, ?, x'')",
            (evaluation.made, evaluation.sha256, evaluation.origin, evaluation.against, journal),
        )
        kept = msgspec.structs.replace(evaluation, id=cursor.lastrowid or 0)
        self._db.execute(
            "UPDATE evaluation SET report = ? WHERE id = ?", (msgspec.msgpack.encode(kept), cursor.lastrowid)
        )
        self._stand_in_line(kept)
        return kept

    def _stand_in_line(self, evaluation: Evaluation) -> None:
        """Among the runs of all kinds, so that the newest of them can be told.

        The other version never is, nor are competency questions: no gate and no report is about them unasked.
        """
        if not evaluation.against and evaluation.origin is Origin.WRITTEN:
            self._db.execute(
                "INSERT INTO run (kind, made, corpus, keys, report) VALUES ('evaluation', ?, ?, ?, ?)",
                (
                    evaluation.made,
                    str(evaluation.id),
                    msgspec.msgpack.encode([]),
                    msgspec.msgpack.encode(evaluation.id),
                ),
            )

    def heads(self) -> list[EvaluationHead]:
        """Every evaluation without its runs, oldest first."""
        with self._lock, explained(self.path):
            return [_head.decode(row[0]) for row in self._db.execute("SELECT report FROM evaluation ORDER BY id")]

    def get(self, id_: int) -> Evaluation | None:
        """An evaluation with its runs."""
        with self._lock, explained(self.path):
            row = self._db.execute("SELECT report FROM evaluation WHERE id = ?", (id_,)).fetchone()
        return _whole.decode(row[0]) if row else None

    def newest(self, origin: Origin) -> Evaluation | None:
        """The newest evaluation of an origin, of the knowledge base itself."""
        with self._lock, explained(self.path):
            row = self._db.execute(
                "SELECT report FROM evaluation WHERE against = '' AND origin = ? ORDER BY id DESC LIMIT 1", (origin,)
            ).fetchone()
        return _whole.decode(row[0]) if row else None

    def begin(self, key: str, plan: str, made: str, tasks: int) -> int:
        """A journal for an evaluation that starts now."""
        with self._lock, explained(self.path), transaction(self._db):
            cursor = self._db.execute(
                "INSERT INTO journal (key, plan, made, tasks) VALUES (?, ?, ?, ?)", (key, plan, made, tasks)
            )
        return cursor.lastrowid or 0

    def unfinished(self, key: str, plan: str) -> Journal | None:
        """The newest interrupted evaluation of this plan; one on the same knowledge first."""
        with self._lock, explained(self.path):
            row = self._db.execute(
                "SELECT id, made, tasks, (SELECT count(*) FROM journal_run WHERE journal = id), key = ? FROM journal "
                "WHERE key = ? OR plan = ? ORDER BY key = ? DESC, id DESC LIMIT 1",
                (key, key, plan, key),
            ).fetchone()
        return Journal(row[0], row[1], row[2], row[3], bool(row[4])) if row else None

    def journals(self) -> set[int]:
        """Every run that was begun and not finished."""
        with self._lock, explained(self.path):
            return {row[0] for row in self._db.execute("SELECT id FROM journal")}

    def note(self, journal: int, task: str, run: SampleRun) -> None:
        """A task ended: from here on it is never run again."""
        with self._lock, explained(self.path), transaction(self._db):
            self._db.execute(
                "INSERT OR IGNORE INTO journal_run VALUES (?, ?, ?)", (journal, task, msgspec.msgpack.encode(run))
            )

    def noted(self, journal: int) -> dict[str, SampleRun]:
        """The tasks that ended, by task."""
        with self._lock, explained(self.path):
            rows = self._db.execute("SELECT task, run FROM journal_run WHERE journal = ?", (journal,)).fetchall()
        return {task: _run.decode(run) for task, run in rows}

    def execution(self, key: str, type_: type[_T]) -> _T | None:
        """An identical run, where one is kept."""
        with self._lock, explained(self.path):
            row = self._db.execute("SELECT execution FROM execution WHERE key = ?", (key,)).fetchone()
        try:
            return msgspec.msgpack.decode(row[0], type=type_) if row else None
        except msgspec.ValidationError:
            return None  # written by a version with another shape: it is made again

    def keep_execution(self, key: str, made: str, execution: object) -> None:
        """Remember a run."""
        with self._lock, explained(self.path), transaction(self._db):
            self._db.execute(
                "INSERT OR REPLACE INTO execution VALUES (?, ?, ?)", (key, made, msgspec.msgpack.encode(execution))
            )

    def answer(self, prompt: str, model: str, sha256: str) -> bytes | None:
        """What a model answered to this input, where it was asked before."""
        with self._lock, explained(self.path):
            row = self._db.execute(
                "SELECT answer FROM answer WHERE prompt = ? AND model = ? AND sha256 = ?", (prompt, model, sha256)
            ).fetchone()
        return bytes(row[0]) if row else None

    def keep_answer(self, prompt: str, model: str, sha256: str, answer: bytes) -> None:
        """Remember an answer: the same question is not paid for twice."""
        with self._lock, explained(self.path), transaction(self._db):
            self._db.execute("INSERT OR REPLACE INTO answer VALUES (?, ?, ?, ?)", (prompt, model, sha256, answer))
