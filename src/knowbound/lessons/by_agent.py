"""A lesson that an agent proposes through MCP: held to the same checks as any other, and only a person accepts it."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

from knowbound.config import Settings
from knowbound.core.lesson import CheckKind, Lesson, LessonEvidence, LessonKind, LessonStatus, TreeCheck, lesson_id
from knowbound.core.paths import project_name
from knowbound.errors import InputError
from knowbound.lessons.invocations import script_name
from knowbound.lessons.kept import BY_AGENT
from knowbound.lessons.proposing import LONGEST, clean_line, knowledge_file
from knowbound.lessons.tree import Tree
from knowbound.lessons.verifying import verify
from knowbound.store.lessons import KeptLessons
from knowbound.text.clock import utc_now

_MOST_WAITING = 100  # proposals of agents that nobody decided about


def propose(
    text: str, kind: str, settings: Settings, *, path: str = "", symbol: str = "", command: str = "", session: str = ""
) -> Lesson:
    """Check a proposal against the tree and keep it as new. What the tree contradicts is an error."""
    line = clean_line(text)
    if not line:
        raise InputError("lesson-unfit", f"A lesson is one line of at most {LONGEST} characters, without secrets.")
    if kind not in tuple(LessonKind):
        raise InputError("lesson-unfit", f"The kind of a lesson is one of {', '.join(LessonKind)}, not {kind[:40]!r}.")
    tree = Tree(Path(settings.root))
    checks = _checks(path, symbol, command)
    verdict = verify(checks, tree)
    if verdict.contradicted:
        raise InputError("lesson-contradicted", f"The tree does not confirm that {verdict.contradicted}.")
    project = project_name(str(settings.root))
    lesson = Lesson(
        id=lesson_id(project, LessonKind(kind), f"agent {line.casefold()}"),
        kind=LessonKind(kind),
        text=line,
        file=knowledge_file(path, tree, ()),
        project=project,
        sessions=1 if session else 0,
        evidence=[LessonEvidence(session, 0)] if session else [],
        checks=checks,
        verified=verdict.verified,
        unverified="" if checks else "an agent said so; it named nothing that the tree could show",
        by=BY_AGENT,
        made=utc_now(),
    )
    with closing(KeptLessons(settings.home)) as store:
        known = store.lessons(project)
        if (before := next((one for one in known if one.id == lesson.id), None)) is not None:
            return before
        if sum(one.by == BY_AGENT and one.status is LessonStatus.NEW for one in known) >= _MOST_WAITING:
            raise InputError("lesson-unfit", f"{_MOST_WAITING} proposals wait for a person already: knowbound learn")
        store.keep([lesson])
    return lesson


def _checks(path: str, symbol: str, command: str) -> list[TreeCheck]:
    checks = []
    if symbol:
        checks.append(TreeCheck(CheckKind.SYMBOL, path, symbol))
    elif path:
        checks.append(TreeCheck(CheckKind.FILE, path.strip("/")))
    if name := script_name(command):
        checks.append(TreeCheck(CheckKind.SCRIPT, text=name))
    return checks
