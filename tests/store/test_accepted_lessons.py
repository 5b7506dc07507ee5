from __future__ import annotations

from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowbound.core.lesson import Applied, CheckKind, Lesson, LessonKind, LessonStatus, TreeCheck
from knowbound.store.accepted_lessons import AcceptedCheck, AcceptedLesson, lessons_naming, read_value
from knowbound.store.lessons import KeptLessons

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
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False)
    | st.text(max_size=300)
    | st.binary(max_size=300),
    lambda inner: st.lists(inner, max_size=20) | st.dictionaries(st.text(max_size=40), inner, max_size=20),
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


@given(_VALUES)
def test_values_are_read_as_msgspec_wrote_them(value: object) -> None:
    assert read_value(msgspec.msgpack.encode(value)) == value


@given(st.binary(max_size=60))
def test_bytes_that_are_no_value_are_refused_and_nothing_else_happens(data: bytes) -> None:
    try:
        read_value(data)
    except ValueError:
        return


@pytest.mark.parametrize(
    "data", [b"", b"\xa5ab", b"\x92\x01", b"\xc1", b"\xd4\x01\x02", b"\x91" * 100_000, b"\x01\x01"]
)
def test_what_is_cut_nested_without_end_or_followed_by_more_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="no value"):
        read_value(data)
