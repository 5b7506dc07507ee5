"""Lessons that people decided about: joined with what is proposed now, checked again, and watched.

A miss or failure of a session is known by names. A written lesson with one of these names is about it: it is closed
where its misses became fewer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from knowbound.core.lesson import WRITTEN, Lesson, LessonKind, LessonStatus, MissCount, lesson_id
from knowbound.gaps.wanted import plain_name
from knowbound.lessons.locations import missed_path
from knowbound.lessons.material import Material, SessionMiss
from knowbound.lessons.verifying import Tree, verify
from knowbound.stats.paired import Difference, unpaired_difference
from knowbound.stats.rate import Rate
from knowbound.store.accepted_lessons import lesson_names

_DECIDED = frozenset({LessonStatus.ACCEPTED, *WRITTEN})
BY_AGENT = "agent"
_CAME_BACK = 2  # sessions after which a closed lesson is open again


def joined(proposed: Iterable[Lesson], kept: Iterable[Lesson], tree: Tree | None, now: str) -> list[Lesson]:
    """Return the proposals with earlier decisions; what was accepted or written stays, and is checked again."""
    kept_by_id = {lesson.id: lesson for lesson in kept}
    lessons: dict[str, Lesson] = {}
    for lesson in (_with_own_id(lesson, kept_by_id.get(lesson.id), tree) for lesson in proposed):
        known = kept_by_id.get(lesson.id)
        if known is None:
            lessons[lesson.id] = replace(lesson, made=now)
        else:  # a person decided about these words: they stay
            words = known if known.status in _DECIDED else lesson
            lessons[lesson.id] = replace(
                lesson,
                text=words.text,
                file=words.file,
                checks=words.checks,
                status=known.status,
                made=known.made,
                applied=known.applied,
            )
    for known in kept_by_id.values():
        is_waiting = known.status is LessonStatus.NEW and known.by == BY_AGENT  # for a person
        if known.status in _DECIDED or known.status is LessonStatus.REJECTED or is_waiting:
            lessons.setdefault(known.id, known)
    return [checked_again(lesson, tree) if lesson.status in _DECIDED else lesson for lesson in lessons.values()]


def _with_own_id(lesson: Lesson, decided: Lesson | None, tree: Tree | None) -> Lesson:
    """Return the lesson, under an id of its own if the tree contradicts the words that a person decided about."""
    if decided is None or decided.status not in _DECIDED or decided.text == lesson.text:
        return lesson
    if not verify(decided.checks, tree).contradicted:
        return lesson
    return replace(lesson, id=lesson_id(lesson.project, lesson.kind, lesson.id + lesson.text))


class LessonOccurrence(NamedTuple):
    """One miss or failure: the kind of lesson that could answer it, and what it could be known by."""

    session: str
    kind: LessonKind
    names: frozenset[str]
    line: int


def failed_commands(material: Material) -> Iterator[LessonOccurrence]:
    """Yield commands that were called wrongly."""
    for failure in material.failures:
        names = frozenset(f"misused:{command}" for command in failure.commands)
        yield LessonOccurrence(material.session, LessonKind.COMMAND, names, failure.line)


def failed_lookups(misses: Iterable[SessionMiss]) -> Iterator[LessonOccurrence]:
    """Yield lookups that lacked something, with the names by which a lesson about them is known."""
    for miss in misses:
        names = {f"name:{plain_name(name)}" for name in miss.signal.names}
        if path := missed_path(miss):
            names.update(lesson_names(path))
        yield LessonOccurrence(miss.signal.session, LessonKind.LOCATION, frozenset(names), miss.signal.line)


def requests(material: Material, lessons: Iterable[Lesson]) -> Iterator[LessonOccurrence]:
    """Yield the requests that the user repeated although a lesson has them."""
    for lesson in lessons:
        for name in lesson.names:
            if name.startswith("said:update "):
                word = name.removeprefix("said:update ").partition(".")[0].lower()  # the file's name without its ending
                for said in material.said:
                    if word in said.text.lower() and "update" in said.text.lower():
                        yield LessonOccurrence(material.session, LessonKind.CORRECTION, frozenset({name}), said.line)


def is_about(lesson: Lesson, occurrence: LessonOccurrence) -> bool:
    """Report whether the lesson would have answered the occurrence."""
    return not occurrence.names.isdisjoint(lesson.names)


def difference(lesson: Lesson) -> Difference | None:
    """The share of sessions that missed it, after minus before, with its interval; None without sessions on a side."""
    if lesson.applied is None:
        return None
    before, after = lesson.applied.before, lesson.applied.after
    return unpaired_difference(Rate(before.missed, before.sessions), Rate(after.missed, after.sessions))


def watched(lesson: Lesson, started: Mapping[str, str], occurrences: Iterable[LessonOccurrence]) -> Lesson:
    """A written lesson with its misses counted before and after, and what they say about it.

    `started` has the time of every session of the project. A session without a time counts on neither side.
    """
    if lesson.applied is None or lesson.status not in WRITTEN:
        return lesson
    missed = {occurrence.session for occurrence in occurrences if is_about(lesson, occurrence)}
    is_after_of = {session: time >= lesson.applied.time for session, time in started.items() if time}
    before, after = (
        MissCount(
            sum(session in missed for session, is_after in is_after_of.items() if is_after is side),
            sum(is_after is side for is_after in is_after_of.values()),
        )
        for side in (False, True)  # before it was written, and after
    )
    applied = replace(lesson.applied, before=before, after=after)
    return _with_outcome(replace(lesson, applied=applied), came_back=after.missed - lesson.applied.after.missed)


def _with_outcome(lesson: Lesson, came_back: int) -> Lesson:
    """Return the lesson closed if clearly fewer sessions miss it, reopened if it came back, else applied."""
    if lesson.status is LessonStatus.STALE:  # it is wrong: misses say nothing about it
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
