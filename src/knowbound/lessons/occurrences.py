"""What went wrong in a session, by names: a lesson with one of these names is about it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from knowbound.core.lesson import Lesson, LessonKind
from knowbound.gaps.wanted import plain_name
from knowbound.lessons.material import Material
from knowbound.lessons.proposals.locations import missed_path
from knowbound.lessons.proposals.options import command_with
from knowbound.lessons.proposals.proposal import SessionMiss
from knowbound.lessons.proposals.repairs import leftovers


class Occurrence(NamedTuple):
    """One miss or failure: the kind of lesson that could answer it, and what it could be known by."""

    session: str
    kind: LessonKind
    names: frozenset[str]
    line: int


def failed_commands(material: Material) -> Iterator[Occurrence]:
    """Commands and edits that failed."""
    of_line: dict[int, set[str]] = {}
    for failure in material.failures:
        names = of_line.setdefault(failure.line, set())
        prefix = "misused" if failure.misused else "failed"
        names.update(f"{prefix}:{one}" for one in failure.commands)
        names.update({f"advice:{failure.advice}"} if failure.advice else ())
        if called := command_with(failure):
            names.add(f"option:{called.partition(' ')[0]}:{failure.option}")
        for later in (one for follow in failure.next if follow.ok for one in follow.commands):
            names.update(f"repaired:{one}:{later}" for one in failure.commands)
            names.update({f"cleared:{folder}"} if later.startswith("rm ") and (folder := leftovers(later)) else ())
    for rule in material.rules:
        of_line.setdefault(rule.line, set()).add(f"rule:{rule.tool}:{rule.code}")
    for _, line in material.refused_commits:
        of_line.setdefault(line, set()).add("refused")
    for _, line in material.wrong_repositories:
        of_line.setdefault(line, set()).add("repository")
    for line in material.missed_edits:
        of_line.setdefault(line, set()).add("edit")
    for name, line in material.unknown_skills:
        of_line.setdefault(line, set()).add(f"skill:{name}")
    for path, line in material.too_large:
        of_line.setdefault(line, set()).add(f"large:{path}")
    for line, names in sorted(of_line.items()):
        yield Occurrence(material.session, LessonKind.COMMAND, frozenset(names), line)


def failed_lookups(misses: Iterable[SessionMiss]) -> Iterator[Occurrence]:
    """Lookups that lacked something."""
    for one in misses:
        names = {f"name:{plain_name(name)}" for name in one.signal.names}
        if path := missed_path(one):
            folder, _, last = path.rstrip("/").rpartition("/")
            names |= {f"path:{path.rstrip('/')}", f"base:{last.lower()}", f"folder:{path.rstrip('/')}"}
            while folder:
                names.add(f"folder:{folder}")
                folder = folder.rpartition("/")[0]
        yield Occurrence(one.signal.session, LessonKind.LOCATION, frozenset(names), one.signal.line)


def requests(material: Material, lessons: Iterable[Lesson]) -> Iterator[Occurrence]:
    """What the user said again, of that which lessons know."""
    for lesson in lessons:
        for name in lesson.names:
            if name.startswith("said:update "):
                word = name.removeprefix("said:update ").partition(".")[0].lower()
                for said in material.said:
                    if word in said.text.lower() and "update" in said.text.lower():
                        yield Occurrence(material.session, LessonKind.CORRECTION, frozenset({name}), said.line)


def is_about(lesson: Lesson, occurrence: Occurrence) -> bool:
    """Whether the lesson would have answered it."""
    return not occurrence.names.isdisjoint(lesson.names)
