"""Lessons in any format: what to write down, where, and what it rests on; and what became of those written down."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from knowbound.core.lesson import WRITTEN, Lesson, LessonStatus
from knowbound.language import say, translated
from knowbound.report.format_names import LineFormat, PageFormat
from knowbound.report.formats import render
from knowbound.report.formats.json import fields, json_line
from knowbound.report.sections import Entry, Line, Note, Page, Section
from knowbound.report.words import place_words
from knowbound.report.writing import data, joined, listing, prose, section, soft, strong, table
from knowbound.stats.rate import Rate
from knowbound.text.printable import counted

Format = PageFormat | LineFormat
_KEYS = "id kind text file sessions cost evidence verified status project unverified? by applied"
_NOTHING = "Nothing failed in the same way in several sessions: there is nothing to write down yet."


def render_lessons(
    lessons: Sequence[Lesson],
    format: Format,
    *,
    about: str,
    left_out: int = 0,
    status: bool = False,
    width: int = 100,
    colour: bool = False,
) -> str:
    """The lessons in a format; `about` says what they were made from, `status` asks for what became of them."""
    if format == "jsonl":
        return "".join(json_line(document_of(one)) + "\n" for one in lessons)

    def page() -> Page:
        sections = _status_sections(lessons) if status else _sections(lessons, left_out)
        return Page("learn", "Lessons", about, about, (), tuple(sections), tuple(_commands(lessons)))

    def document() -> dict[str, object]:
        return {"format": "knowbound.lessons/1", "left_out": left_out, "lessons": list(map(document_of, lessons))}

    return render(format, page, document, width=width, colour=colour)


def document_of(lesson: Lesson) -> dict[str, object]:
    """A lesson as docs/json.md has it."""
    return fields(lesson, _KEYS)


def _sections(lessons: Sequence[Lesson], left_out: int) -> Iterator[Section]:
    new, waiting, stale = (
        [_entry(one) for one in lessons if one.status is status]
        for status in (LessonStatus.NEW, LessonStatus.ACCEPTED, LessonStatus.STALE)
    )
    more = say("{:,} more did not fit the budget.", left_out) if left_out else ""
    parts = (listing(new, 40), Note(soft(more))) if new else (Note(_NOTHING),)
    yield section("What to write down", "new", *parts)
    yield section("Accepted, not written yet", "accepted", listing(waiting, 40))
    yield section("Stale: the tree has moved on", "stale", listing(stale, 40))


def _entry(lesson: Lesson) -> Entry:
    seen = f"{translated(lesson.kind)} · {counted(lesson.sessions, 'session')}, {counted(lesson.cost.calls, 'call')}"
    checked: Line = ""
    if lesson.verified is not None:
        at = place_words(lesson.verified.path, lesson.verified.line)
        checked = (
            say("{} in the tree", translated(lesson.verified.quality))
            if at == "."
            else (say("{} in ", translated(lesson.verified.quality)), data(at))
        )
    not_checked: Line = ("not verified: ", prose(lesson.unverified)) if lesson.unverified else ""
    first = lesson.evidence[0] if lesson.evidence else None
    place: Line = data(place_words(first.file or first.session, first.line)) if first else ""
    lines = tuple(line for line in (joined((seen, ("in ", data(lesson.file)), checked)), not_checked) if line)
    return Entry((strong(lesson.id), " ", prose(lesson.text)), lines, place, anchor=lesson.id)


def _status_sections(lessons: Sequence[Lesson]) -> Iterator[Section]:
    order = list(LessonStatus)
    shown = sorted(lessons, key=lambda one: (-order.index(one.status), -one.saves, one.id))
    rows = ((strong(one.id), translated(one.status), *_counts(one), prose(one.text)) for one in shown)
    yield section("What became of them", "status", table("id | status | before | after | lesson", rows, 60))


def _counts(lesson: Lesson) -> tuple[str, str]:
    """Sessions that missed it, of all, before and after it was written; with its interval."""
    if lesson.applied is None or lesson.status not in WRITTEN:
        return "", ""
    sides = (lesson.applied.before, lesson.applied.after)
    before, after = (str(Rate(one.missed, one.sessions)) if one.sessions else "no sessions" for one in sides)
    return before, after


def _commands(lessons: Sequence[Lesson]) -> Iterator[tuple[str, str]]:
    new = next((one for one in lessons if one.status is LessonStatus.NEW), None)
    if new is not None:
        yield f"knowbound fix {new.id}", "write it into its file, after a look at the diff (--reject: never again)"
    if any(one.status in WRITTEN for one in lessons):
        yield "knowbound learn --status", "what became of those that were written down"
