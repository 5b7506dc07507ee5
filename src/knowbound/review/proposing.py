"""Actions from what `lint` contradicts and what `learn` proposes, each with its cost in the sessions and its fix.

Statements that name the same wrong thing are one action with one repair of all. A line of `learn` about the same thing
is not proposed beside it: the wrong line is repaired, and the work that the line would have spared is its cost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from knowbound.config import Settings
from knowbound.core.action import Action, ActionCost, ActionKind, action_id
from knowbound.core.lesson import CheckKind, Lesson, LessonKind, LessonStatus, lesson_id
from knowbound.core.signal import WORTH, Example
from knowbound.core.statement import CheckedStatement, StatementKind, Truth
from knowbound.gaps.wanted import plain_name
from knowbound.knowledge.checking import cause_of, repaired
from knowbound.knowledge.lint import ITEM
from knowbound.lessons.applying import plan_files
from knowbound.lessons.kept import failed_commands, failed_lookups
from knowbound.lessons.learn import Learned
from knowbound.lessons.material import Corpus
from knowbound.patching import FilePatch, read_below
from knowbound.store.screens import Fix

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
    total = learned.report.totals.tool_calls if learned else 0
    lessons = [lesson for lesson in learned.lessons if corpus and lesson.project == corpus.project] if learned else []
    done = {name for one in decided if one.lesson is not None for name in one.lesson.names}
    found, taken = (
        list[Proposed](),
        {lesson.id for lesson in lessons if any(_is_below(name, done) for name in lesson.names)},
    )
    for group in _groups(checked):
        names = {name for one in group for name in _names(one)}
        same = [lesson for lesson in lessons if any(_is_below(name, names) for name in lesson.names)]
        taken |= {one.id for one in same}
        names |= {name for one in same for name in one.names}
        found.append(_repair(group, same, names, _cost(names, losses, total), settings))
    for lesson in lessons:
        if lesson.id not in taken and lesson.status in (LessonStatus.NEW, LessonStatus.ACCEPTED):
            found += _write(lesson, lessons, total, settings)
    return sorted(found, key=rank)


def rank(one: Proposed) -> tuple[float, int, str]:
    """Return the key that sorts actions: most worth first."""
    return (-one.worth, one.action.place.count("/"), one.action.title)


# Costs


def _losses(corpus: Corpus) -> Iterator[_Loss]:
    for miss in corpus.misses:
        signal = miss.signal
        calls, tokens = (max(1, signal.cost.calls), signal.cost.tokens) if signal.cost else (1, None)
        for one in failed_lookups([miss]):
            yield _Loss(one.names, Example(signal.session, signal.file, signal.line), calls, tokens)
    for material in corpus.materials:
        for one in failed_commands(material):
            yield _Loss(one.names, Example(material.session, material.file, one.line), 1, None)


class _Cost(NamedTuple):
    cost: ActionCost
    evidence: list[Example]


def _cost(names: set[str], losses: Sequence[_Loss], total: int) -> _Cost:
    """Return the work that was lost on any of the names."""
    own = [one for one in losses if not one.names.isdisjoint(names)]
    first = {one.example.session: one.example for one in reversed(own)}
    calls = sum(one.calls for one in own)
    tokens = [one.tokens for one in own if one.tokens is not None]
    share = calls / total if total else None
    cost = ActionCost(len(first), calls, sum(tokens) if tokens else None, share)
    return _Cost(cost, [first[session] for session in dict.fromkeys(one.example.session for one in own)][:_EXAMPLES])


# Repairs


def _groups(checked: Iterable[CheckedStatement]) -> list[list[CheckedStatement]]:
    """Return the contradicted statements with the same cause together; each item is on its own."""
    groups: dict[tuple[str, ...], list[CheckedStatement]] = {}
    for one in checked:
        if one.truth is Truth.CONTRADICTED:
            item = one.statement.file if one.statement.file.startswith(ITEM) else ""
            groups.setdefault((item, "") if item else cause_of(one), []).append(one)
    for key in [key for key in groups if key[0] in _PATHS]:
        if parent := _folder_group(key[1], groups):  # the folder is gone, and this with it
            groups[parent] += groups.pop(key)
    # The shortest path says it for all that went with it.
    return [sorted(group, key=lambda one: len(one.named)) for group in groups.values()]


def _folder_group(path: str, groups: Mapping[tuple[str, ...], object]) -> tuple[str, ...] | None:
    """Return the key of the group about the nearest folder above a path; None if there is none."""
    while path := path.rpartition("/")[0]:
        for kind in _PATHS:
            if (kind, path) in groups:
                return kind, path
    return None


def _names(one: CheckedStatement) -> set[str]:
    """Return the names by which a miss is known to be about what the statement names (`lessons.kept`)."""
    value = one.named.removeprefix("./").strip("/")
    match one.kind:
        case StatementKind.PATH | StatementKind.LINK | StatementKind.LAYOUT:
            folder = one.statement.file.rpartition("/")[0]
            values = {value, f"{folder}/{value}"} if folder and not one.statement.file.startswith(ITEM) else {value}
            return {f"{kind}:{each}" for kind in ("path", "folder") for each in values}
        case StatementKind.COMMAND:
            program, _, script = value.partition(" ")
            return {f"misused:{program} {script}", f"misused:{program} run {script}"}
        case StatementKind.SYMBOL:
            return {f"name:{plain_name(value)}"}
    return set()


def _is_below(name: str, names: set[str]) -> bool:
    """Report whether a name is one of these, or a path below one of these."""
    kind, _, path = name.partition(":")
    return name in names or (
        kind == "path" and any(path.startswith(f"{one[7:]}/") for one in names if one.startswith("folder:"))
    )


def _repair(
    group: list[CheckedStatement], lessons: list[Lesson], names: set[str], cost: _Cost, settings: Settings
) -> Proposed:
    """Return the repair of all statements that name one wrong thing."""
    first = group[0]
    if first.repair is None and (place := _place_of(lessons, first.named)):
        group = [repaired(replace(one, why=f"{one.why}; {place} is"), place) for one in group]
        first = group[0]
    repairable = [one for one in group if one.repair is not None]
    is_item = first.statement.file.startswith(ITEM)
    subject = first.statement.file if is_item else " ".join(cause_of(first))
    id_ = action_id(ActionKind.REPAIR, subject)
    where = first.statement.file if is_item else f"{first.statement.file}:{first.statement.line}"
    more = f" (and {len(group) - 1} more)" if len(group) > 1 else ""
    title = f"{where}{more}: {first.why}"
    patches = [] if is_item else patches_of(repairable, settings)
    watch = Lesson(
        id=lesson_id("", LessonKind.LOCATION, subject),
        kind=LessonKind.LOCATION,
        text=title,
        file=where,
        names=sorted(names),
    )
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
    return Proposed(action, fix, cost.cost.calls + 0.5 * cost.cost.sessions + _WRONG_LINE)


def _place_of(lessons: Iterable[Lesson], named: str) -> str:
    """Return where the named path is by lessons about files at it or below it; "" if they say nothing or differ."""
    wanted = named.removeprefix("./").strip("/")
    places = set[str]()
    for one in lessons:
        old = [name.removeprefix("path:") for name in one.names if name.startswith("path:")]
        new = [check.path for check in one.checks if check.kind is CheckKind.FILE]
        for before, after in ((before, after) for before in old for after in new):
            rest = before.removeprefix(wanted)
            if before.startswith(wanted) and after.endswith(rest) and (not rest or rest.startswith("/")):
                places.add(after.removesuffix(rest))
    return places.pop() if len(places) == 1 else ""


def patches_of(wrong: Iterable[CheckedStatement], settings: Settings) -> list[FilePatch]:
    """Return the changes of the very lines that are wrong, file by file."""
    by_file: dict[str, list[CheckedStatement]] = {}
    for one in wrong:
        by_file.setdefault(one.statement.file, []).append(one)
    patches = []
    for path, statements in by_file.items():
        before = read_below(settings.root, path)
        lines: list[bytes | None] = [*before.split(b"\n")]
        for one in statements:
            old, new = (words.encode() for words in one.swap or ("", ""))
            for at in range(one.statement.line - 1, min(one.statement.end_line, len(lines))):
                line = lines[at]
                lines[at] = line.replace(old, new) if line is not None and one.swap else None
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
    cost = ActionCost(
        lesson.sessions, lesson.cost.calls, lesson.cost.tokens, lesson.cost.calls / total if total else None
    )
    shown = f" The tree shows it: {lesson.verified.path}." if lesson.verified and lesson.verified.path else ""
    doubt = f" Not shown by the tree: {lesson.unverified}." if lesson.unverified else ""
    evidence = [Example(one.session, one.file, one.line) for one in lesson.evidence][:_EXAMPLES]
    action = Action(
        fix.id, ActionKind.WRITE, lesson.text, f"Missed in {lesson.sessions} sessions.{shown}{doubt}", cost, evidence,
        place=lesson.file, diff=diff_of(fix), by=lesson.by,
    )  # fmt: skip
    yield Proposed(action, fix, lesson.saves)


def line_fix(lesson: Lesson, lessons: Iterable[Lesson], settings: Settings) -> Fix:
    """Return what writes the line of a lesson, or takes out one that is stale; without a patch there is nothing to do.

    `lessons` are those of the project: the section of a file has the lines of all that are written.
    """
    others = [one for one in lessons if one.id != lesson.id and one.status is not LessonStatus.ACCEPTED]
    is_stale = lesson.status is LessonStatus.STALE
    own = lesson if is_stale else replace(lesson, status=LessonStatus.ACCEPTED)
    title = f"Take out: {lesson.text}" if is_stale else lesson.text
    return Fix(lesson.id, title, plan_files([own, *others], settings), lesson=lesson, is_written_line=not is_stale)
