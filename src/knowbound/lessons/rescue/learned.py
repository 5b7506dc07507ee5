"""Answers a miss by a lesson that a person accepted: where the thing is that agents look for under this wrong name.

A lesson was true when it was checked last. It is said only where the tree, as it is now, still has its place.
"""

from __future__ import annotations

from knowbound.lessons.rescue.misses.lookup import PATTERN, names_in, plain
from knowbound.lessons.rescue.search import nearness
from knowbound.lessons.rescue.words import FOUND, MOST_PLACES, Rescue, SuggestedPlace, as_line
from knowbound.store.accepted_lessons import ABOUT_COMMANDS, lessons_naming
from knowbound.traces.tools import COMMAND_KEYS, first_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from knowbound.lessons.rescue.misses.lookup import MissedLookup
    from knowbound.lessons.rescue.search import Searcher, TreeNames
    from knowbound.store.accepted_lessons import AcceptedCheck, AcceptedLesson

_MOST_NAMES = 3  # in one pattern: with more, the agent asks which of them a place has
_SEVERAL = 3  # files that make a way of naming, as in lessons/verifying.py
_WHY = "where a lesson has it"


def rescue_by_lesson(miss: MissedLookup, names: TreeNames, search: Searcher, home: str) -> Rescue | None:
    """The place that a lesson about this very name, path or folder has, the surest lesson first."""
    keys = [] if miss.is_check else _keys(miss, names)
    lessons = [one for one in lessons_naming(home, keys) if one.kind == "location"]
    for key in keys:
        for lesson in (one for one in lessons if key in one.names):
            places = _places(lesson, miss, key, names, search)
            if places:
                return said(lesson, places)
    return None


def said(lesson: AcceptedLesson, places: Sequence[SuggestedPlace] = ()) -> Rescue:
    """The lesson's line, which was screened for orders to agents when it was kept (`clean_line`)."""
    text = f"In this project: {as_line(lesson.text).rstrip('.')} (lesson {lesson.id})."
    return Rescue(FOUND, text, tuple(places[:MOST_PLACES]), "lesson", names=code_in(lesson.text), item=lesson.item)


def code_in(text: str) -> tuple[str, ...]:
    """Return the texts between backticks."""
    return tuple(dict.fromkeys(part.strip("/") for part in text.split("`")[1::2] if part.strip("/")))


def _keys(miss: MissedLookup, names: TreeNames) -> list[str]:
    """Return the names by which a lesson about a miss is known (lessons/kept.py), surest first."""
    if miss.kind == PATTERN:
        wanted = list(dict.fromkeys(plain(name) for name in names_in(miss.query)))
        gone = [place for place in miss.where if not names.has(place)]
        named = [f"name:{name}" for name in wanted] if len(wanted) <= _MOST_NAMES else []
        return named + [key for place in gone for key in _of_path(place)]
    return [key for path in (miss.globs or (miss.query,)) for key in _of_path(path)]


def _of_path(path: str) -> list[str]:
    path = path.rstrip("/")
    folder, _, last = path.rpartition("/")
    keys = [f"path:{path}", f"folder:{path}", f"base:{last.lower()}"]
    while folder:
        keys.append(f"folder:{folder}")
        folder = folder.rpartition("/")[0]
    return keys


def _places(
    lesson: AcceptedLesson, miss: MissedLookup, key: str, names: TreeNames, search: Searcher
) -> list[SuggestedPlace]:
    """Return the places that a lesson's checks show now; none if a check fails, or it is about another file."""
    found: list[SuggestedPlace] = []
    for check in lesson.checks:
        holds, places = checked(check, names, search, miss.query)
        if not holds:
            return []
        found += places
    base = key.removeprefix("base:")
    if base != key and not any(_is_about(check, base, miss.query) for check in lesson.checks):
        return []
    return found


def _is_about(check: AcceptedCheck, base: str, missed: str) -> bool:
    """Report whether a lesson is about every file of a name: it has the place of that name, or a way of naming."""
    if check.kind == "named":
        return not check.path or missed.startswith(f"{check.path}/")
    return check.kind == "file" and check.path.rpartition("/")[2].lower() == base


def checked(
    check: AcceptedCheck, names: TreeNames, search: Searcher, missed: str = ""
) -> tuple[bool | None, list[SuggestedPlace]]:
    """Report whether a condition of a lesson holds in the tree now, None where only a scan could tell; and where."""
    path, tree = check.path, search.tree
    if path.startswith(("/", "~")) or ".." in path.split("/"):
        return False, []
    match check.kind:
        case "file":
            return tree.exists(path), [SuggestedPlace(path, None, _WHY)]
        case "absent":
            return not tree.exists(path), []
        case "symbol":
            defined = [one for one in tree.defined([plain(check.text)]) if (one.name, one.path) == (check.text, path)]
            still = [one.line for one in defined if check.text in search.line(path, one.line)]
            return bool(still), [SuggestedPlace(path, line, _WHY) for line in still[:1]]
        case "named" | "unnamed":
            from fnmatch import fnmatchcase  # noqa: PLC0415

            below = [one for one in names.paths if not path or one.startswith(f"{path}/")]
            named = [one for one in below if fnmatchcase(one.rpartition("/")[2], check.text) and tree.exists(one)]
            if check.kind == "unnamed":
                return not named, []
            named.sort(key=lambda one: nearness(one, missed), reverse=True)
            return len(named) >= _SEVERAL, [SuggestedPlace(one, None, _WHY) for one in named[:MOST_PLACES]]
        case "text" | "script" if path:
            return check.text in (search.text(path) or ""), []
        case "no_text" if path:
            return check.text not in (search.text(path) or ""), []
    return None, []


_BETWEEN = frozenset("run exec -m x".split())  # between a program and what it runs


def rescue_command(
    event: Mapping[str, Any], found: Sequence[AcceptedLesson], names: TreeNames, search: Searcher
) -> Rescue | None:
    """The line of the one lesson about a command that failed; `found` has the lessons about commands."""
    from knowbound.lessons.invocations import misused_line, read_line  # noqa: PLC0415  # reads command lines
    from knowbound.lessons.rescue.misses.shell import output_of  # noqa: PLC0415

    given = event.get("tool_input")
    if not isinstance(given, dict) or event.get("is_interrupt"):
        return None
    misused = misused_line(output_of(event)[0])
    work = {one.text for one in read_line(first_text(given, COMMAND_KEYS), search.tree.root)}
    lessons = [
        one
        for one in found
        if misused and any(_is_called_so(name, text, misused) for name in one.names for text in work)
    ]
    lessons = [one for one in lessons if _holds(one, names, search)]
    return said(lessons[0]) if len(lessons) == 1 else None


def _is_called_so(name: str, text: str, misused: str) -> bool:
    """Report whether a command begins like the lesson's, or its program is the lesson's and was not found."""
    wrong = name.removeprefix(ABOUT_COMMANDS)
    if wrong == name:
        return False
    program = wrong.partition(" ")[0]
    is_gone = text.partition(" ")[0] == program and f"{program}: command not found" in misused
    return is_gone or _beginning(wrong) == _beginning(text)


def _beginning(command: str) -> list[str]:
    """The program, and the first word that says what it is to do."""
    program, *rest = command.split()
    between = next((at for at, word in enumerate(rest) if word not in _BETWEEN), len(rest))
    return [program, *rest[: between + 1]]


def _holds(lesson: AcceptedLesson, names: TreeNames, search: Searcher) -> bool:
    """Report whether no check fails; a lesson of another project needs all of its checks confirmed."""
    from knowbound.core.paths import project_name  # noqa: PLC0415

    results = [checked(check, names, search)[0] for check in lesson.checks]
    if lesson.project != project_name(search.tree.root) and (not results or None in results):
        return False
    return False not in results
