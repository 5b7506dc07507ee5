"""The review of a team for people and programs: what to do first in each project, and its figures."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from knowbound.core.action import ActionKind
from knowbound.core.audit import Diagnosis
from knowbound.report.formats.json import as_json, gap_fields, json_text
from knowbound.report.formats.plain import printable
from knowbound.report.team.model import TeamProject, TeamReport
from knowbound.stats.printing import percent, percent_between
from knowbound.stats.rate import Rate
from knowbound.text.printable import counted, one_line

_OF_EACH = 3  # actions of a kind on the screen
_TITLE = 160


def render_team(report: TeamReport, format_: str) -> str:
    """Return the review as text or JSON."""
    if format_ == "json":
        projects = [_fields(one) for one in report.projects]
        return json_text({"format": "knowbound.team/1", "least_people": report.least, "projects": projects})
    return printable("\n".join(_lines(report)) + "\n")


def _fields(one: TeamProject) -> dict[str, object]:
    fields: dict[str, object] = msgspec.to_builtins(one)
    return fields | {
        "gap": gap_fields(one.gap),
        "answers": {name: Rate(k, sum(one.answers.values())).to_json() for name, k in one.answers.items()},
        "topics": [{**_topic_fields(each.topic), "people": each.people} for each in one.topics],
        "statements": [{**msgspec.to_builtins(each.statement), "people": each.people} for each in one.statements],
        "rules": [{**msgspec.to_builtins(each.rule), "people": each.people} for each in one.rules],
        "items": [
            {"id": each.item.id, **msgspec.structs.asdict(each.item.counts), "people": each.people}
            for each in one.items
        ],
    }


def _topic_fields(topic: object) -> dict[str, object]:
    fields = as_json(topic)
    assert isinstance(fields, dict)
    of_a_session = ("said", "examples", "correction", "last", "proposed")
    return {name: value for name, value in fields.items() if name not in of_a_session}


def _lines(report: TeamReport) -> Iterator[str]:
    if not report.projects:
        yield f"No project has sessions of {report.least} people or more."
    for one in report.projects:
        yield f"knowbound  {one.project or 'no project'} · {one.people} people"
        yield ""
        actions = list(_actions(one))
        for kind, title, why in actions:
            yield f"{kind:<10}{one_line(title, _TITLE)}"
            yield f"{'':<10}{why}"
        if not actions:
            yield f"Nothing that {report.least} people or more have in common."
        yield ""
        gap = one.gap
        open_ = percent_between(gap.open.value, gap.open_upper.value)
        yield f"Gap rate {gap.rate} (weighted {percent(gap.weighted.value)}, open {open_})"
        yield str(one.watermark)
        yield f"{counted(one.sessions, 'session')}, {counted(one.tool_calls, 'tool call')}{_answers(one)}"
        yield ""
    yield f"What fewer than {report.least} people have is left out and not counted. All of it: --format json"


def _actions(one: TeamProject) -> Iterator[tuple[str, str, str]]:
    of_all = f"of {one.people} people"
    for each in one.statements[:_OF_EACH]:
        line = each.statement
        why = f"{line.why} · " if line.why else ""
        yield ActionKind.REPAIR, f"{line.file}: {line.text}", f"{why}{each.people} {of_all}"
    for found in one.topics[:_OF_EACH]:
        topic = found.topic
        place = f"found in {topic.answer[0].path} · " if topic.answer else ""
        cost = f"{topic.sessions:,} of {counted(one.sessions, 'session')}, {counted(topic.cost.calls, 'call')}"
        yield ActionKind.WRITE, topic.title, f"{place}{found.people} {of_all}, {cost}"
    for broken in [each for each in one.rules if each.rule.violated + each.rule.partly][:_OF_EACH]:
        rule = broken.rule
        counts = f"violated in {rule.violated:,}, partly in {rule.partly:,}, obeyed in {rule.obeyed:,} sessions"
        yield ActionKind.ENFORCE, f"{rule.file}: {rule.text}", f"{counts} · {broken.people} {of_all}"
    for wrong in [each for each in one.items if each.item.counts.contradicted][:_OF_EACH]:
        item = wrong.item
        rate = f"contradicted in {item.counts.contradicted:,} of {counted(item.counts.judged, 'injection')}"
        yield ActionKind.SUPERSEDE, f"item {item.id}", f"{rate} · {wrong.people} {of_all}"


def _answers(one: TeamProject) -> str:
    turns = sum(one.answers.values())
    bad = one.answers.get(Diagnosis.UNSUPPORTED, 0)
    return f"; {bad:,} of {counted(turns, 'audited turn')} unsupported" if turns else ""
