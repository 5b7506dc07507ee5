"""Where the rollout of measured ranking is, and what is missing: in any format (specification 2, sections 6 and 7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Unpack

from knowbound.report import Layout, ShortFormat
from knowbound.report.formats import render
from knowbound.report.formats.json import as_json, document, fields
from knowbound.report.sections import (
    Line,
    Note,
    Page,
    Section,
    Span,
    Table,
    Tone,
    data,
    joined,
    listing,
    section,
    table,
)
from knowbound.stats.printing import percent, points
from knowbound.stats.rollout import (
    CriterionName,
    CriterionState,
    EventKind,
    FailureMode,
    Leg,
    Monitor,
    RolloutCriterion,
    RolloutEvent,
    RolloutStatus,
)
from knowbound.text.printable import counted

ADVANCE, REVERT = "knowbound quality rollout --advance", "knowbound quality rollout --revert"
_TONES = {
    CriterionState.MET: Tone.GOOD,
    CriterionState.NOT_YET: Tone.UNSURE,
    CriterionState.TRIPPED: Tone.BAD,
    CriterionState.UNKNOWN: Tone.SOFT,
}
_CRITERIA: dict[CriterionName, tuple[str, str]] = {  # what it asks for, and which number
    CriterionName.LEG_BEFORE: ("the leg before can be left", ""),
    CriterionName.REPLAY: ("a replay of its ranking is no worse", ""),
    CriterionName.DAYS: ("days with turns", "{limit:g}"),
    CriterionName.CLEAN: ("turns without a verdict", "< {percent}"),
    CriterionName.JUDGE: ("the judge passed its gate", "≥ {percent}"),
    CriterionName.ON_TOPIC_RISE: ("on topic rose, or meets its target", "{points} points"),
    CriterionName.USAGE_RISE: ("used rose", "{points} points"),
    CriterionName.CONTRADICTION: ("contradicted is no worse", "no rise that is certain"),
    CriterionName.ON_TOPIC_TARGET: ("on topic meets its target", "≥ {percent}"),
    CriterionName.DISCOVERY_TARGET: ("contradicted items are corrected", "≥ {percent}"),
    CriterionName.STOP_HOOK: ("the stop hook is quick", "≤ {limit:g} ms"),
    CriterionName.AGREEMENT: ("the judge agrees with labels", "≥ {percent}"),
    CriterionName.ON_TOPIC_DROP: ("on topic did not drop", "no loss that is certain"),
    CriterionName.RANKING_COST: ("searching and ranking is quick", "≤ {limit:g} ms on most days"),
    CriterionName.FALSE_DEMOTIONS: ("demotions stay", "≤ {percent}"),
    CriterionName.REGRESSION: ("no metric is worse", "no loss that is certain"),
    CriterionName.DRIFT: ("the judge has not drifted", "≥ {percent}"),
}
_MODES: dict[FailureMode, tuple[str, str, str]] = {  # what it is, its number, and the answer to it
    FailureMode.SLOW_STOP_HOOK: (
        "stop hook",
        "p95 {value:,.0f} of {limit:g} ms",
        "run knowbound doctor: scoring belongs into the worker",
    ),
    FailureMode.JUDGE_DRIFT: (
        "judge drift",
        "{metrics}",
        "knowbound judge calibrate --question turns: it counts as a new judge",
    ),
    FailureMode.FALSE_DEMOTIONS: (
        "demotions reversed",
        "{percent} of {n:,} (limit {most})",
        "raise quality.alpha (α), lower quality.beta (β)",
    ),
    FailureMode.LONG_CHAINS: ("longest supersede chain", "{value:g} (cap {limit:g})", "knowbound kms reap compacts it"),
    FailureMode.SELF_REINFORCING: (
        "self-reinforcing",
        "{value:.1f} times as much use above the median (limit {limit:g})",
        "a tenth of the prompts tries an item that was ranked lower",
    ),
    FailureMode.LOG_SIZE: (
        "oldest raw turn",
        "{value:g} days (limit {limit:g})",
        "knowbound quality score --queue removes turns older than 90 days",
    ),
    FailureMode.SWITCHED_OFF: (
        "off switch",
        "",
        "quality.ranking or KMS_QUALITY_RANKING_ENABLED is false: set it to true to rank by measured quality again",
    ),
}


_LEG = "leg=leg.number name=leg.name backends=leg.backends"
_KEYS = """leg=current.leg.number since=state.since? exploration=state.exploration legs baseline=current.leg.number
    monitors history=state.history changed refused"""


def render_rollout(status: RolloutStatus, format: ShortFormat, **layout: Unpack[Layout]) -> str:
    """The rollout in a format."""
    return render(format, lambda: _page(status), lambda: _rollout_document(status), **layout)


def _rollout_document(status: RolloutStatus) -> dict[str, object]:
    known = document("knowbound.rollout/1", status, _KEYS)
    legs = []
    for one in status.legs:
        place = "current" if one.is_current else "done" if one.is_done else "ahead"
        legs.append({**fields(one, _LEG), "place": place, **fields(one, "enter leave kill")})
    return known | {"legs": legs, "baseline": as_json(status.state.baselines.get(status.current.leg.number))}


def rollout_row(status: RolloutStatus) -> Iterator[tuple[str, Line]]:
    """Return the row on the screen of `quality status`: the leg, a reverted leg, and the reason of the reversal."""
    leg = f"leg {status.current.leg.number}{_since(status)}: {_leg_words(status.current.leg)}"
    yield "Rollout", joined((leg, _outlook(status)))
    if open_ := _open(status):
        first, *others = open_
        wanted = f", wanted {_wanted(first)}" if _wanted(first) else ""
        more = f"{len(others)} more: " if others else ""
        words = f"{_words(first.name)}, now {_now(first) or 'unknown'}{wanted}"
        yield "Open", joined((words, (more, data("knowbound quality rollout"))))
    if before := status.state.baselines.get(1):
        known = [(metric, one) for metric, one in before.rates.items() if one.n]
        rates = (f"{metric.value.replace('_', ' ')} {percent(one.value)} of {one.n:,}" for metric, one in known)
        yield "Leg 0", joined(("measured before ranking", *rates))
    if event := status.state.last_kill:
        yield "Reverted", _event(event)
    for line in tripped_lines(status.monitors):
        yield "Watch", line


def tripped_lines(monitors: tuple[Monitor, ...]) -> Iterator[Line]:
    """The failure modes that hold, each with what to do about it."""
    for one in monitors:
        if one.tripped:
            name, _, answer = _MODES[one.mode]
            yield joined(((Span(name, Tone.BAD), f" {_number(one)}".rstrip()), answer))


def _words(*names: CriterionName) -> str:
    return ", ".join(_CRITERIA[name][0] for name in names)


def _leg_words(leg: Leg) -> str:
    parts = [f"items of {name} are ranked by measured quality" for name in leg.backends]
    return ", ".join(parts) or "measures, ranks nothing by it"


def _page(status: RolloutStatus) -> Page:
    legs = []
    for one in status.legs:
        mark = Span("now", Tone.STRONG) if one.is_current else "done" if one.is_done else ""
        legs.append((mark, f"{one.leg.number}", _leg_words(one.leg)))
    return Page(
        verb="quality rollout",
        title="The rollout of measured ranking",
        lead="",
        totals=_verdict(status),
        sections=(
            section("Legs", "", table("|leg|", legs)),
            *_criteria(status),
            section("Watched", "", table("state|failure mode|now|answer", map(_monitor, status.monitors))),
            section("History", "", listing(map(_event, reversed(status.state.history)))),
        ),
        commands=_commands(status),
    )


def _verdict(status: RolloutStatus) -> Line:
    current = status.current
    if status.refused:
        missing = (f"“{_words(one.name)}” is open" for one in (*current.tripped, *_open(status)))
        return Span(f"Not advanced: {', '.join(missing)}.", Tone.BAD)
    if status.changed and status.changed.kind is EventKind.FORCED:
        open_ = _words(*status.changed.tripped)
        return f"Leg {current.leg.number} begins, forced: {_leg_words(current.leg)}. Not shown before it: {open_}."
    if status.changed:
        return f"Leg {current.leg.number} begins: {_leg_words(current.leg)}."
    return f"Leg {current.leg.number}{_since(status)}: {_leg_words(current.leg)}."


def _since(status: RolloutStatus) -> str:
    return f" since {status.state.since[:10]}" if status.state.since else ""


def _outlook(status: RolloutStatus) -> Line:
    if status.current.tripped:
        return Span(f"tripped: {_words(*(one.name for one in status.current.tripped))}", Tone.BAD)
    if status.next is None and not status.current.missing:
        return "complete"
    if _open(status):
        return f"{len(_open(status))} open"
    return "ready: ", data(ADVANCE)


def _open(status: RolloutStatus) -> list[RolloutCriterion]:
    after = status.next
    entering = [one for one in (after.enter if after else ()) if one.name is not CriterionName.LEG_BEFORE]
    return [one for one in (*status.current.leave, *entering) if one.state is not CriterionState.MET]


def _criteria(status: RolloutStatus) -> Iterator[Section]:
    current, after = status.current, status.next
    yield section(f"To leave leg {current.leg.number}", "", _criterion_table(current.leave))
    if after:
        yield section(f"To enter leg {after.leg.number}", "", _criterion_table(after.enter))
    what = "blocks the next leg" if not current.leg.number else "reverts it by itself"
    ends = f"What ends leg {current.leg.number}"
    yield section(ends, "", _criterion_table(current.kill), Note(f"One that trips {what}."))


def _criterion_table(criteria: tuple[RolloutCriterion, ...]) -> Table:
    rows = []
    for one in criteria:
        named = f" ({', '.join(one.metrics)})" if one.metrics else ""
        rows.append((Span(one.state, _TONES[one.state]), _words(one.name) + named, _now(one), _wanted(one)))
    return table("state|criterion|now|wanted", rows)


_DIFFERENCES = (
    CriterionName.ON_TOPIC_RISE,
    CriterionName.USAGE_RISE,
    CriterionName.CONTRADICTION,
    CriterionName.ON_TOPIC_DROP,
)
_TIMES = (CriterionName.STOP_HOOK, CriterionName.RANKING_COST)


def _now(one: RolloutCriterion) -> str:
    if one.name is CriterionName.REPLAY:
        return f"{counted(one.n, 'turn')} compared"
    if one.name is CriterionName.LEG_BEFORE:
        return ""
    more = f", {counted(one.more, 'labelled turn')} more" if one.more and one.name is CriterionName.JUDGE else ""
    if one.value is None:
        return f"unknown{more}"
    if one.name is CriterionName.DAYS:
        return f"{one.value:g}"
    if one.name in _TIMES:
        return f"p95 {one.value:,.0f} ms, {counted(one.n, 'run')}"
    if one.name in _DIFFERENCES and one.low is not None and one.high is not None:
        return f"{points(one.value)} points (95% {points(one.low, 0)} to {points(one.high, 0)})"
    behind = f" of {one.n:,}" if one.n else ""
    return f"{percent(one.value)}{behind}{more}"


def _wanted(one: RolloutCriterion) -> str:
    if one.limit is None:
        return ""
    number = _CRITERIA[one.name][1]
    return number.format(limit=one.limit, percent=percent(one.limit), points=points(one.limit, 0))


def _monitor(one: Monitor) -> tuple[Line, ...]:
    name, _, answer = _MODES[one.mode]
    known = Span("unknown", Tone.SOFT) if one.value is None else Span("ok", Tone.GOOD)
    state = Span("tripped", Tone.BAD) if one.tripped else known
    return state, name, _number(one), answer if one.tripped else ""


def _number(one: Monitor) -> str:
    if one.mode is FailureMode.SWITCHED_OFF:
        return "ranking by measured quality is off" if one.tripped else "on"
    if one.value is None:
        ratio = f"only items of high confidence are used (limit {one.limit:g} times)"
        return ratio if one.tripped and one.mode is FailureMode.SELF_REINFORCING else "unknown"
    shares = {"percent": percent(one.value), "most": percent(one.limit), "metrics": ", ".join(one.metrics) or "none"}
    return _MODES[one.mode][1].format(value=one.value, limit=one.limit, n=one.n, **shares)


def _event(one: RolloutEvent) -> Line:
    move = f"{one.time[:16].replace('T', ' ')} leg {one.before} → {one.after}"
    named = _words(*one.tripped)
    match one.kind:
        case EventKind.KILLED:
            why: Line = Span(f"reverted by itself, no longer true: {named}", Tone.BAD)
        case EventKind.FORCED:
            why = ("forced by ", data(one.by or "somebody"), f", although open: {named}")
        case EventKind.ADVANCED | EventKind.REVERTED:
            why = (f"{one.kind} by ", data(one.by)) if one.by else str(one.kind)
    return joined((move, why))


def _commands(status: RolloutStatus) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    if status.next and not _open(status) and not status.current.tripped:
        found.append((ADVANCE, f"begins leg {status.next.leg.number}"))
    if status.current.leg.number:
        found.append((REVERT, f"goes back to leg {status.current.leg.number - 1}"))
    return tuple(found)
