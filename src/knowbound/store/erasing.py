"""Erases the data of sessions from the databases of a data folder.

A preview does the same work and rolls it back, so that it shows exactly what would be erased. Erased texts are
collected, so that the caller can search for copies. `listed_session` (store/listing.py) says which keys a session has;
other records name their sessions themselves.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

from knowbound.core.audit import AuditedSession
from knowbound.core.lesson import Lesson
from knowbound.core.quality import Discovery, QualityTurn, SuggestionAnswer
from knowbound.core.signal import Findings, Signal
from knowbound.files import is_inside
from knowbound.stats.evaluation import Evaluation, SampleRun
from knowbound.store.data_dir import EVALS, FINDINGS, INDEX, ITEMS
from knowbound.store.database import Database
from knowbound.store.judges import erase_answers, erase_questions
from knowbound.store.listing import list_changed
from knowbound.store.observed import READ_AHEAD, session_of
from knowbound.store.retention import Forgotten

# Fields with words or ids of a session; the content of items is knowledge.
_WORD_FIELDS = frozenset(
    "session session_id prompt answer query text context said correction user_prompt assistant_response problem "
    "input_excerpt reason statement note commands misused".split()
)
_PATH_FIELDS = ("files", "trace")  # fields with paths of transcripts
# Columns that may repeat an erased text, because another session or an item says the same.
_REPEATING_COLUMNS = {
    FINDINGS: "session.findings audited.sessions listed_name.name listed_session.session listed_session.folder "
    "run.report evaluation.report journal_run.run unmanaged.excerpt material.material lesson.lesson lesson.accepted "
    "agent_question.question screen.screen fix.fix",
    INDEX: "item.content",
    ITEMS: "item.record kms_quality_log.document kms_quality_discovery.document kms_quality_answer.document "
    "kms_quality_note.document",
}
_Value = TypeVar("_Value")


class ErasureScope(msgspec.Struct):
    """The data to erase. It includes the sessions of earlier calls, so that a killed call is completed."""

    forgotten: Forgotten
    before: str = ""  # ISO, UTC
    project: str = ""  # a folder
    everything: bool = False
    is_own_project: bool = False  # the data folder is the project's: a record without a session belongs to it
    tasks: frozenset[str] = frozenset()  # folders of runs with a forgotten session: RUN/VERSION/TASK below evals/

    def has_session(self, id_: str) -> bool:
        """Report whether a session is to be erased."""
        return self.everything or self.forgotten.has_session(id_)

    def has_record(self, time: str, session: str = "") -> bool:
        """Report whether a record that names no project is to be erased."""
        return (
            self.everything
            or self.is_own_project
            or bool(self.before and time and time < self.before)
            or bool(session and self.has_session(session))
        )

    def has_shared_record(self, session: str, time: str, *, is_own: bool) -> bool:
        """Report whether a record of a shared store is to be erased; that of others only by its session."""
        return self.forgotten.has_session(session) or (is_own and self.has_record(time, session))

    def has_evaluation(self, made: str, evaluation: Evaluation | None) -> bool:
        """Report whether an evaluation is to be erased as a whole."""
        is_of_project = evaluation is not None and self.project and is_inside(evaluation.root, self.project)
        return self.has_record(made) or bool(is_of_project)

    def has_run(self, run: SampleRun) -> bool:
        """Report whether a run of an evaluation is to be erased: by its session or by the folder of its trace."""
        return bool(run.session and self.has_session(run.session)) or task_of(run.trace) in self.tasks

    def selects(self, project: str, ended: str) -> bool:
        """Report whether a session is selected by its project or its end."""
        spellings = (project, os.path.realpath(project)) if self.project and project else ()
        is_of_project = any(is_inside(folder, self.project) for folder in spellings)
        return self.everything or is_of_project or bool(self.before and ended and ended < self.before)

    def names(self, session: str, project: str) -> bool:
        """Report whether what a model was asked about is to be erased: by its session, or else by its project."""
        return self.has_session(session) if session else self.selects(project, "")


def task_of(path: str) -> str:
    """Return the run folder of a file below evals/, even if the data folder was moved."""
    parts = path.rpartition(f"/{EVALS}/")[2].split("/")
    return "/".join(parts[:3]) if len(parts) > 3 else ""


class Erased(msgspec.Struct):
    """Number of erased records by store, and their texts."""

    counts: Counter[str] = msgspec.field(default_factory=Counter)
    texts: set[str] = set()

    def add(self, store: str, count: int, *texts: str) -> None:
        """Count records of a store."""
        self.counts.update({store: count} if count else {})
        self.texts.update(texts)


def texts_in(value: object, field: str = "") -> Iterator[str]:
    """Yield the words of sessions in a stored value at any depth, their ids, and the names of their transcripts."""
    if isinstance(value, msgspec.Struct):
        value = msgspec.to_builtins(value)
    if isinstance(value, str):
        yield from [value] if field in _WORD_FIELDS else [os.path.basename(value)] if field in _PATH_FIELDS else []
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield from texts_in(inner, name)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from texts_in(inner, field)


class _PreviewError(Exception):
    """Rolls the transaction of a preview back."""


def select_sessions(home: Path, scope: ErasureScope) -> list[str]:
    """Return the ids of stored sessions that the scope selects by project or time."""
    selected: list[str] = []
    if not (home / FINDINGS).exists():
        return selected
    database = Database(home / FINDINGS)
    with suppress(_PreviewError), database.writing() as db:
        list_changed(db)
        times = dict(db.execute("SELECT path, mtime_ns FROM file"))
        for key, session, folder, ended in db.execute("SELECT key, session, folder, ended FROM listed_session"):
            if scope.selects(folder, ended or _end_by_files(db, key, session, times)):
                selected.append(session)
        raise _PreviewError  # nothing changes before a person agrees
    database.close()
    return selected


def _end_by_files(db: sqlite3.Connection, key: str, session: str, times: dict[str, int]) -> str:
    """Return when the files of a session changed last, where its trace has no times."""
    row = db.execute("SELECT findings FROM session WHERE key = ?", (key,)).fetchone()
    findings_of_key = (_decoded_or_none(row[0], list[Findings]) if row else None) or []
    files = [path for stored in findings_of_key if stored.session == session for path in stored.files]
    return _time_of(max((times.get(path, 0) for path in files), default=0))


class SelectedRuns(msgspec.Struct):
    """Evaluations in the scope: whole run folders by number, and single runs of other folders."""

    known: set[int] = set()  # run folders in the database
    folders: set[int] = set()
    runs: list[SampleRun] = []


def select_runs(home: Path, scope: ErasureScope) -> SelectedRuns:
    """Select evaluations by time and project, and runs of a session in the scope."""
    selected = SelectedRuns()
    if not (home / FINDINGS).exists():
        return selected
    database = Database(home / FINDINGS)
    runs = [msgspec.msgpack.decode(run, type=SampleRun) for (run,) in database.rows("SELECT run FROM journal_run")]
    evaluations = [
        (number, made, _decoded_or_none(report, Evaluation))
        for number, made, report in database.rows("SELECT journal, made, report FROM evaluation")
    ]
    unfinished = [(number, made, None) for number, made in database.rows("SELECT id, made FROM journal")]
    for number, made, found in (*unfinished, *evaluations):
        selected.known.add(number)  # the folder is one of ours
        selected.folders |= {number} if scope.has_evaluation(made, found) else set()
        runs += found.runs if found else []
    database.close()
    selected.runs = [run for run in runs if run.session and scope.has_session(run.session)]
    return selected


def erase_databases(home: Path, scope: ErasureScope, erased: Erased, *, preview: bool) -> None:
    """Erase from each database in one transaction, and then from the free pages and the log of the file."""
    for name, eraser in ((FINDINGS, _FindingsEraser), (INDEX, _IndexEraser), (ITEMS, _QualityEraser)):
        if not (home / name).exists():
            continue
        database = Database(home / name)
        try:
            database.rows("PRAGMA secure_delete = ON")
            with suppress(_PreviewError), database.writing() as db:
                eraser(db, scope, erased).erase()
                if preview:
                    raise _PreviewError
            if not preview:
                database.compact()
        finally:
            database.close()


def kept_records(home: Path) -> Iterator[bytes]:
    """Yield the texts of all records in the databases."""
    for name, columns in _REPEATING_COLUMNS.items():
        if (home / name).exists():
            database = Database(home / name)
            for table, _, column in (table_column.partition(".") for table_column in columns.split()):
                rows = database.rows(f"SELECT {column} FROM {table}")
                yield from (text if isinstance(text, bytes) else str(text).encode() for (text,) in rows)
            database.close()


class _Eraser:
    """Erases from one database, within a transaction."""

    _name = ""

    def __init__(self, db: sqlite3.Connection, scope: ErasureScope, erased: Erased) -> None:
        self._db, self._scope, self._erased = db, scope, erased

    def erase(self) -> None:
        """Erase the data of the scope."""
        raise NotImplementedError

    def _rows(self, query: str, *values: object) -> list[Any]:
        return self._db.execute(query, values).fetchall()

    def _replace(self, column: str, key: dict[str, object], old: object, left: object, count: int = 1) -> None:
        """Put what is left of a value into TABLE.COLUMN; None deletes the row."""
        table, _, name = column.partition(".")
        where = " AND ".join(f"{key_column} = ?" for key_column in key)
        if left is None:
            self._db.execute(f"DELETE FROM {table} WHERE {where}", (*key.values(),))
        else:
            encoded = msgspec.json.encode(left).decode() if name == "document" else msgspec.msgpack.encode(left)
            self._db.execute(f"UPDATE {table} SET {name} = ? WHERE {where}", (encoded, *key.values()))
        self._count(table if left is None else f"words in {table}", count, *{*texts_in(old)} - {*texts_in(left)})

    def _count(self, what: str, count: int, *texts: str) -> None:
        self._erased.add(f"{self._name}: {what}", count, *texts)


class _FindingsEraser(_Eraser):
    _name = FINDINGS

    def erase(self) -> None:
        list_changed(self._db)
        listed = self._rows("SELECT session, key FROM listed_session INDEXED BY listed_session_session")
        keys = sorted({key for session, key in listed if self._scope.has_session(session)})  # no other is decoded
        self._erase_files(self._erase_sessions(keys))
        self._erase_unmanaged()
        self._erase_reports()
        self._erase_evaluations()
        self._erase_lessons()
        erased, scope = self._erased, self._scope
        if erased.counts or scope.everything:  # screens are made from everything, and are made again
            self._count("screen", self._db.execute("DELETE FROM screen").rowcount)
        # Answers of earlier versions name nothing, and go with anything that is erased.
        unnamed = bool(erased.counts) or scope.everything
        self._count("answer", erase_answers(self._db, scope.names, scope.before, also_unnamed=unnamed))
        self._count("agent_question", erase_questions(self._db, scope.names, scope.before))
        list_changed(self._db)  # no row is left of what went

    def _erase_sessions(self, keys: list[str]) -> set[str]:
        """Erase findings and audited turns; return files without other sessions. A shared file has one key."""
        gone_files, kept_files = set[str](), set[str]()
        for key in keys:
            for column, type_ in (("session.findings", Findings), ("audited.sessions", AuditedSession)):
                table, _, name = column.partition(".")
                for (encoded,) in self._rows(f"SELECT {name} FROM {table} WHERE key = ?", key):
                    found: list[Any] = _decoded_or_none(encoded, list[type_]) or []  # type: ignore[valid-type]
                    left = [stored for stored in found if not self._scope.has_session(stored.session)]
                    if len(left) < len(found):
                        self._replace(column, {"key": key}, found, left or None, len(found) - len(left))
                    elif not found and self._scope.has_session(session_of(key)):  # of another version
                        self._replace(column, {"key": key}, {"session": session_of(key)}, None)
                    if type_ is Findings:  # audits name no files
                        kept_files.update(path for stored in left for path in stored.files)
                        gone_files.update(path for stored in found if stored not in left for path in stored.files)
        return gone_files - kept_files

    def _erase_files(self, gone: set[str]) -> None:
        """Replace the rows of erased files by keyed hashes, so that the files are not read again."""
        scope = self._scope
        rows = self._rows("SELECT path, size, mtime_ns, reader FROM file WHERE problem <> 'forgotten'")
        for path, size, mtime_ns, reader in rows:
            is_unread = not reader and scope.has_record(_time_of(mtime_ns))  # no session is known of it
            if path in gone or scope.everything or is_unread:
                self._db.execute("DELETE FROM file WHERE path = ?", (path,))
                row = (scope.forgotten.file_row(path), size, mtime_ns)
                self._db.execute("INSERT OR REPLACE INTO file VALUES (?, ?, ?, '', '', '', '', 'forgotten', '')", row)
                self._count("file", 1, os.path.basename(path))

    def _erase_unmanaged(self) -> None:
        """Erase injections by other tools, and the items that no other session had."""
        scope = self._scope
        for item, session, turn, time in self._rows("SELECT * FROM unmanaged_injection"):
            if scope.has_session(session.partition(":")[2]) or (scope.before and time and time < scope.before):
                where = "WHERE item = ? AND session = ? AND turn = ?"
                self._db.execute(f"DELETE FROM unmanaged_injection {where}", (item, session, turn))
                self._count("unmanaged_injection", 1)
        orphans = "FROM unmanaged WHERE id NOT IN (SELECT item FROM unmanaged_injection)"
        for (excerpt,) in self._rows(f"SELECT excerpt {orphans}"):
            self._count("unmanaged", 1, excerpt)
        self._db.execute(f"DELETE {orphans}")

    def _erase_reports(self) -> None:
        """Erase reports about a session, and investigations (runs without keys) by time and project."""
        scope = self._scope
        for id_, kind, made, encoded in self._rows("SELECT id, kind, made, keys FROM run WHERE kind <> 'evaluation'"):
            keys = msgspec.msgpack.decode(encoded, type=list[str])
            left = [key for key in keys if not scope.has_session(session_of(key))]
            is_old = bool(scope.before and made < scope.before)
            if kind == READ_AHEAD:  # no report, but a list of sessions read in the background
                self._db.execute("UPDATE run SET keys = ? WHERE id = ?", (msgspec.msgpack.encode(left), id_))
            elif len(left) < len(keys) or is_old or (not keys and scope.has_record(made)):
                self._db.execute("DELETE FROM run WHERE id = ?", (id_,))
                self._count("run", 1)

    def _erase_evaluations(self) -> None:
        """Erase evaluations by time and project; of others blank the words of forgotten sessions, and keep figures."""
        scope = self._scope
        for id_, made, report in self._rows("SELECT id, made, report FROM evaluation"):
            found = _decoded_or_none(report, Evaluation)
            if scope.has_evaluation(made, found):
                self._replace("evaluation.report", {"id": id_}, found, None)
            elif found is not None and (gone := list(filter(scope.has_run, found.runs))):
                left = _evaluation_without_words(found, gone, scope.forgotten)
                self._replace("evaluation.report", {"id": id_}, found, left, len(gone))
        orphans = "kind = 'evaluation' AND corpus NOT IN (SELECT CAST(id AS TEXT) FROM evaluation)"
        self._db.execute(f"DELETE FROM run WHERE {orphans}")
        query = "SELECT journal, task, made, run FROM journal_run JOIN journal ON id = journal"
        for journal, task, made, encoded in self._rows(query):
            run = msgspec.msgpack.decode(encoded, type=SampleRun)
            if scope.has_record(made) or scope.has_run(run):
                self._replace("journal_run.run", {"journal": journal, "task": task}, run, None)
        for id_, made in self._rows("SELECT id, made FROM journal"):
            if scope.has_record(made):
                self._replace("journal", {"id": id_}, None, None)
        for key, made, encoded in self._rows("SELECT key, made, execution FROM execution"):
            kept = msgspec.msgpack.decode(encoded)
            trace = str(kept.get("trace", "")) if isinstance(kept, dict) else ""
            if scope.has_record(made) or task_of(trace) in scope.tasks:
                self._replace("execution", {"key": key}, None, None)

    def _erase_lessons(self) -> None:
        """Erase material, and lessons based on forgotten sessions alone. Other lessons lose that evidence."""
        scope = self._scope
        query = "SELECT key, EXISTS (SELECT 1 FROM session WHERE session.key = material.key) FROM material"
        for key, is_stored in self._rows(query):
            if not is_stored or scope.has_session(session_of(key)):  # its findings are not stored any more
                [(encoded,)] = self._rows("SELECT material FROM material WHERE key = ?", key)
                self._replace("material.material", {"key": key}, msgspec.msgpack.decode(encoded), None)
        for project, id_, encoded in self._rows("SELECT project, id, lesson FROM lesson"):
            lesson = msgspec.msgpack.decode(encoded, type=Lesson)
            evidence = [known for known in lesson.evidence if not scope.has_session(known.session)]
            is_whole = scope.everything or scope.is_own_project or bool(scope.before and lesson.made < scope.before)
            if is_whole or len(evidence) < len(lesson.evidence):
                left = None if is_whole or not evidence else replace(lesson, evidence=evidence)
                self._replace("lesson.lesson", {"project": project, "id": id_}, lesson, left)


class _IndexEraser(_Eraser):
    """Erases sessions and words from corrections. Items are knowledge and stay."""

    _name = INDEX

    def erase(self) -> None:
        query = "SELECT id, session, time FROM correction WHERE session <> '' OR detail <> '{}'"
        for id_, session, time in self._rows(query):
            if self._scope.has_record(time, session):
                self._db.execute("UPDATE correction SET session = '', detail = '{}' WHERE id = ?", (id_,))
                self._count("words in correction", 1, session)
        for id_, intent in self._rows("SELECT id, intent FROM intent"):  # corrections in progress
            noted = json.loads(intent)
            with_session = [call for call in noted["log"] if call["session"]]
            gone = [call for call in with_session if self._scope.has_record(call["time"], call["session"])]
            for call in gone:
                self._count("words in correction", 1, call["session"])
                call |= {"session": "", "detail": "{}"}
            if gone:
                self._db.execute("UPDATE intent SET intent = ? WHERE id = ?", (json.dumps(noted), id_))


class _QualityEraser(_Eraser):
    """Erases measured turns. A warranted correction is about an item: it stays without the session's words."""

    _name = ITEMS

    def erase(self) -> None:
        scope, log = self._scope, "kms_quality_log"
        for id_, session, date in self._rows(f"SELECT id, session_id, date FROM {log}"):
            if not (scope.has_session(session) or scope.is_own_project or scope.before):  # not in the scope
                continue
            [(document,)] = self._rows(f"SELECT document FROM {log} WHERE id = ?", id_)
            turn = _decoded_or_none(document, QualityTurn)
            if scope.has_record(turn.timestamp if turn else date, session):
                self._replace(f"{log}.document", {"id": id_}, turn or {"session": session}, None)
        for id_, document in self._rows("SELECT id, document FROM kms_quality_discovery"):
            record = _decoded_or_none(document, Discovery)
            if record and record.session_id and scope.has_record(record.raised, record.session_id):
                left = replace(record, session_id="", turn_id="", statement="")
                self._replace("kms_quality_discovery.document", {"id": id_}, record, left)
                # An answer to it loses its words. The decision stays.
                for (stored,) in self._rows("SELECT document FROM kms_quality_answer WHERE id = ?", id_):
                    answer = _decoded_or_none(stored, SuggestionAnswer)
                    if answer and (answer.note or answer.content):
                        self._erased.add("", 0, answer.content)  # words to search for, no record
                        blank = replace(answer, note="", content="")
                        self._replace("kms_quality_answer.document", {"id": id_}, answer, blank)


def _evaluation_without_words(evaluation: Evaluation, gone: list[SampleRun], forgotten: Forgotten) -> Evaluation:
    """Return the evaluation with blank runs of forgotten sessions, and without the topics of their signals."""
    queries = {signal.query for run in gone for signal in run.signals}
    return replace(
        evaluation,
        runs=[_run_without_words(run, forgotten) if run in gone else run for run in evaluation.runs],
        topics=[topic for topic in evaluation.topics if topic.query not in queries],
    )


def _run_without_words(run: SampleRun, forgotten: Forgotten) -> SampleRun:
    """Return the run with its figures and without words. Its session is equal for every member of a cluster."""
    signals = [
        Signal(signal.type, signal.status, "", signal.turn, signal.sample, outcome=signal.outcome)
        for signal in run.signals
    ]
    grade = replace(
        run.grade,
        assertions=tuple(replace(assertion, detail="", reason="") for assertion in run.grade.assertions),
        criteria=tuple(replace(criterion, reason="") for criterion in run.grade.criteria),
    )
    session = forgotten.token(run.session)[:12] if run.session else ""
    return replace(run, prompt="", answer="", problem="", signals=signals, grade=grade, session=session, trace="")


def _decoded_or_none(stored: str | bytes, type_: type[_Value]) -> _Value | None:
    """Return a stored value, JSON or msgpack; None for that of another version."""
    try:
        if isinstance(stored, str):
            return msgspec.json.decode(stored, type=type_)
        return msgspec.msgpack.decode(stored, type=type_)
    except (msgspec.MsgspecError, ValueError):
        return None


def _time_of(mtime_ns: int) -> str:
    return datetime.fromtimestamp(mtime_ns / 1e9, UTC).strftime("%Y-%m-%dT%H:%M:%S") if mtime_ns else ""
