from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from knowbound.core.lesson import Applied, CheckKind, Lesson, LessonKind, LessonStatus, TreeCheck
from knowbound.store.accepted_lessons import AcceptedCheck, AcceptedLesson, lessons_naming
from knowbound.store.decisions import KeptLessons

LESSON = Lesson(
    id="1a2b3c4d",
    kind=LessonKind.LOCATION,
    text="`a.py` is at `src/a.py`, für alle.",
    file="CLAUDE.md",
    project="shop",
    checks=[TreeCheck(CheckKind.FILE, "src/a.py")],
    status=LessonStatus.APPLIED,
    names=["path:lib/a.py"],
    applied=Applied("items", "2026-11-16T00:00:00Z", "item-1"),
)


def test_an_accepted_lesson_is_found_by_its_name_and_read_as_it_was_kept(tmp_path: Path) -> None:
    with closing(KeptLessons(tmp_path)) as store:
        store.keep([LESSON, msgspec.structs.replace(LESSON, id="00000000", status=LessonStatus.NEW)])
    checks = (AcceptedCheck("file", "src/a.py", ""),)
    expected = AcceptedLesson("1a2b3c4d", "location", LESSON.text, "shop", ("path:lib/a.py",), checks, "item-1")
    assert lessons_naming(str(tmp_path), ["base:b.py", "path:lib/a.py"]) == [expected]
    assert lessons_naming(str(tmp_path), ["path:lib/b.py"]) == []
    assert lessons_naming(str(tmp_path), []) == []


def test_no_file_a_link_and_what_is_no_database_have_no_lessons(tmp_path: Path) -> None:
    assert lessons_naming(str(tmp_path), ["path:a"]) == []
    (tmp_path / "knowbound.db").write_bytes(b"no database" * 100)
    assert lessons_naming(str(tmp_path), ["path:a"]) == []
    with closing(KeptLessons(tmp_path / "other")) as store:
        store.keep([LESSON])
    linked = tmp_path / "linked"
    linked.mkdir()
    (linked / "knowbound.db").symlink_to(tmp_path / "other" / "knowbound.db")
    assert lessons_naming(str(linked), ["path:lib/a.py"]) == []


@pytest.mark.parametrize(
    "accepted", ["path:lib/a.py", '{"path:lib/a.py": 1}', "[" * 100_000 + "path:lib/a.py", "7 path:lib/a.py"]
)
def test_a_lesson_of_another_form_is_left_out(tmp_path: Path, accepted: str) -> None:
    with closing(KeptLessons(tmp_path)) as store:
        store.keep([LESSON])
    with closing(sqlite3.connect(tmp_path / "knowbound.db")) as db, db:
        db.execute("INSERT INTO lesson VALUES ('shop', '00000000', 'applied', x'', ?)", (accepted,))
    assert [one.id for one in lessons_naming(str(tmp_path), ["path:lib/a.py"])] == [LESSON.id]


def test_lessons_of_an_earlier_version_are_found_once_they_were_opened(tmp_path: Path) -> None:
    quoted = msgspec.structs.replace(LESSON, names=['path:lib/"ä\\b".py'])
    with closing(KeptLessons(tmp_path)) as store:
        store.keep([quoted])
    with closing(sqlite3.connect(tmp_path / "knowbound.db")) as db, db:
        db.execute("UPDATE lesson SET accepted = ''")
    assert lessons_naming(str(tmp_path), quoted.names) == []
    KeptLessons(tmp_path).close()
    assert [one.names for one in lessons_naming(str(tmp_path), quoted.names)] == [tuple(quoted.names)]
    assert lessons_naming(str(tmp_path), ["\ud800"]) == []
