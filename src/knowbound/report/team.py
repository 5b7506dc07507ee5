"""Report of `review --team`: failed searches of a team, from the sums that people shared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Generic, TypeVar

import msgspec

from knowbound.core.audit import Diagnosis
from knowbound.core.lesson import ActionKind
from knowbound.core.quality import Counts
from knowbound.core.signal import Cost, Ending, FoundPlace, Status, Topic
from knowbound.report.formats.json import fields, json_text
from knowbound.report.formats.plain import printable
from knowbound.stats.figures import GapFigures, Watermark
from knowbound.stats.printing import percent, percent_between
from knowbound.stats.rate import Rate
from knowbound.text.printable import counted, one_line

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


_OF_EACH = 3  # actions of a kind on the screen
_TITLE = 160  # characters


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
    return printable("\n".join(_lines(report)) + "\n")


def _lines(report: TeamReport) -> Iterator[str]:
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
