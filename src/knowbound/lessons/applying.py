"""Writes accepted lessons to one target: a marked section of the knowledge file, or items of the store.

The section is kept sorted and without duplicates. What is outside of its marks stays as it is, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from knowbound.config import Settings
from knowbound.core.item import FlagKind, ItemType
from knowbound.core.lesson import WRITTEN, Applied, Lesson, LessonKind, LessonStatus
from knowbound.errors import InputError
from knowbound.kms.opening import open_knowledge_store
from knowbound.kms.validation import NewItem
from knowbound.lessons.proposing import within_budget
from knowbound.patching import FilePatch, check_patches, read_below, write_patches
from knowbound.store.lessons import KeptLessons
from knowbound.text.clock import utc_now

BEGIN = "<!-- knowbound lessons: begin (written by `knowbound learn --apply file`) -->"
END = "<!-- knowbound lessons: end -->"
_MARK = "<!-- knowbound lessons: begin"
_TITLE = "## Lessons from earlier sessions"
_SUBJECT = "lessons"


class FilePlan(NamedTuple):
    """What `--apply file` would write, and which lessons would be in it."""

    patches: list[FilePatch]
    written: list[Lesson]  # as they are once the files are written
    left_out: list[Lesson]  # accepted, and the budget has no room for them


def plan_files(lessons: Iterable[Lesson], settings: Settings) -> FilePlan:
    """The sections as they should be: what is accepted or written and holds, within the budget."""
    known = list(lessons)
    wanted = [one for one in known if one.status is LessonStatus.ACCEPTED or _is_in_file(one)]
    fitting = within_budget(
        (one for one in wanted if one.status is not LessonStatus.STALE),
        settings.learn_max_lines,
        settings.learn_max_tokens,
    )
    files = dict.fromkeys([one.file for one in wanted] + [one.applied.place for one in wanted if one.applied])
    patches = []
    for path in sorted(files):
        before = read_below(settings.root, path)
        gone = [one.text for one in known if one not in fitting and one.file == path]
        after = with_section(before, [one.text for one in fitting if one.file == path], gone)
        if after != before:
            patches.append(FilePatch(path, before, after))
    now = utc_now()
    kept = {one.id for one in fitting}
    written = [
        replace(one, status=LessonStatus.APPLIED, applied=Applied("file", now, one.file))
        if one.status is LessonStatus.ACCEPTED
        else one
        for one in fitting
    ]
    left_out = [one for one in wanted if one.id not in kept and one.status is not LessonStatus.STALE]
    return FilePlan(patches, written, left_out)


def _is_in_file(lesson: Lesson) -> bool:
    return lesson.status in WRITTEN and lesson.applied is not None and lesson.applied.target == "file"


def write_files(plan: FilePlan, settings: Settings) -> None:
    """Write the files as they were shown; one that changed meanwhile is an error, and nothing more is written."""
    check_patches(settings.root, plan.patches, "knowbound learn --apply file")
    write_patches(settings.root, plan.patches)
    removed = [replace(one, status=LessonStatus.ACCEPTED, applied=None) for one in plan.left_out]
    with closing(KeptLessons(settings.home)) as store:
        store.keep([*plan.written, *removed])


def with_section(before: bytes, lines: Sequence[str], gone: Iterable[str] = ()) -> bytes:
    """The text with these lines in its section; lines of it that people added stay, those in `gone` leave."""
    start, end, own = _section(before)
    # An existing section keeps its own line ends: those around it may be a mixture.
    newline = b"\r\n" if b"\r\n" in (before[start:end] if end else before) else b"\n"
    left = {f"- {line}" for line in gone}
    entries = sorted({*own, *(f"- {line}" for line in lines)} - left, key=str.casefold)
    if not entries:
        return before[:start].rstrip(b"\r\n") + newline + before[end:] if own and before[:start].strip() else before
    text = "\n".join([BEGIN, "", _TITLE, "", *entries, "", END])
    section = text.encode().replace(b"\n", newline)
    if end:
        return before[:start] + section + before[end:]
    gap = b"" if not before else newline if before.endswith((b"\n", b"\r")) else newline * 2
    return before + gap + section + newline


def _section(text: bytes) -> tuple[int, int, list[str]]:
    """Where the section begins and ends, and its entries; (length, 0) where there is none."""
    start = text.find(_MARK.encode())
    if start < 0:
        return len(text), 0, []
    end = text.find(END.encode(), start)
    if end < 0:
        raise InputError("section-broken", f"The section that begins with `{_MARK} …` has no end mark `{END}`.")
    inner = text[start:end].decode("utf-8", "replace").splitlines()[1:]
    return start, end + len(END), [line.rstrip() for line in inner if line.strip() and line.strip() != _TITLE]


def write_items(lessons: Sequence[Lesson], settings: Settings, by: str) -> list[Lesson]:
    """Add accepted lessons to the store of items; one that says the same already is that item."""
    written = []
    with closing(open_knowledge_store(settings, by=by)) as store, closing(KeptLessons(settings.home)) as kept:
        for lesson in lessons:
            kind = ItemType.FACT if lesson.kind is LessonKind.LOCATION else ItemType.PROCEDURE
            new = NewItem(content=lesson.text, type=kind, subject=_SUBJECT, metadata={"lesson": lesson.id})
            item = store.add(new).item
            done = replace(lesson, status=LessonStatus.APPLIED, applied=Applied("items", utc_now(), item.id))
            kept.keep([done])  # one by one: what fails later does not undo what is there
            written.append(done)
    return written


def flag_stale_items(lessons: Iterable[Lesson], settings: Settings) -> list[Lesson]:
    """Flag the items of lessons that do not hold any more: they are served lower and marked."""
    stale = [
        one
        for one in lessons
        if one.status is LessonStatus.STALE and one.applied is not None and one.applied.target == "items"
    ]
    if stale:
        with closing(open_knowledge_store(settings, by="learn")) as store:
            for one in stale:
                assert one.applied is not None
                store.flag(one.applied.place, FlagKind.UNVERIFIED, f"lesson {one.id}: {one.unverified}"[:500])
    return stale


def mark_applied(lessons: Sequence[Lesson], target: str, place: str, settings: Settings) -> None:
    """Remember that lessons were written to a target of its own."""
    done = [replace(one, status=LessonStatus.APPLIED, applied=Applied(target, utc_now(), place)) for one in lessons]
    with closing(KeptLessons(settings.home)) as store:
        store.keep(done)


def accepted(home: Path, ids: Sequence[str] = ()) -> list[Lesson]:
    """The accepted lessons, or those of them with these ids."""
    with closing(KeptLessons(home)) as store:
        known = store.lessons()
    chosen = [one for one in known if one.status is LessonStatus.ACCEPTED and (not ids or one.id in ids)]
    if missing := [id_ for id_ in ids if id_ not in {one.id for one in chosen}]:
        raise InputError(
            "no-such-lesson", f"{missing[0]!r} is no accepted lesson. Try: knowbound learn --accept {missing[0]}"
        )
    return chosen
