"""Stores the material of lessons by session, and the lessons of each project with their decisions."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec

from knowbound.core.lesson import WRITTEN, Lesson, LessonStatus
from knowbound.core.signal import ProposedLine, Topic
from knowbound.store.accepted_lessons import as_json
from knowbound.store.data_dir import FINDINGS
from knowbound.store.database import SessionResults
from knowbound.store.forgotten import load_forgotten
from knowbound.store.observed import session_of

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
    return lesson.project, lesson.id, lesson.status, msgspec.msgpack.encode(lesson), as_json(lesson)


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
        elif lesson.id not in shown:
            shown.add(lesson.id)
            settled = msgspec.structs.replace(topic, proposed=ProposedLine(lesson.text, lesson.file))
            if lesson.title:
                cost = msgspec.structs.replace(topic.cost, calls=lesson.cost.calls)
                settled = msgspec.structs.replace(settled, title=lesson.title, sessions=lesson.sessions, cost=cost)
            found.append(settled)
    return found
