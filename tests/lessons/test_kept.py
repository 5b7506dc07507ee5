"""What becomes of a lesson that was written down."""

from __future__ import annotations

from contextlib import closing

from msgspec.structs import replace

from knowbound.agent.forget import Selection, forget
from knowbound.core.lesson import Applied, Lesson, LessonKind, LessonStatus
from knowbound.lessons.kept import LessonOccurrence, difference, watched
from knowbound.store.decisions import KeptLessons
from tests.lessons.shop import Shop
from tests.transcripts import Transcript

_LESSON = Lesson(
    id="aaaaaaaa",
    kind=LessonKind.LOCATION,
    text="`export.ts` is at `src/cli/export.ts`.",
    file="CLAUDE.md",
    status=LessonStatus.APPLIED,
    names=["path:src/commands/export.ts"],
    applied=Applied("file", "2026-10-10T00:00:00Z", "CLAUDE.md"),
)


def _watched(before: tuple[int, int], after: tuple[int, int], lesson: Lesson = _LESSON) -> Lesson:
    """The lesson after so many sessions that missed it, of so many, on each side."""
    started: dict[str, str] = {}
    happened: list[LessonOccurrence] = []
    for day, (missed, sessions) in (("2026-10-01", before), ("2026-10-20", after)):
        for number in range(sessions):
            started[f"{day} {number}"] = f"{day}T10:00:00Z"
            if number < missed:
                names = frozenset(lesson.names)
                happened.append(LessonOccurrence(f"{day} {number}", LessonKind.LOCATION, names, 1))
    return watched(lesson, started, happened)


def test_a_lesson_is_closed_only_when_the_interval_says_that_misses_are_fewer() -> None:
    assert _watched((8, 20), (0, 2)).status is LessonStatus.APPLIED  # too few sessions since
    closed = _watched((8, 20), (0, 30))
    assert closed.status is LessonStatus.CLOSED
    change = difference(closed)
    assert change is not None
    assert change.high < 0
    assert _watched((8, 20), (12, 30)).status is LessonStatus.APPLIED


def test_a_closed_lesson_is_reopened_when_the_miss_comes_back() -> None:
    closed = _watched((8, 20), (0, 30))
    assert _watched((8, 20), (1, 31), closed).status is LessonStatus.CLOSED
    reopened = _watched((8, 20), (3, 33), closed)
    assert reopened.status is LessonStatus.REOPENED
    assert _watched((8, 20), (3, 60), reopened).status is LessonStatus.CLOSED


def test_sessions_without_a_time_count_on_neither_side() -> None:
    found = watched(_LESSON, {"a": ""}, [])
    assert found.applied is not None
    assert (found.applied.before.sessions, found.applied.after.sessions) == (0, 0)


def _misses(transcript: Transcript) -> None:
    transcript.read(f"{transcript.project}/src/commands/export.ts", there=False)
    transcript.read(f"{transcript.project}/src/cli/export.ts")


def _apply(shop: Shop) -> str:
    for _ in range(2):
        shop.session(_misses)
    (lesson,) = shop.learn().lessons
    with closing(KeptLessons(shop.settings().home)) as store:
        applied = Applied("file", "2026-10-10T00:00:00Z", "CLAUDE.md")
        store.keep([replace(lesson, status=LessonStatus.APPLIED, applied=applied)])
    return lesson.id


def test_misses_are_counted_before_and_after_a_lesson_was_written(shop: Shop) -> None:
    _apply(shop)
    shop.session(_misses, "2026-10-20")
    shop.session(lambda transcript: transcript.read(f"{transcript.project}/src/cart.ts"), "2026-10-21")
    (lesson,) = shop.learn().lessons
    assert lesson.applied is not None
    before, after = lesson.applied.before, lesson.applied.after
    assert (before.missed, before.sessions, after.missed, after.sessions) == (2, 2, 1, 2)


def test_a_lesson_whose_file_is_moved_is_stale_at_the_next_run_and_holds_again_when_it_is_back(shop: Shop) -> None:
    id_ = _apply(shop)
    (shop.root / "src/cli/export.ts").rename(shop.root / "src/cart-export.ts")
    lesson = next(one for one in shop.learn().lessons if one.id == id_)
    assert lesson.status is LessonStatus.STALE
    assert "src/cli/export.ts is there" in lesson.unverified
    (shop.root / "src/cart-export.ts").rename(shop.root / "src/cli/export.ts")
    (lesson,) = shop.learn().lessons
    assert lesson.status is LessonStatus.APPLIED


def test_what_is_true_today_is_proposed_beside_the_stale_line(shop: Shop) -> None:
    id_ = _apply(shop)
    (shop.root / "src/lib").mkdir()
    (shop.root / "src/cli/export.ts").rename(shop.root / "src/lib/export.ts")
    by_status = {one.status: one for one in shop.learn().lessons}
    assert by_status[LessonStatus.STALE].id == id_
    new = by_status[LessonStatus.NEW]
    assert new.text == "`export.ts` is at `src/lib/export.ts`, not at `src/commands/export.ts`."
    assert {one.status: one.id for one in shop.learn().lessons} == {LessonStatus.STALE: id_, LessonStatus.NEW: new.id}


def test_forgotten_sessions_take_their_material_and_their_lessons_with_them(shop: Shop) -> None:
    ids = [shop.session(_misses) for _ in range(2)]
    assert len(shop.learn().lessons) == 1
    home = shop.settings().home
    forget(Selection(sessions=tuple(ids)), shop.settings())
    with closing(KeptLessons(home)) as store:
        assert (store.lessons(), store.states()) == ([], {})
