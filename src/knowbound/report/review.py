"""The front door for people and programs: at most seven actions, one line of figures, one line about what was read."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from knowbound.core.action import Action, ActionCost, ActionKind
from knowbound.core.lesson import Lesson, LessonStatus
from knowbound.report.formats.json import json_text
from knowbound.report.formats.plain import printable
from knowbound.report.model import ReviewFigures
from knowbound.stats.printing import percent, percent_between
from knowbound.text.printable import counted, listed

MOST = 7
_NEWER = 0.02  # share of unknown lines or tools over which a client is newer than knowbound
_TITLE = 160


def render_review(
    project: str, actions: list[Action], figures: ReviewFigures, watched: list[Lesson], notes: list[str], format_: str
) -> str:
    """Return the screen as text or JSON."""
    if format_ == "json":
        return json_text(
            {
                "format": "knowbound.review/1",
                "actions": [_fields(one) for one in actions],
                "figures": msgspec.to_builtins(figures),
                "fixed": [_fixed_fields(one) for one in watched],
                "notes": notes,
            }
        )
    return printable("\n".join(_lines(project, actions, figures, watched, notes)) + "\n")


def _lines(
    project: str, actions: list[Action], figures: ReviewFigures, watched: list[Lesson], notes: list[str]
) -> Iterator[str]:
    yield f"knowbound  {project or 'every project'}"
    yield ""
    if not actions:
        yield "Nothing to do: no line that the tree contradicts, and no miss that a line would spare."
    for number, one in enumerate(actions[:MOST], 1):
        yield f"{number}. {one.kind:<10}{_cut(one.title)}"
        parts = [cost_words(one.cost, figures.sessions), f"in {one.place}" if one.kind == "write" else ""]
        yield f"   {'':<10}{' · '.join(filter(None, parts)) or 'no session met it yet'}"
        has_fix = one.diff or one.kind is ActionKind.VERIFY
        can = f"knowbound fix {one.id}" if has_fix else f"{one.id}: no repair by rules; correct it by hand"
        yield f"   {'':<10}{can}"
    if len(actions) > MOST:
        yield f"   {'':<10}{len(actions) - MOST} more: --format json"
    yield from (f"\nDone: {_cut(one.text)}\n   {'':<10}{after_words(one)}" for one in watched[:3])
    yield ""
    if figures.sessions:
        yield _figures_line(figures)
    yield _read_line(figures)
    yield from notes
    if any(share is not None and share > _NEWER for share in (figures.unknown_lines, figures.unknown_tools)):
        yield "This client is newer than knowbound: it has lines or tools that no reader knows."


def cost_words(cost: ActionCost, sessions: int) -> str:
    """Return the work that was lost, and its share of all work: `11 of 118 sessions, 50 calls, 1.2% of tool calls`."""
    if not cost.sessions:
        return ""
    parts = [f"{cost.sessions:,} of {counted(sessions, 'session')}"]
    parts += [counted(cost.calls, "call")] if cost.calls else []
    parts += [f"{percent(cost.share)} of tool calls"] if cost.share is not None else []
    return ", ".join(parts)


def after_words(lesson: Lesson) -> str:
    """Return the share of sessions that missed it before and after; "closed" only if the data show fewer."""
    if lesson.applied is None:
        return "no session since"
    before, after = lesson.applied.before, lesson.applied.after
    closed = "closed: " if lesson.status is LessonStatus.CLOSED else ""
    was = f"missed in {before.missed} of {before.sessions} sessions before"
    return f"{closed}{was}, {after.missed} of {after.sessions} since"


def _figures_line(figures: ReviewFigures) -> str:
    open_ = percent_between(figures.open, figures.open_upper)
    rates = f"Gap rate {percent(figures.gap_rate)} (weighted {percent(figures.weighted)}, open {open_})"
    samples = counted(figures.samples, "sample")
    set_ = f"Test set: {figures.test_set} · {samples} · sha256 {figures.sha256_8}"
    return f"{rates} · coverage {percent(figures.coverage)}\n{set_}\n{figures.warning}"


def _read_line(figures: ReviewFigures) -> str:
    agents = listed([f"{name} {number:,}" for name, number in figures.agents.items()], 4)
    parts = [f"{counted(figures.sessions, 'session')} read ({agents})"] if figures.sessions else []
    parts += [f"{counted(figures.unread_files, 'file')} not recognised"] if figures.unread_files else []
    parts += [f"{counted(len(figures.warnings), 'warning')}: knowbound observe"] if figures.warnings else []
    if figures.unknown_turns:
        parts.append(f"{figures.unknown_turns:,} of {counted(figures.turns, 'turn')} not judged")
    if figures.unknown_lines is not None and figures.unknown_tools is not None:
        parts.append(f"unknown: {percent(figures.unknown_lines)} of lines, {percent(figures.unknown_tools)} of calls")
    parts.append(f"{counted(figures.statements, 'statement')} looked at, {figures.contradicted:,} contradicted")
    return " · ".join(parts)


def _cut(text: str) -> str:
    return text if len(text) <= _TITLE else f"{text[:_TITLE]}…"


def _fields(one: Action) -> dict[str, object]:
    fields: dict[str, object] = msgspec.to_builtins(one)
    place, diff = fields.pop("place"), fields.pop("diff")
    return fields | {"fix": {"file": place, "diff": diff} if diff else None, "by": fields.pop("by")}


def _fixed_fields(one: Lesson) -> dict[str, object]:
    before, after = (one.applied.before, one.applied.after) if one.applied else (None, None)
    return {"text": one.text, "status": one.status, "before": before, "after": after}
