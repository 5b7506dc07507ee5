"""The review of a team for people and programs: what to do first in each project, and its figures."""

from __future__ import annotations

from collections.abc import Iterator

from knowbound.core.action import ActionKind
from knowbound.core.audit import Diagnosis
from knowbound.core.quality import Counts
from knowbound.report.formats.json import fields, json_text
from knowbound.report.formats.plain import printable
from knowbound.report.review.team_model import TeamProject, TeamReport
from knowbound.stats.printing import percent, percent_between
from knowbound.stats.rate import Rate
from knowbound.text.printable import counted, one_line

_OF_EACH = 3  # actions of a kind on the screen
_TITLE = 160


def _inside(name: str, keys: str) -> str:
    """Keys of a value that stands beside the number of its people."""
    return " ".join(f"{key}={name}.{key}" for key in keys.split()) + " people"


_TOPIC = _inside("topic", "id title sessions turns signals cost endings answer project")
_STATEMENT, _RULE = _inside("statement", "file text why"), _inside("rule", "file text obeyed violated partly")
_ITEM = "id=item.id " + _inside("item.counts", " ".join(Counts.__struct_fields__))
_KEYS = f"""project people watermark gap sessions turns tool_calls answers topics({_TOPIC}) statements({_STATEMENT})
    rules({_RULE}) items({_ITEM})"""


def render_team(report: TeamReport, format_: str) -> str:
    """Return the review as text or JSON."""
    if format_ == "json":
        projects = [fields(one, _KEYS) | {"answers": _rates(one)} for one in report.projects]
        return json_text({"format": "knowbound.team/1", "least_people": report.least, "projects": projects})
    return printable("\n".join(_lines(report)) + "\n")


def _rates(one: TeamProject) -> dict[str, object]:
    return {name: Rate(k, sum(one.answers.values())).to_json() for name, k in one.answers.items()}


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
