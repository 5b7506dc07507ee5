"""Answers a command that failed by a lesson that a person accepted about how it is called here."""

from __future__ import annotations

from knowbound.lessons.invocations import misused_line, read_line
from knowbound.lessons.rescue.learned import checked, said
from knowbound.lessons.rescue.misses.shell import output_of
from knowbound.store.accepted_lessons import ABOUT_COMMANDS
from knowbound.traces.tools import COMMAND_KEYS, first_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from knowbound.lessons.rescue.names import TreeNames
    from knowbound.lessons.rescue.search import Searcher
    from knowbound.lessons.rescue.words import Rescue
    from knowbound.store.accepted_lessons import AcceptedLesson

_BETWEEN = frozenset("run exec -m x".split())  # between a program and what it runs


def rescue_command(
    event: Mapping[str, Any], found: Sequence[AcceptedLesson], names: TreeNames, search: Searcher
) -> Rescue | None:
    """The line of the one lesson about a command that failed; `found` has the lessons about commands."""
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
    """Whether a command begins as the one that a lesson has, or with its program, and that is what was not found."""
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
    """Whether nothing in the tree speaks against it; of another project's lesson, whether all of it is confirmed."""
    from knowbound.core.paths import project_name  # noqa: PLC0415

    results = [checked(check, names, search)[0] for check in lesson.checks]
    if lesson.project != project_name(search.tree.root) and (not results or None in results):
        return False
    return False not in results
