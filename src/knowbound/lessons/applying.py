"""Writes lessons that a person accepted: into a marked section of the knowledge file, or as items of the store.

The section is kept sorted and without duplicates. What is outside of its marks stays as it is, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

from msgspec.structs import replace

from knowbound.config import Settings
from knowbound.core.item import FlagKind, ItemType
from knowbound.core.lesson import WRITTEN, Applied, Lesson, LessonKind, LessonStatus
from knowbound.errors import InputError
from knowbound.files import FilePatch, read_below
from knowbound.kms.opening import open_knowledge_store
from knowbound.kms.validation import NewItem
from knowbound.lessons.proposing import within_budget
from knowbound.store.decisions import KeptLessons
from knowbound.text.clock import utc_now

BEGIN = "<!-- knowbound lessons: begin (written by `knowbound fix`) -->"
END = "<!-- knowbound lessons: end -->"
_MARK = "<!-- knowbound lessons: begin"
_TITLE = "## Lessons from earlier sessions"
_SUBJECT = "lessons"


def plan_files(lessons: Iterable[Lesson], settings: Settings) -> list[FilePatch]:
    """Return the changes that make the sections as they should be: what is accepted or written and holds."""
    every_lesson = list(lessons)
    wanted = [lesson for lesson in every_lesson if lesson.status is LessonStatus.ACCEPTED or _is_in_file(lesson)]
    fitting = within_budget(
        (lesson for lesson in wanted if lesson.status is not LessonStatus.STALE),
        settings.learn_max_lines,
        settings.learn_max_tokens,
    )
    files = dict.fromkeys(
        [lesson.file for lesson in wanted] + [lesson.applied.place for lesson in wanted if lesson.applied]
    )
    patches = []
    for path in sorted(files):
        before = read_below(settings.root, path)
        dropped = [lesson.text for lesson in every_lesson if lesson not in fitting and lesson.file == path]
        after = with_section(before, [lesson.text for lesson in fitting if lesson.file == path], dropped)
        if after != before:
            patches.append(FilePatch(path, before, after))
    return patches


def _is_in_file(lesson: Lesson) -> bool:
    return lesson.status in WRITTEN and lesson.applied is not None and lesson.applied.target == "file"


def mark_written(lesson: Lesson, time: str, patches: Sequence[FilePatch], home: Path) -> None:
    """Remember that the line of a lesson is in its file, and which lines left it because the budget was full."""
    written = {patch.path: patch.after for patch in patches}
    with closing(KeptLessons(home)) as store:
        dropped = [  # other lines that the new text of their file lacks
            replace(other, status=LessonStatus.ACCEPTED, applied=None)
            for other in store.lessons(lesson.project)
            if _is_in_file(other) and other.id != lesson.id and other.status is not LessonStatus.STALE
            and other.text.encode() not in written.get(other.file, other.text.encode())
        ]  # fmt: skip
        done = replace(
            lesson, status=LessonStatus.APPLIED, applied=Applied(target="file", time=time, place=lesson.file)
        )
        store.keep([done, *dropped])


def with_section(before: bytes, lines: Sequence[str], gone: Iterable[str] = ()) -> bytes:
    """The text with these lines in its section; lines of it that people added stay, those in `gone` leave."""
    start, end, present = _section(before)
    # An existing section keeps its own line ends: those around it may be a mixture.
    newline = b"\r\n" if b"\r\n" in (before[start:end] if end else before) else b"\n"
    leaving = {f"- {line}" for line in gone}
    entries = sorted({*present, *(f"- {line}" for line in lines)} - leaving, key=str.casefold)
    if not entries:
        return before[:start].rstrip(b"\r\n") + newline + before[end:] if present and before[:start].strip() else before
    text = "\n".join([BEGIN, "", _TITLE, "", *entries, "", END])
    section = text.encode().replace(b"\n", newline)
    if end:
        return before[:start] + section + before[end:]
    gap = b"" if not before else newline if before.endswith((b"\n", b"\r")) else newline * 2
    return before + gap + section + newline


def _section(text: bytes) -> tuple[int, int, list[str]]:
    """Return where the section begins and ends, and its entries; the length, 0 and nothing if there is no section."""
    start = text.find(_MARK.encode())
    if start < 0:
        return len(text), 0, []
    end = text.find(END.encode(), start)
    if end < 0:
        raise InputError("section-broken", f"The section that begins with `{_MARK} …` has no end mark `{END}`.")
    inner = text[start:end].decode("utf-8", "replace").splitlines()[1:]
    return start, end + len(END), [line.rstrip() for line in inner if line.strip() and line.strip() != _TITLE]


def write_item(lesson: Lesson, settings: Settings, by: str) -> Lesson:
    """Add a lesson to the store of items; an item that says the same already is that item."""
    kind = ItemType.FACT if lesson.kind is LessonKind.LOCATION else ItemType.PROCEDURE
    new = NewItem(content=lesson.text, type=kind, subject=_SUBJECT, metadata={"lesson": lesson.id})
    with closing(open_knowledge_store(settings, by=by)) as store:
        return mark_applied(lesson, "items", store.add(new).item.id, settings.home)


def flag_stale_items(lessons: Iterable[Lesson], settings: Settings) -> list[Lesson]:
    """Flag the items of lessons that do not hold any more: they are served lower and marked."""
    stale = [
        lesson
        for lesson in lessons
        if lesson.status is LessonStatus.STALE and lesson.applied is not None and lesson.applied.target == "items"
    ]
    if stale:
        with closing(open_knowledge_store(settings, by="learn")) as store:
            for stale_lesson in stale:
                assert stale_lesson.applied is not None
                store.flag(
                    stale_lesson.applied.place,
                    FlagKind.UNVERIFIED,
                    f"lesson {stale_lesson.id}: {stale_lesson.unverified}"[:500],
                )
    return stale


def mark_applied(lesson: Lesson, target: str, place: str, home: Path) -> Lesson:
    """Remember that a lesson was written to a target other than its file."""
    done = replace(lesson, status=LessonStatus.APPLIED, applied=Applied(target=target, time=utc_now(), place=place))
    with closing(KeptLessons(home)) as store:
        store.keep([done])
    return done


def decide(lesson: Lesson, status: LessonStatus, home: Path) -> None:
    """Remember that a person accepted a lesson, which rescue then says, or rejected it."""
    with closing(KeptLessons(home)) as store:
        store.keep([replace(lesson, status=status)])
