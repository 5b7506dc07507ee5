"""Stores what a person decides about: lessons and the material they are made of; screens of actions, and fixes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import closing
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple, TypeVar

import msgspec

from knowbound.core.lesson import WRITTEN, Lesson, LessonStatus
from knowbound.core.signal import ProposedLine, Topic
from knowbound.files import FilePatch
from knowbound.store.data_dir import FINDINGS
from knowbound.store.database import FindingsStore, SessionResults
from knowbound.store.observed import session_of
from knowbound.store.retention import load_forgotten

_Screen = TypeVar("_Screen")
_lesson = msgspec.msgpack.Decoder(Lesson)
_PROPOSED = frozenset({LessonStatus.NEW, LessonStatus.ACCEPTED, *WRITTEN}) - {LessonStatus.STALE}


class MaterialRow(NamedTuple):
    """The encoded material of one session; valid while its files stay the same."""

    key: str
    state: str
    material: bytes


class KeptLessons(SessionResults):
    """The lessons of one data folder, and the material of sessions that they are made of."""

    _table, _column = "material", "material"

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        if self._db.row("SELECT 1 FROM lesson WHERE accepted = '' LIMIT 1"):  # of an earlier version
            self.keep(self.lessons())

    def keep_material(self, rows: Iterable[MaterialRow]) -> None:
        """Store material, without that of forgotten sessions."""
        with self._db.writing() as db:
            forgotten = load_forgotten(self._home)
            kept = (row for row in rows if forgotten is None or not forgotten.has_session(session_of(row.key)))
            db.executemany("INSERT OR REPLACE INTO material VALUES (?, ?, ?)", kept)

    def lessons(self, project: str | None = None) -> list[Lesson]:
        """Return the lessons of a project, or of all projects."""
        query = "SELECT lesson FROM lesson" + ("" if project is None else " WHERE project = ?")
        rows = self._db.rows(f"{query} ORDER BY project, id", *(() if project is None else (project,)))
        return [self._db.decoded(_lesson, lesson) for (lesson,) in rows]

    def replace(self, project: str, lessons: Iterable[Lesson]) -> None:
        """Replace the lessons of a project."""
        with self._db.writing() as db:
            db.execute("DELETE FROM lesson WHERE project = ?", (project,))
            db.executemany("INSERT INTO lesson VALUES (?, ?, ?, ?, ?)", map(_row, lessons))

    def keep(self, lessons: Iterable[Lesson]) -> None:
        """Store these lessons; other lessons stay unchanged."""
        with self._db.writing() as db:
            db.executemany("INSERT OR REPLACE INTO lesson VALUES (?, ?, ?, ?, ?)", map(_row, lessons))


def _row(lesson: Lesson) -> tuple[str, str, str, bytes, str]:
    return lesson.project, lesson.id, lesson.status, msgspec.msgpack.encode(lesson), _accepted_fields(lesson)


def with_proposed(topics: list[Topic], home: Path) -> list[Topic]:
    """Return the topics, each with the line that would settle it, where a lesson has one.

    Topics that a model took for one thing are one, under the model's title.
    """
    if not (home / FINDINGS).exists():
        return topics
    with closing(KeptLessons(home)) as store:
        lessons = [lesson for lesson in store.lessons() if lesson.status in _PROPOSED]
    by_topic = {topic: lesson for lesson in lessons for topic in lesson.topics}
    shown: set[str] = set()
    found = []
    for topic in topics:
        lesson = by_topic.get(topic.id)
        if lesson is None:
            found.append(topic)
        elif lesson.id not in shown:  # several topics may have one lesson
            shown.add(lesson.id)
            settled = msgspec.structs.replace(topic, proposed=ProposedLine(lesson.text, lesson.file))
            if lesson.title:
                cost = msgspec.structs.replace(topic.cost, calls=lesson.cost.calls)
                settled = msgspec.structs.replace(settled, title=lesson.title, sessions=lesson.sessions, cost=cost)
            found.append(settled)
    return found


class FixState(StrEnum):
    """State of a decision about an action."""

    PENDING = "pending"  # the files are being written; a killed process left it so
    APPLIED = "applied"
    UNDONE = "undone"
    REJECTED = "rejected"


class Fix(msgspec.Struct, frozen=True):
    """The carrying out of one action: files to change, or an item to replace."""

    id: str
    title: str
    patches: list[FilePatch] = []
    item: str = ""  # id of the item that is replaced
    content: str = ""  # of its successor; of an answer to verify: what would show it
    successor: str = ""  # its id, once it is there
    lesson: Lesson | None = None  # the written line, or a line that represents the repair: watched afterwards
    is_written_line: bool = False  # the lesson is one of `learn`
    session: str = ""  # of an answer to verify: its turn is shown, and nothing is written
    turn: int = 0
    trace: str = ""
    needs_person: bool = False  # it makes a client or git run or refuse something: never written without being asked


class DecidedFix(msgspec.Struct, frozen=True):
    """A fix with what became of it."""

    fix: Fix
    state: FixState
    time: str


class Screens(FindingsStore):
    """The screens and fixes of one data folder."""

    def screen(self, name: str, key: str, type_: type[_Screen]) -> _Screen | None:
        """Return the kept screen; None if it depends on something else now, or is of another version."""
        row = self._db.row("SELECT screen FROM screen WHERE name = ? AND key = ?", name, key)
        try:
            return None if row is None else msgspec.msgpack.decode(row[0], type=type_)
        except msgspec.MsgspecError:
            return None

    def newest(self, name: str, type_: type[_Screen]) -> _Screen | None:
        """Return the newest screen, whatever it depends on."""
        row = self._db.row("SELECT key FROM screen WHERE name = ?", name)
        return None if row is None else self.screen(name, row[0], type_)

    def keep_screen(self, name: str, key: str, screen: object) -> None:
        """Store a screen in place of the previous screen."""
        self._db.write("INSERT OR REPLACE INTO screen VALUES (?, ?, ?)", name, key, msgspec.msgpack.encode(screen))

    def fixes(self) -> list[DecidedFix]:
        """Return the decisions, oldest first."""
        rows = self._db.rows("SELECT fix, state, time FROM fix ORDER BY time, id")
        return [DecidedFix(msgspec.msgpack.decode(row[0], type=Fix), FixState(row[1]), row[2]) for row in rows]

    def keep_fix(self, fix: Fix, state: FixState, time: str) -> None:
        """Store a decision."""
        row = (fix.id, time, state, msgspec.msgpack.encode(fix))
        self._db.write("INSERT OR REPLACE INTO fix VALUES (?, ?, ?, ?)", *row)


def _accepted_fields(lesson: Lesson) -> str:
    """Return what rescue needs of a lesson (accepted_lessons.py), as JSON."""
    return json.dumps(
        {
            "id": lesson.id,
            "kind": lesson.kind,
            "text": lesson.text,
            "project": lesson.project,
            "names": lesson.names,
            "checks": [(check.kind, check.path, check.text) for check in lesson.checks],
            "item": lesson.applied.place if lesson.applied and lesson.applied.target == "items" else "",
        },
        ensure_ascii=False,
    )
