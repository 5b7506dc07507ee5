"""Actions from what `lint` contradicts and what `learn` proposes, each with its cost in the sessions and its fix.

Statements that name the same wrong thing are one action with one repair of all. A line of `learn` about the same thing
is not proposed beside it: the wrong line is repaired, and the work that the line would have spared is its cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from knowbound.config import Settings
from knowbound.core.lesson import (
    Action,
    ActionCost,
    ActionKind,
    CheckKind,
    Lesson,
    LessonKind,
    LessonStatus,
    action_id,
    lesson_id,
)
from knowbound.core.signal import WORTH, Example
from knowbound.core.statement import CheckedStatement, StatementKind, Truth
from knowbound.files import FilePatch, read_below
from knowbound.gaps.wanted import plain_name
from knowbound.knowledge.checking import cause_of, repaired
from knowbound.knowledge.lint import ITEM
from knowbound.lessons.applying import plan_files
from knowbound.lessons.kept import failed_commands, failed_lookups
from knowbound.lessons.learn import Learned
from knowbound.lessons.material import Corpus
from knowbound.store.decisions import Fix

_EXAMPLES = 5
_PATHS = (StatementKind.PATH, StatementKind.LAYOUT, StatementKind.LINK)
_WRONG_LINE = 3.0  # calls that a wrong line counts for beside what sessions show: every session may read it


class Proposed(NamedTuple):
    """An action, how to carry it out, and its rank."""

    action: Action
    fix: Fix | None
    worth: float


class _Loss(NamedTuple):
    """One lookup or command that a session lost."""

    names: frozenset[str]
    example: Example
    calls: int
    tokens: int | None


def proposed_actions(
    checked: Iterable[CheckedStatement], learned: Learned | None, settings: Settings, decided: Iterable[Fix] = ()
) -> list[Proposed]:
    """Return the actions, best first, without lines about what a person decided to repair, or not to."""
    corpus = learned.corpus if learned else None
    losses = list(_losses(corpus)) if corpus else []
    total_calls = learned.report.totals.tool_calls if learned else 0
    lessons = [lesson for lesson in learned.lessons if corpus and lesson.project == corpus.project] if learned else []
    decided_names = {name for fix in decided if fix.lesson is not None for name in fix.lesson.names}
    covered = {lesson.id for lesson in lessons if any(_is_covered(name, decided_names) for name in lesson.names)}
    found: list[Proposed] = []
    for group in _groups(checked):
        names = {name for statement in group for name in _names(statement)}
        related = [lesson for lesson in lessons if any(_is_covered(name, names) for name in lesson.names)]
        covered |= {lesson.id for lesson in related}
        names |= {name for lesson in related for name in lesson.names}
        found.append(_repair(group, related, names, _cost(names, losses, total_calls), settings))
    for lesson in lessons:
        if lesson.id not in covered and lesson.status in (LessonStatus.NEW, LessonStatus.ACCEPTED):
            found += _write(lesson, lessons, total_calls, settings)
    return sorted(found, key=rank)


def rank(proposed: Proposed) -> tuple[float, int, str]:
    """Return the key that sorts actions: most worth first."""
    return (-proposed.worth, proposed.action.place.count("/"), proposed.action.title)


# Costs


def _losses(corpus: Corpus) -> Iterator[_Loss]:
    """Yield every missed lookup and wrong call of the sessions."""
    for miss in corpus.misses:
        signal = miss.signal
        calls, tokens = (max(1, signal.cost.calls), signal.cost.tokens) if signal.cost else (1, None)
        for occurrence in failed_lookups([miss]):
            yield _Loss(occurrence.names, Example(signal.session, signal.file, signal.line), calls, tokens)
    for material in corpus.materials:
        for occurrence in failed_commands(material):
            yield _Loss(occurrence.names, Example(material.session, material.file, occurrence.line), 1, None)


class _Cost(NamedTuple):
    cost: ActionCost
    evidence: list[Example]


def _cost(names: set[str], losses: Sequence[_Loss], total: int) -> _Cost:
    """Return the work that was lost on any of the names."""
    lost = [loss for loss in losses if not loss.names.isdisjoint(names)]
    first = {loss.example.session: loss.example for loss in reversed(lost)}  # of each session its first loss
    calls = sum(loss.calls for loss in lost)
    tokens = [loss.tokens for loss in lost if loss.tokens is not None]
    share = calls / total if total else None
    cost = ActionCost(sessions=len(first), calls=calls, tokens=sum(tokens) if tokens else None, share=share)
    sessions = dict.fromkeys(loss.example.session for loss in lost)
    return _Cost(cost, [first[session] for session in sessions][:_EXAMPLES])


# Repairs


def _groups(checked: Iterable[CheckedStatement]) -> list[list[CheckedStatement]]:
    """Return the contradicted statements with the same cause together; each item is on its own."""
    groups: dict[tuple[str, ...], list[CheckedStatement]] = {}
    for statement in checked:
        if statement.truth is Truth.CONTRADICTED:
            item = statement.statement.file if statement.statement.file.startswith(ITEM) else ""
            groups.setdefault((item, "") if item else cause_of(statement), []).append(statement)
    for key in [key for key in groups if key[0] in _PATHS]:
        if parent := _folder_group(key[1], groups):  # the folder is gone, and this with it
            groups[parent] += groups.pop(key)
    # The shortest path says it for all that went with it.
    return [sorted(group, key=lambda statement: len(statement.named)) for group in groups.values()]


def _folder_group(path: str, groups: Mapping[tuple[str, ...], object]) -> tuple[str, ...] | None:
    """Return the key of the group about the nearest folder above a path; None if there is none."""
    while path := path.rpartition("/")[0]:
        for kind in _PATHS:
            if (kind, path) in groups:
                return kind, path
    return None


def _names(wrong: CheckedStatement) -> set[str]:
    """Return the names by which a miss is known to be about what the statement names (`lessons.kept`)."""
    value = wrong.named.removeprefix("./").strip("/")
    match wrong.kind:
        case StatementKind.PATH | StatementKind.LINK | StatementKind.LAYOUT:
            folder = wrong.statement.file.rpartition("/")[0]
            values = {value, f"{folder}/{value}"} if folder and not wrong.statement.file.startswith(ITEM) else {value}
            return {f"{kind}:{each}" for kind in ("path", "folder") for each in values}
        case StatementKind.COMMAND:
            program, _, script = value.partition(" ")
            return {f"misused:{program} {script}", f"misused:{program} run {script}"}
        case StatementKind.SYMBOL:
            return {f"name:{plain_name(value)}"}
    return set()


def _is_covered(name: str, names: set[str]) -> bool:
    """Report whether a name is one of these, or a path below one of these."""
    kind, _, path = name.partition(":")
    folders = [other.removeprefix("folder:") for other in names if other.startswith("folder:")]
    return name in names or (kind == "path" and any(path.startswith(f"{folder}/") for folder in folders))


def _repair(
    group: list[CheckedStatement], lessons: list[Lesson], names: set[str], cost: _Cost, settings: Settings
) -> Proposed:
    """Return the repair of all statements that name one wrong thing."""
    first = group[0]
    if first.repair is None and (place := _moved_to(lessons, first.named)):
        group = [repaired(replace(statement, why=f"{statement.why}; {place} is"), place) for statement in group]
        first = group[0]
    repairable = [statement for statement in group if statement.repair is not None]
    is_item = first.statement.file.startswith(ITEM)
    subject = first.statement.file if is_item else " ".join(cause_of(first))
    id_ = action_id(ActionKind.REPAIR, subject)
    where = first.statement.file if is_item else f"{first.statement.file}:{first.statement.line}"
    others = f" (and {len(group) - 1} more)" if len(group) > 1 else ""
    title = f"{where}{others}: {first.why}"
    patches = [] if is_item else patches_of(repairable, settings)
    watch_id = lesson_id("", LessonKind.LOCATION, subject)
    # Never written: by its names later sessions show whether the repair helped.
    watch = Lesson(id=watch_id, kind=LessonKind.LOCATION, text=title, file=where, names=sorted(names))
    fix: Fix | None = None
    if is_item and first.repair:
        fix = Fix(id_, title, item=first.statement.file.removeprefix(ITEM), content=first.repair, lesson=watch)
    elif patches:
        fix = Fix(id_, title, patches, lesson=watch)
    since = f"The tree contradicts it since {first.since}." if first.since else "The tree contradicts it."
    said = first.statement.text.removeprefix("- ")
    action = Action(
        id_, ActionKind.REPAIR, title, f"{since} It says: {said}", cost.cost, cost.evidence,
        place=first.statement.file, diff=diff_of(fix), by=first.by,
    )  # fmt: skip
    return Proposed(action, fix, cost.cost.calls + 0.5 * cost.cost.sessions + _WRONG_LINE)  # in calls


def _moved_to(lessons: Iterable[Lesson], named: str) -> str:
    """Return where lessons say that the named path lies now; "" if they say nothing or differ.

    A lesson that `lib/a.py` is `src/lib/a.py` shows that `lib` is `src/lib`.
    """
    wanted = named.removeprefix("./").strip("/")
    places = set[str]()
    for lesson in lessons:
        missed_paths = [name.removeprefix("path:") for name in lesson.names if name.startswith("path:")]
        known_paths = [check.path for check in lesson.checks if check.kind is CheckKind.FILE]
        for before, after in ((before, after) for before in missed_paths for after in known_paths):
            rest = before.removeprefix(wanted)
            if before.startswith(wanted) and after.endswith(rest) and (not rest or rest.startswith("/")):
                places.add(after.removesuffix(rest))
    return places.pop() if len(places) == 1 else ""


def patches_of(wrong: Iterable[CheckedStatement], settings: Settings) -> list[FilePatch]:
    """Return the changes of the very lines that are wrong, file by file."""
    by_file: dict[str, list[CheckedStatement]] = {}
    for statement in wrong:
        by_file.setdefault(statement.statement.file, []).append(statement)
    patches = []
    for path, statements in by_file.items():
        before = read_below(settings.root, path)
        lines: list[bytes | None] = [*before.split(b"\n")]  # None: taken out
        for statement in statements:
            old, new = (words.encode() for words in statement.swap or ("", ""))
            for number in range(statement.statement.line - 1, min(statement.statement.end_line, len(lines))):
                line = lines[number]
                lines[number] = line.replace(old, new) if line is not None and statement.swap else None
        if (after := b"\n".join(line for line in lines if line is not None)) != before:
            patches.append(FilePatch(path, before, after))
    return patches


def diff_of(fix: Fix | None) -> str:
    """Return the change of a fix as a diff; "" if there is none."""
    if fix is None:
        return ""
    return "".join(patch.diff() for patch in fix.patches) or f"+{fix.content}\n"


# Lines to write


def _write(lesson: Lesson, lessons: Sequence[Lesson], total: int, settings: Settings) -> Iterator[Proposed]:
    """Yield the action that writes a line, if the line would save enough and is not there."""
    if lesson.saves < WORTH:
        return
    fix = line_fix(lesson, lessons, settings)
    if not fix.patches:
        return
    share = lesson.cost.calls / total if total else None
    cost = ActionCost(sessions=lesson.sessions, calls=lesson.cost.calls, tokens=lesson.cost.tokens, share=share)
    shown = f" The tree shows it: {lesson.verified.path}." if lesson.verified and lesson.verified.path else ""
    doubt = f" Not shown by the tree: {lesson.unverified}." if lesson.unverified else ""
    evidence = [Example(evidence.session, evidence.file, evidence.line) for evidence in lesson.evidence][:_EXAMPLES]
    action = Action(
        fix.id, ActionKind.WRITE, lesson.text, f"Missed in {lesson.sessions} sessions.{shown}{doubt}", cost, evidence,
        place=lesson.file, diff=diff_of(fix), by=lesson.by,
    )  # fmt: skip
    yield Proposed(action, fix, lesson.saves)


def line_fix(lesson: Lesson, lessons: Iterable[Lesson], settings: Settings) -> Fix:
    """Return what writes the line of a lesson, or takes out one that is stale; without a patch there is nothing to do.

    `lessons` are those of the project: the section of a file has the lines of all that are written.
    """
    # Another accepted line would be written with it.
    others = [other for other in lessons if other.id != lesson.id and other.status is not LessonStatus.ACCEPTED]
    is_stale = lesson.status is LessonStatus.STALE
    own = lesson if is_stale else replace(lesson, status=LessonStatus.ACCEPTED)
    title = f"Take out: {lesson.text}" if is_stale else lesson.text
    return Fix(lesson.id, title, plan_files([own, *others], settings), lesson=lesson, is_written_line=not is_stale)
