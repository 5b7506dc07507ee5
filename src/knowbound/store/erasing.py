"""Erases the data of sessions from the databases and line files of a data folder.

A preview does the same work and rolls it back, so that it shows exactly what would be erased. Erased texts are
collected, so that the caller can search for copies.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import msgspec

from knowbound.core.audit import AuditedSession
from knowbound.core.lesson import Lesson
from knowbound.core.quality import Discovery, QualityTurn, SuggestionAnswer
from knowbound.core.signal import Findings, Signal
from knowbound.files import is_inside
from knowbound.stats.evaluation import Evaluation, SampleRun
from knowbound.store.answers import erase_answers, erase_questions
from knowbound.store.data_dir import EVALS, FINDINGS, INDEX, ITEMS
from knowbound.store.database import Database
from knowbound.store.forgotten import Forgotten
from knowbound.store.listing import list_changed
from knowbound.store.observed import AHEAD, add_empty_outcomes, session_of

_findings = msgspec.msgpack.Decoder(list[Findings])
_evaluation = msgspec.msgpack.Decoder(Evaluation)
_run = msgspec.msgpack.Decoder(SampleRun)
_lesson = msgspec.msgpack.Decoder(Lesson)
_keys = msgspec.msgpack.Decoder(list[str])
_audited = msgspec.msgpack.Decoder(list[AuditedSession])
_turn = msgspec.json.Decoder(QualityTurn)
_discovery = msgspec.json.Decoder(Discovery)
_answer = msgspec.json.Decoder(SuggestionAnswer)
_Kept = TypeVar("_Kept")
_Stored = TypeVar("_Stored", str, bytes)


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

    def has_trace(self, path: str) -> bool:
        """Report whether a trace of an evaluation is to be erased."""
        return task_of(path) in self.tasks

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


class _PreviewError(Exception):
    """Rolls the transaction of a preview back."""


def select_sessions(home: Path, scope: ErasureScope) -> list[str]:
    """Return the ids of stored sessions that the scope selects by project or time."""
    found: list[str] = []
    if not (home / FINDINGS).exists():
        return found
    database = Database(home / FINDINGS)
    with suppress(_PreviewError), database.writing() as db:
        list_changed(db)
        times = dict(db.execute("SELECT path, mtime_ns FROM file"))
        for key, session, folder, ended in db.execute("SELECT key, session, folder, ended FROM listed_session"):
            if scope.selects(folder, ended or _ended(db, key, session, times)):
                found.append(session)
        raise _PreviewError  # nothing changes before a person agrees
    database.close()
    return found


def _ended(db: sqlite3.Connection, key: str, session: str, times: dict[str, int]) -> str:
    """Return when the files of a session changed last, where its trace has no times."""
    row = db.execute("SELECT findings FROM session WHERE key = ?", (key,)).fetchone()
    found = (_decoded(_findings.decode, row[0]) if row else None) or []
    return _time(max((times.get(path, 0) for one in found if one.session == session for path in one.files), default=0))


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
    runs = [_run.decode(run) for (run,) in database.rows("SELECT run FROM journal_run")]
    for number, made in database.rows("SELECT id, made FROM journal"):
        selected.known.add(number)
        selected.folders |= {number} if scope.has_record(made) else set()
    for number, made, report in database.rows("SELECT journal, made, report FROM evaluation"):
        found = _decoded(_evaluation.decode, report)
        selected.known.add(number)
        selected.folders |= {number} if _is_evaluation_gone(found, made, scope) else set()
        runs += found.runs if found else []
    database.close()
    selected.runs = [run for run in runs if run.session and scope.has_session(run.session)]
    return selected


def erase_databases(home: Path, scope: ErasureScope, erased: Erased, *, preview: bool) -> None:
    """Erase from each database in one transaction, and then from the free pages and the log of the file."""
    for name, erase in ((FINDINGS, _erase_findings), (INDEX, _erase_index), (ITEMS, _erase_quality)):
        if not (home / name).exists():
            continue
        database = Database(home / name)
        try:
            database.rows("PRAGMA secure_delete = ON")
            with suppress(_PreviewError), database.writing() as db:
                erase(db, scope, erased)
                if preview:
                    raise _PreviewError
            if not preview:
                database.compact()
        finally:
            database.close()


def kept_records(home: Path) -> Iterator[bytes]:
    """Yield the texts of all records in the databases."""
    queries = {
        FINDINGS: (
            "SELECT findings FROM session", "SELECT sessions FROM audited",
            "SELECT name FROM listed_name", "SELECT session || ' ' || folder FROM listed_session",
            "SELECT report FROM run", "SELECT report FROM evaluation",
            "SELECT run FROM journal_run", "SELECT excerpt FROM unmanaged", "SELECT material FROM material",
            "SELECT lesson FROM lesson", "SELECT question FROM agent_question",
            "SELECT screen FROM screen", "SELECT fix FROM fix",
        ),
        INDEX: ("SELECT content FROM item",),
        ITEMS: (
            "SELECT record FROM item", "SELECT document FROM kms_quality_log",
            "SELECT document FROM kms_quality_discovery", "SELECT document FROM kms_quality_answer",
            "SELECT document FROM kms_quality_note",
        ),
    }  # fmt: skip
    for name, columns in queries.items():
        if (home / name).exists():
            database = Database(home / name)
            for query in columns:
                yield from (one if isinstance(one, bytes) else str(one).encode() for (one,) in database.rows(query))
            database.close()


def _erase_findings(db: sqlite3.Connection, scope: ErasureScope, erased: Erased) -> None:
    list_changed(db)
    listed = db.execute("SELECT session, key FROM listed_session INDEXED BY listed_session_session").fetchall()
    keys = sorted({key for session, key in listed if scope.has_session(session)})  # no other is decoded
    files = _erase_sessions(db, keys, scope, erased)
    _erase_audited(db, keys, scope, erased)
    _erase_files(db, scope, erased, files)
    _erase_unmanaged(db, scope, erased)
    _erase_runs(db, scope, erased)
    _erase_evaluations(db, scope, erased)
    _erase_lessons(db, scope, erased)
    if erased.counts or scope.everything:  # screens are made from everything, and are made again
        erased.add(f"{FINDINGS}: screen", db.execute("DELETE FROM screen").rowcount)
    # Answers of earlier versions name nothing, and go with anything that is erased.
    answers = erase_answers(db, scope.names, scope.before, also_unnamed=bool(erased.counts) or scope.everything)
    erased.add(f"{FINDINGS}: answer", answers)
    erased.add(f"{FINDINGS}: agent_question", erase_questions(db, scope.names, scope.before))
    list_changed(db)  # no row is left of what went


def _erase_sessions(db: sqlite3.Connection, keys: Iterable[str], scope: ErasureScope, erased: Erased) -> set[str]:
    """Erase sessions; return the files without other sessions. A shared file has the key of its first session."""
    gone_files: set[str] = set()
    kept_files: set[str] = set()
    for key in keys:
        row = db.execute("SELECT findings FROM session WHERE key = ?", (key,)).fetchone()
        if row is None:
            continue
        found = _decoded(_findings.decode, row[0]) or []  # of another version: known by its key alone
        left = [one for one in found if not scope.has_session(one.session)]
        gone = [one for one in found if one not in left]
        for one in gone:
            erased.add(f"{FINDINGS}: session", 1, *_texts(one))
            gone_files.update(one.files)
        kept_files.update(path for one in left for path in one.files)
        if gone and not left:
            db.execute("DELETE FROM session WHERE key = ?", (key,))
        elif not found and scope.has_session(session_of(key)):
            db.execute("DELETE FROM session WHERE key = ?", (key,))
            erased.add(f"{FINDINGS}: session", 1, session_of(key))
        elif gone:
            db.execute("UPDATE session SET findings = ? WHERE key = ?", (msgspec.msgpack.encode(left), key))
    return gone_files - kept_files


def _erase_audited(db: sqlite3.Connection, keys: Iterable[str], scope: ErasureScope, erased: Erased) -> None:
    """Erase audited turns: their claims are words of the session."""
    for key in keys:
        row = db.execute("SELECT sessions FROM audited WHERE key = ?", (key,)).fetchone()
        found = _audited.decode(row[0]) if row else []
        left = [one for one in found if not scope.has_session(one.session)]
        for one in found:
            if one not in left:
                erased.add(f"{FINDINGS}: audited", 1, *(claim.text for turn in one.turns for claim in turn.claims))
        if found and not left:
            db.execute("DELETE FROM audited WHERE key = ?", (key,))
        elif len(left) < len(found):
            db.execute("UPDATE audited SET sessions = ? WHERE key = ?", (msgspec.msgpack.encode(left), key))


def _erase_files(db: sqlite3.Connection, scope: ErasureScope, erased: Erased, gone: set[str]) -> None:
    """Replace the rows of erased files by keyed hashes, so that the files are not read again."""
    known = db.execute("SELECT path, size, mtime_ns, reader FROM file WHERE problem <> 'forgotten'").fetchall()
    for path, size, mtime_ns, reader in known:
        is_unread = not reader and scope.has_record(_time(mtime_ns))
        if path in gone or scope.everything or is_unread:
            db.execute("DELETE FROM file WHERE path = ?", (path,))
            row = (scope.forgotten.file_row(path), size, mtime_ns)
            db.execute("INSERT OR REPLACE INTO file VALUES (?, ?, ?, '', '', '', '', 'forgotten', '')", row)
            erased.add(f"{FINDINGS}: file", 1, os.path.basename(path))


def _erase_unmanaged(db: sqlite3.Connection, scope: ErasureScope, erased: Erased) -> None:
    for item, session, turn, time in db.execute("SELECT * FROM unmanaged_injection").fetchall():
        if scope.has_session(session.partition(":")[2]) or (scope.before and time and time < scope.before):
            where = "WHERE item = ? AND session = ? AND turn = ?"
            db.execute(f"DELETE FROM unmanaged_injection {where}", (item, session, turn))
            erased.add(f"{FINDINGS}: unmanaged_injection", 1)
    orphans = "FROM unmanaged WHERE id NOT IN (SELECT item FROM unmanaged_injection)"
    for (excerpt,) in db.execute(f"SELECT excerpt {orphans}").fetchall():
        erased.add(f"{FINDINGS}: unmanaged", 1, excerpt)
    db.execute(f"DELETE {orphans}")


def _erase_runs(db: sqlite3.Connection, scope: ErasureScope, erased: Erased) -> None:
    """Erase reports about a session, and investigations by time and project."""
    for id_, kind, made, keys in db.execute(
        "SELECT id, kind, made, keys FROM run WHERE kind <> 'evaluation'"
    ).fetchall():
        sessions = [session_of(key) for key in _keys.decode(keys)]
        if kind == AHEAD:
            left = [key for key in _keys.decode(keys) if not scope.has_session(session_of(key))]
            db.execute("UPDATE run SET keys = ? WHERE id = ?", (msgspec.msgpack.encode(left), id_))
            continue
        is_old = bool(scope.before and made < scope.before)
        if any(map(scope.has_session, sessions)) or is_old or (not sessions and scope.has_record(made)):
            db.execute("DELETE FROM run WHERE id = ?", (id_,))
            erased.add(f"{FINDINGS}: run", 1)


def _erase_evaluations(db: sqlite3.Connection, scope: ErasureScope, erased: Erased) -> None:
    """Erase evaluations by time and project; in others, blank the words of forgotten sessions and keep the figures."""
    for id_, made, report in db.execute("SELECT id, made, report FROM evaluation").fetchall():
        found = _decoded(_evaluation.decode, report)
        if _is_evaluation_gone(found, made, scope):
            erased.add(f"{FINDINGS}: evaluation", 1, *_texts_of_runs(found.runs if found else ()))
            db.execute("DELETE FROM evaluation WHERE id = ?", (id_,))
        elif found is not None and (gone := [run for run in found.runs if _is_gone(run, scope)]):
            erased.add(f"{FINDINGS}: words in an evaluation", len(gone), *_texts_of_runs(gone))
            left = msgspec.msgpack.encode(_without_words(found, gone, scope.forgotten))
            db.execute("UPDATE evaluation SET report = ? WHERE id = ?", (left, id_))
    db.execute("DELETE FROM run WHERE kind = 'evaluation' AND corpus NOT IN (SELECT CAST(id AS TEXT) FROM evaluation)")
    for id_, made in db.execute("SELECT id, made FROM journal").fetchall():
        rows = db.execute("SELECT task, run FROM journal_run WHERE journal = ?", (id_,)).fetchall()
        for task, encoded in rows:
            run = _run.decode(encoded)
            if scope.has_record(made) or _is_gone(run, scope):
                db.execute("DELETE FROM journal_run WHERE journal = ? AND task = ?", (id_, task))
                erased.add(f"{FINDINGS}: journal_run", 1, *_texts_of_runs([run]))
        if scope.has_record(made):
            db.execute("DELETE FROM journal WHERE id = ?", (id_,))
            erased.add(f"{FINDINGS}: journal", 1)
    for key, made, encoded in db.execute("SELECT key, made, execution FROM execution").fetchall():
        kept = msgspec.msgpack.decode(encoded)
        trace = str(kept.get("trace", "")) if isinstance(kept, dict) else ""
        if scope.has_record(made) or scope.has_trace(trace):
            db.execute("DELETE FROM execution WHERE key = ?", (key,))
            erased.add(f"{FINDINGS}: execution", 1)


def _erase_lessons(db: sqlite3.Connection, scope: ErasureScope, erased: Erased) -> None:
    """Erase material, and lessons based on forgotten sessions alone. Other lessons lose that evidence."""
    for (key,) in db.execute("SELECT key FROM material").fetchall():
        gone = not db.execute("SELECT 1 FROM session WHERE key = ?", (key,)).fetchone()
        if gone or scope.has_session(session_of(key)):
            encoded = db.execute("SELECT material FROM material WHERE key = ?", (key,)).fetchone()[0]
            db.execute("DELETE FROM material WHERE key = ?", (key,))
            erased.add(f"{FINDINGS}: material", 1, *_texts_in(msgspec.msgpack.decode(encoded)))
    for project, id_, encoded in db.execute("SELECT project, id, lesson FROM lesson").fetchall():
        lesson = _lesson.decode(encoded)
        left = [one for one in lesson.evidence if not scope.has_session(one.session)]
        of_time = scope.everything or scope.is_own_project or bool(scope.before and lesson.made < scope.before)
        if of_time or (lesson.evidence and not left):
            db.execute("DELETE FROM lesson WHERE project = ? AND id = ?", (project, id_))
            erased.add(f"{FINDINGS}: lesson", 1, lesson.text)
        elif len(left) < len(lesson.evidence):
            kept = msgspec.msgpack.encode(msgspec.structs.replace(lesson, evidence=left))
            db.execute("UPDATE lesson SET lesson = ? WHERE project = ? AND id = ?", (kept, project, id_))
            erased.add(f"{FINDINGS}: evidence of a lesson", len(lesson.evidence) - len(left))


def _texts_in(value: object) -> Iterator[str]:
    """Yield the texts of more than one word in a stored value, at any depth."""
    if isinstance(value, str):
        yield from (value,) if " " in value else ()
    elif isinstance(value, dict):
        yield from (text for one in value.values() for text in _texts_in(one))
    elif isinstance(value, list | tuple):
        yield from (text for one in value for text in _texts_in(one))


def _erase_index(db: sqlite3.Connection, scope: ErasureScope, erased: Erased) -> None:
    """Erase sessions and words from corrections. Items are knowledge and stay."""
    for id_, session, time in db.execute(
        "SELECT id, session, time FROM correction WHERE session <> '' OR detail <> '{}'"
    ).fetchall():
        if scope.has_record(time, session):
            db.execute("UPDATE correction SET session = '', detail = '{}' WHERE id = ?", (id_,))
            erased.add(f"{INDEX}: words in a correction", 1, session)
    for id_, intent in db.execute("SELECT id, intent FROM intent").fetchall():  # corrections in progress
        noted = json.loads(intent)
        gone = [one for one in noted["log"] if one["session"] and scope.has_record(one["time"], one["session"])]
        for one in gone:
            erased.add(f"{INDEX}: words in a correction", 1, one["session"])
            one |= {"session": "", "detail": "{}"}
        if gone:
            db.execute("UPDATE intent SET intent = ? WHERE id = ?", (json.dumps(noted), id_))


def _erase_quality(db: sqlite3.Connection, scope: ErasureScope, erased: Erased) -> None:
    """Erase measured turns. A warranted correction is about an item: it stays without the session's words."""
    for id_, session, date in db.execute("SELECT id, session_id, date FROM kms_quality_log").fetchall():
        if not (scope.has_session(session) or scope.is_own_project or scope.before):
            continue
        document = db.execute("SELECT document FROM kms_quality_log WHERE id = ?", (id_,)).fetchone()[0]
        turn = _decoded(_turn.decode, document)
        if scope.has_record(turn.timestamp if turn else date, session):
            db.execute("DELETE FROM kms_quality_log WHERE id = ?", (id_,))
            erased.add(f"{ITEMS}: kms_quality_log", 1, session, *(texts_of_turn(turn) if turn else ()))
    for id_, document in db.execute("SELECT id, document FROM kms_quality_discovery").fetchall():
        record = _decoded(_discovery.decode, document)
        if record and record.session_id and scope.has_record(record.raised, record.session_id):
            left = msgspec.structs.replace(record, session_id="", turn_id="", statement="")
            row = (msgspec.json.encode(left).decode(), id_)
            db.execute("UPDATE kms_quality_discovery SET document = ? WHERE id = ?", row)
            erased.add(f"{ITEMS}: words in kms_quality_discovery", 1, record.session_id, record.statement)
            _erase_answer(db, id_, erased)


def _erase_answer(db: sqlite3.Connection, id_: str, erased: Erased) -> None:
    """Erase the words of an answer to a suggestion. The decision stays."""
    row = db.execute("SELECT document FROM kms_quality_answer WHERE id = ?", (id_,)).fetchone()
    answer = _decoded(_answer.decode, row[0]) if row else None
    if answer and (answer.note or answer.content):
        left = msgspec.json.encode(msgspec.structs.replace(answer, note="", content="")).decode()
        db.execute("UPDATE kms_quality_answer SET document = ? WHERE id = ?", (left, id_))
        erased.add(f"{ITEMS}: words in kms_quality_answer", 1, answer.note, answer.content)


def texts_of_turn(turn: QualityTurn) -> Iterator[str]:
    """Yield the texts and names of a measured turn. The content of items is knowledge."""
    yield from (turn.session_id, os.path.basename(turn.trace), turn.user_prompt, turn.assistant_response, turn.problem)
    yield from (call.input_excerpt for call in turn.tool_calls)
    for item in turn.items:
        yield from (item.verdict.correction, item.verdict.reason) if item.verdict else ()


def _is_evaluation_gone(evaluation: Evaluation | None, made: str, scope: ErasureScope) -> bool:
    is_of_project = evaluation is not None and scope.project and is_inside(evaluation.root, scope.project)
    return scope.has_record(made) or bool(is_of_project)


def _is_gone(run: SampleRun, scope: ErasureScope) -> bool:
    return bool(run.session and scope.has_session(run.session)) or scope.has_trace(run.trace)


def _without_words(evaluation: Evaluation, gone: list[SampleRun], forgotten: Forgotten) -> Evaluation:
    queries = {signal.query for run in gone for signal in run.signals}
    return msgspec.structs.replace(
        evaluation,
        runs=[_blank(run, forgotten) if run in gone else run for run in evaluation.runs],
        topics=[topic for topic in evaluation.topics if topic.query not in queries],
    )


def _blank(run: SampleRun, forgotten: Forgotten) -> SampleRun:
    """Return the run with its figures and without words. Its session is equal for every member of a cluster."""
    add_empty_outcomes(run.signals)
    signals = [
        Signal(signal.type, signal.status, "", signal.turn, signal.sample, outcome=signal.outcome)
        for signal in run.signals
    ]
    grade = msgspec.structs.replace(
        run.grade,
        assertions=tuple(
            msgspec.structs.replace(assertion, detail="", reason="") for assertion in run.grade.assertions
        ),
        criteria=tuple(msgspec.structs.replace(criterion, reason="") for criterion in run.grade.criteria),
    )
    session = forgotten.token(run.session)[:12] if run.session else ""
    return msgspec.structs.replace(
        run, prompt="", answer="", problem="", signals=signals, grade=grade, session=session, trace=""
    )


def _texts(found: Findings) -> Iterator[str]:
    """Yield the texts and names of a session."""
    yield found.session
    yield from map(os.path.basename, found.files)  # other sessions share the folders
    for turn in found.turns:
        yield from (turn.prompt, turn.answer)
    yield from _texts_of_signals(found.signals)


def _texts_of_runs(runs: Iterable[SampleRun]) -> Iterator[str]:
    for run in runs:
        yield from (run.session, run.prompt, run.answer)
        yield from _texts_of_signals(run.signals)


def _texts_of_signals(signals: Iterable[Signal]) -> Iterator[str]:
    for signal in signals:
        yield from (signal.query, signal.text, signal.context, signal.said)


def _decoded(decode: Callable[[_Stored], _Kept], stored: _Stored) -> _Kept | None:
    try:
        return decode(stored)
    except (msgspec.MsgspecError, ValueError):  # of another version
        return None


def _time(mtime_ns: int) -> str:
    return datetime.fromtimestamp(mtime_ns / 1e9, UTC).strftime("%Y-%m-%dT%H:%M:%S") if mtime_ns else ""
