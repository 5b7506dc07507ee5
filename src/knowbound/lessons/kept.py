"""What was decided about lessons, joined with what is proposed now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from knowbound.core.lesson import WRITTEN, Lesson, LessonStatus, lesson_id
from knowbound.errors import InputError
from knowbound.lessons.closing import checked_again
from knowbound.lessons.tree import Tree
from knowbound.lessons.verifying import verify
from knowbound.store.lessons import KeptLessons
from knowbound.text.printable import listed

_DECIDED = frozenset({LessonStatus.ACCEPTED, *WRITTEN})
BY_AGENT = "agent"


def joined(proposed: Iterable[Lesson], kept: Iterable[Lesson], tree: Tree | None, now: str) -> list[Lesson]:
    """Proposals with the decisions of before; what was accepted or written stays, and is checked again."""
    before = {one.id: one for one in kept}
    found: dict[str, Lesson] = {}
    for lesson in (_of_today(one, before.get(one.id), tree) for one in proposed):
        known = before.get(lesson.id)
        if known is None:
            found[lesson.id] = replace(lesson, made=now)
        else:  # a person decided about these words: they stay
            words = known if known.status in _DECIDED else lesson
            found[lesson.id] = replace(
                lesson,
                text=words.text,
                file=words.file,
                checks=words.checks,
                status=known.status,
                made=known.made,
                applied=known.applied,
            )
    for known in before.values():
        is_waiting = known.status is LessonStatus.NEW and known.by == BY_AGENT
        if known.status in _DECIDED or known.status is LessonStatus.REJECTED or is_waiting:
            found.setdefault(known.id, known)
    return [checked_again(one, tree) if one.status in _DECIDED else one for one in found.values()]


def _of_today(lesson: Lesson, known: Lesson | None, tree: Tree | None) -> Lesson:
    """A lesson of its own where a decided one has other words, and the tree contradicts those: that one is stale."""
    if known is None or known.status not in _DECIDED or known.text == lesson.text:
        return lesson
    if not verify(known.checks, tree).contradicted:
        return lesson
    return replace(lesson, id=lesson_id(lesson.project, lesson.kind, lesson.id + lesson.text))


def decide(home: Path, ids: Sequence[str], status: LessonStatus) -> list[Lesson]:
    """Accept or reject lessons by their ids; all of them or none."""
    with closing(KeptLessons(home)) as store:
        known = {one.id: one for one in store.lessons()}
        if unknown := [one for one in ids if one not in known]:
            some = listed([f"{one.id} ({one.text})" for one in known.values() if one.status is LessonStatus.NEW])
            raise InputError("no-such-lesson", f"There is no lesson {unknown[0]!r}. New ones: {some or 'none'}.")
        decided = []
        for id_ in dict.fromkeys(ids):
            lesson = known[id_]
            if lesson.status is LessonStatus.STALE and status is LessonStatus.ACCEPTED:
                raise InputError("lesson-stale", f"{id_} is stale: the tree contradicts it. Nothing was accepted.")
            if status is LessonStatus.ACCEPTED and lesson.status in WRITTEN:
                decided.append(lesson)  # it is written down already
            else:
                decided.append(replace(lesson, status=status))
        store.keep(decided)
    return decided
