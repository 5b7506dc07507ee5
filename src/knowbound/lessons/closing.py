"""Watches lessons that were written down: whether their misses became fewer, and whether they still hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec.structs import replace

from knowbound.core.lesson import WRITTEN, Lesson, LessonStatus, MissCount
from knowbound.lessons.occurrences import Occurrence, is_about
from knowbound.lessons.tree import Tree
from knowbound.lessons.verifying import verify
from knowbound.stats.paired import Difference, unpaired
from knowbound.stats.rate import Rate

_CAME_BACK = 2  # sessions after which a closed lesson is open again


def difference(lesson: Lesson) -> Difference | None:
    """The share of sessions that missed it, after minus before, with its interval; None without sessions on a side."""
    if lesson.applied is None:
        return None
    before, after = lesson.applied.before, lesson.applied.after
    return unpaired(Rate(before.missed, before.sessions), Rate(after.missed, after.sessions))


def watched(lesson: Lesson, started: Mapping[str, str], occurrences: Iterable[Occurrence]) -> Lesson:
    """A written lesson with its misses counted before and after, and what they say about it.

    `started` has the time of every session of the project. A session without a time counts on neither side.
    """
    if lesson.applied is None or lesson.status not in WRITTEN:
        return lesson
    missed = {one.session for one in occurrences if is_about(lesson, one)}
    sides = {session: time >= lesson.applied.time for session, time in started.items() if time}
    before, after = (
        MissCount(
            sum(session in missed for session, is_after in sides.items() if is_after is side),
            sum(is_after is side for is_after in sides.values()),
        )
        for side in (False, True)
    )
    applied = replace(lesson.applied, before=before, after=after)
    return _judged(replace(lesson, applied=applied), came_back=after.missed - lesson.applied.after.missed)


def _judged(lesson: Lesson, came_back: int) -> Lesson:
    """Closed only where the interval lies below zero: fewer sessions miss it than before."""
    if lesson.status is LessonStatus.STALE:
        return lesson
    change = difference(lesson)
    is_fewer = change is not None and change.high < 0
    was_closed = lesson.status in (LessonStatus.CLOSED, LessonStatus.REOPENED)
    if lesson.status is LessonStatus.CLOSED and came_back >= _CAME_BACK:
        return replace(lesson, status=LessonStatus.REOPENED)
    if is_fewer and not (lesson.status is LessonStatus.REOPENED and came_back):
        return replace(lesson, status=LessonStatus.CLOSED)
    return replace(lesson, status=LessonStatus.REOPENED if was_closed else LessonStatus.APPLIED)


def checked_again(lesson: Lesson, tree: Tree | None) -> Lesson:
    """A lesson that is accepted or written, against the tree of today: stale where it does not hold any more."""
    if tree is None or not lesson.checks:
        return lesson
    verdict = verify(lesson.checks, tree)
    if verdict.contradicted:
        return replace(
            lesson,
            status=LessonStatus.STALE,
            verified=None,
            unverified=f"does not hold any more: {verdict.contradicted}",
        )
    if lesson.status is LessonStatus.STALE:
        back = LessonStatus.APPLIED if lesson.applied is not None else LessonStatus.ACCEPTED
        return replace(lesson, status=back, verified=verdict.verified, unverified="")
    return replace(lesson, verified=verdict.verified)
