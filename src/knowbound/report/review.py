"""The front door as a page: actions, best first, and one line of figures."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from knowbound.core.lesson import Action, ActionCost, ActionKind, Lesson, LessonStatus
from knowbound.language import say, translated
from knowbound.report.formats.json import fields, json_text
from knowbound.report.formats.plain import pad, printable
from knowbound.report.model import ReviewFigures
from knowbound.report.words import not_read_words, rates_line, sessions_words, unknown_shares, warning_lines
from knowbound.stats.printing import percent, percent_between
from knowbound.text.printable import counted, listed

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
    yield f"knowbound  {project or translated('every project')}"
    yield ""
    if not actions:
        yield translated("Nothing to do: no line that the tree contradicts, and no miss that a line would spare.")
    for number, action in enumerate(actions[:MOST], 1):
        yield f"{number}. {pad(translated(action.kind), 10)}{_cut(action.title)}"
        place = say("in {}", action.place) if action.kind == "write" else ""
        parts = [cost_words(action.cost, figures.sessions), place]
        yield f"   {'':<10}{' · '.join(filter(None, parts)) or translated('no session met it yet')}"
        has_fix = action.diff or action.kind is ActionKind.VERIFY
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
