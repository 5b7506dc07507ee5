"""The front door as a page: actions, best first, and one line of figures; of one user (`review`) or of a team.

A team sees sums that people shared (`review --team`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Generic, TypeVar

import msgspec

from knowbound.core.audit import Diagnosis
from knowbound.core.lesson import Action, ActionCost, ActionKind, Lesson, LessonStatus
from knowbound.core.quality import Counts
from knowbound.core.signal import Cost, Ending, FoundPlace, Status, Topic
from knowbound.language import say, translated
from knowbound.report.formats.json import fields, json_text
from knowbound.report.formats.plain import pad, printable
from knowbound.report.model import ReviewFigures
from knowbound.report.words import not_read_words, rates_line, sessions_words, unknown_shares, warning_lines
from knowbound.stats.figures import GapFigures, Watermark
from knowbound.stats.printing import percent, percent_between
from knowbound.stats.rate import Rate
from knowbound.text.printable import counted, listed, one_line

MOST = 7
_NEWER = 0.02  # share of unknown lines or tools over which a client is newer than knowbound
_TITLE = 160  # characters


def render_review(
    project: str, actions: list[Action], figures: ReviewFigures, watched: list[Lesson], notes: list[str], format_: str
) -> str:
    """Return the screen as text or JSON."""
    if format_ == "json":
        return json_text(
            {
                "format": "knowbound.review/1",
                "actions": [_fields(action) for action in actions],
                "figures": msgspec.to_builtins(figures),
                "fixed": [
                    fields(lesson, "text status before=applied.before after=applied.after") for lesson in watched
                ],
                "notes": notes,
            }
        )
    return printable("\n".join(_lines(project, actions, figures, watched, notes)) + "\n")


def _lines(
    project: str, actions: list[Action], figures: ReviewFigures, watched: list[Lesson], notes: list[str]
) -> Iterator[str]:
    """Yield the screen: the actions, what came of earlier ones, and the line of figures."""
    yield f"knowbound  {project or translated('every project')}"
    yield ""
    if not actions:
        yield translated("Nothing to do: no line that the tree contradicts, and no miss that a line would spare.")
    for number, action in enumerate(actions[:MOST], 1):
        yield f"{number}. {pad(translated(action.kind), 10)}{_cut(action.title)}"
        place = say("in {}", action.place) if action.kind == "write" else ""
        parts = [cost_words(action.cost, figures.sessions), place]
        yield f"   {'':<10}{' · '.join(filter(None, parts)) or translated('no session met it yet')}"
        has_fix = action.diff or action.kind is ActionKind.VERIFY  # to verify: a turn is shown
        can = f"knowbound fix {action.id}" if has_fix else say("{}: no repair by rules; correct it by hand", action.id)
        yield f"   {'':<10}{can}"
    if len(actions) > MOST:
        yield f"   {'':<10}{say('{} more: --format json', len(actions) - MOST)}"
    for lesson in watched[:3]:
        yield f"\n{say('Done: {}', _cut(lesson.text))}\n   {'':<10}{after_words(lesson)}"
    yield ""
    if figures.sessions:
        yield _figures_line(figures)
    yield _read_line(figures)
    yield translated("Behind it: knowbound lint, learn, rules, audit, observe; while agents work: knowbound install")
    yield from notes
    if any(share is not None and share > _NEWER for share in (figures.unknown_lines, figures.unknown_tools)):
        yield translated("This client is newer than knowbound: it has lines or tools that no reader knows.")


def cost_words(cost: ActionCost, sessions: int) -> str:
    """Return the work that was lost, and its share of all work: `11 of 118 sessions, 50 calls, 1.2% of tool calls`."""
    if not cost.sessions:
        return ""
    parts = [say("{:,} of {}", cost.sessions, counted(sessions, "session"))]
    parts += [counted(cost.calls, "call")] if cost.calls else []
    parts += [say("{} of tool calls", percent(cost.share))] if cost.share is not None else []
    return ", ".join(parts)


def after_words(lesson: Lesson) -> str:
    """Return the share of sessions that missed it before and after; "closed" only if the data show fewer."""
    if lesson.applied is None:
        return translated("no session since")
    before, after = lesson.applied.before, lesson.applied.after
    closed = translated("closed: ") if lesson.status is LessonStatus.CLOSED else ""
    if not after.sessions:
        return say("missed in {} of {} sessions before; there was no session since", before.missed, before.sessions)
    counts = (before.missed, before.sessions, after.missed, after.sessions)
    return closed + say("missed in {} of {} sessions before, {} of {} since", *counts)


def _figures_line(figures: ReviewFigures) -> str:
    open_ = percent_between(figures.open, figures.open_upper)
    rates = rates_line(figures.gap_rate, figures.weighted, open_)
    samples = counted(figures.samples, "sample")
    set_ = say("Test set: {} · {} · sha256 {}", figures.test_set, samples, figures.sha256_8)
    return "\n".join((say("{} · coverage {}", rates, percent(figures.coverage)), set_, *warning_lines(figures.warning)))


def _read_line(figures: ReviewFigures) -> str:
    """Say what was read, and what of it was not recognised, not judged or contradicted."""
    agents = listed([f"{name} {number:,}" for name, number in figures.agents.items()], 4)
    parts = [say("{} read ({})", sessions_words(figures.reading, figures.sessions), agents)] if figures.sessions else []
    parts += [not_read] if (not_read := not_read_words(figures.reading)) else []
    parts += [say("{} not recognised", counted(figures.unread_files, "file"))] if figures.unread_files else []
    parts += [say("{}: knowbound observe", counted(len(figures.warnings), "warning"))] if figures.warnings else []
    if figures.unknown_turns:
        parts.append(say("{:,} of {} not judged", figures.unknown_turns, counted(figures.turns, "turn")))
    if unknown := unknown_shares(figures.unknown_lines, figures.unknown_tools):
        parts.append(unknown)
    parts.append(say("{} looked at, {:,} contradicted", counted(figures.statements, "statement"), figures.contradicted))
    return " · ".join(parts)


def _cut(text: str) -> str:
    return text if len(text) <= _TITLE else f"{text[:_TITLE]}…"


def _fields(action: Action) -> dict[str, object]:
    values: dict[str, object] = msgspec.to_builtins(action)
    place, diff = values.pop("place"), values.pop("diff")
    return values | {"fix": {"file": place, "diff": diff} if diff else None, "by": values.pop("by")}


FORMAT = "knowbound.share/1"
LEAST_PEOPLE = 3  # that a project, topic, statement, rule or item needs before a team sees it

_Value = TypeVar("_Value")
Count = Annotated[int, msgspec.Meta(ge=0, le=10**12)]
Name = Annotated[str, msgspec.Meta(max_length=400)]


class SharedMiss(msgspec.Struct, frozen=True, omit_defaults=True):
    """A failed search: the thing that was looked for, and how that ended. Sessions have numbers of the file's own."""

    session: Count
    turn: Count
    name: Name
    query: Name
    path: Name = ""  # searched path
    missing: bool = False  # the searched path itself is not there
    status: Status = Status.OPEN
    ending: Ending | None = None
    found_at: FoundPlace | None = None
    cost: Cost | None = None


class SharedStatement(msgspec.Struct, frozen=True):
    """A line of a knowledge file that the tree contradicts."""

    file: Name
    text: Name
    why: Name = ""


class SharedRule(msgspec.Struct, frozen=True):
    """A rule of a knowledge file, and the sessions that obeyed it or did not."""

    file: Name
    text: Name
    obeyed: Count = 0
    violated: Count = 0
    partly: Count = 0


class SharedItem(msgspec.Struct, frozen=True):
    """An item of the store, and the verdicts on its injections."""

    id: Name
    counts: Counts


class SharedProject(msgspec.Struct, frozen=True):
    """One project on one machine."""

    project: Name
    gap: GapFigures
    sessions: Count = 0
    turns: Count = 0
    tool_calls: Count = 0
    answers: dict[str, Count] = {}  # diagnosis → audited turns
    misses: list[SharedMiss] = []
    statements: list[SharedStatement] = []
    rules: list[SharedRule] = []
    items: list[SharedItem] = []


class SharedFile(msgspec.Struct, frozen=True):
    """Everything that a machine shares."""

    format: str
    machine: Name  # a code that only this user's key makes, equal in every file of the machine
    made: Name  # UTC
    version: Name
    projects: list[SharedProject]


class OfPeople(msgspec.Struct, Generic[_Value], frozen=True):
    """A topic, a contradicted line, a rule or an item that three people or more have."""

    value: _Value
    people: int


class TeamProject(msgspec.Struct, frozen=True):
    """One project over three people or more."""

    project: str
    people: int
    watermark: Watermark
    gap: GapFigures
    sessions: int
    turns: int
    tool_calls: int
    answers: dict[str, int]
    topics: list[OfPeople[Topic]]
    statements: list[OfPeople[SharedStatement]]
    rules: list[OfPeople[SharedRule]]
    items: list[OfPeople[SharedItem]]


class TeamReport(msgspec.Struct, frozen=True):
    """The projects that three people or more share. What fewer have is not in it, not even as a number."""

    projects: list[TeamProject]
    least: int = LEAST_PEOPLE


_OF_EACH = 3  # actions of a kind on the screen of a team


def _inside(keys: str, name: str = "value") -> str:
    """Return the keys of a value that is printed beside its number of people."""
    return " ".join(f"{key}={name}.{key}" for key in keys.split()) + " people"


_TOPIC = _inside("id title sessions turns signals cost endings answer project")
_STATEMENT, _RULE = _inside("file text why"), _inside("file text obeyed violated partly")
_ITEM = "id=value.id " + _inside(" ".join(Counts.__struct_fields__), "value.counts")
_KEYS = f"""project people watermark gap sessions turns tool_calls answers topics({_TOPIC}) statements({_STATEMENT})
    rules({_RULE}) items({_ITEM})"""


def render_team(report: TeamReport, format_: str) -> str:
    """Return the review as text or JSON."""
    if format_ == "json":
        projects = []
        for project in report.projects:
            turns = sum(project.answers.values())
            rates = {name: Rate(k, turns).to_json() for name, k in project.answers.items()}
            projects.append(fields(project, _KEYS) | {"answers": rates})
        return json_text({"format": "knowbound.team/1", "least_people": report.least, "projects": projects})
    return printable("\n".join(_team_lines(report)) + "\n")


def _team_lines(report: TeamReport) -> Iterator[str]:
    """Yield each project of a team: what to do, then its figures and its watermark."""
    if not report.projects:
        yield f"No project has sessions of {report.least} people or more."
    for project in report.projects:
        yield f"knowbound  {project.project or 'no project'} · {project.people} people"
        yield ""
        actions = list(_actions(project))
        for kind, title, why in actions:
            yield f"{kind:<10}{one_line(title, _TITLE)}"
            yield f"{'':<10}{why}"
        if not actions:
            yield f"Nothing that {report.least} people or more have in common."
        yield ""
        gap = project.gap
        open_ = percent_between(gap.open.value, gap.open_upper.value)
        yield f"Gap rate {gap.rate} (weighted {percent(gap.weighted.value)}, open {open_})"
        yield str(project.watermark)
        turns, bad = sum(project.answers.values()), project.answers.get(Diagnosis.UNSUPPORTED, 0)
        answers = f"; {bad:,} of {counted(turns, 'audited turn')} unsupported" if turns else ""
        yield f"{counted(project.sessions, 'session')}, {counted(project.tool_calls, 'tool call')}{answers}"
        yield ""
    yield f"What fewer than {report.least} people have is left out and not counted. All of it: --format json"


def _actions(project: TeamProject) -> Iterator[tuple[str, str, str]]:
    """Yield kind, title and reason of the first actions of each kind."""
    of_all = f"of {project.people} people"
    for each in project.statements[:_OF_EACH]:
        line = each.value
        why = f"{line.why} · " if line.why else ""
        yield ActionKind.REPAIR, f"{line.file}: {line.text}", f"{why}{each.people} {of_all}"
    for found in project.topics[:_OF_EACH]:
        topic = found.value
        place = f"found in {topic.answer[0].path} · " if topic.answer else ""
        cost = f"{topic.sessions:,} of {counted(project.sessions, 'session')}, {counted(topic.cost.calls, 'call')}"
        yield ActionKind.WRITE, topic.title, f"{place}{found.people} {of_all}, {cost}"
    for broken in [each for each in project.rules if each.value.violated + each.value.partly][:_OF_EACH]:
        rule = broken.value
        counts = f"violated in {rule.violated:,}, partly in {rule.partly:,}, obeyed in {rule.obeyed:,} sessions"
        yield ActionKind.ENFORCE, f"{rule.file}: {rule.text}", f"{counts} · {broken.people} {of_all}"
    for wrong in [each for each in project.items if each.value.counts.contradicted][:_OF_EACH]:
        item = wrong.value
        rate = f"contradicted in {item.counts.contradicted:,} of {counted(item.counts.judged, 'injection')}"
        yield ActionKind.SUPERSEDE, f"item {item.id}", f"{rate} · {wrong.people} {of_all}"
