"""The state of the rollout of measured ranking, and what is missing, in any format (specification 2, 6 and 7)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Unpack

from knowbound.report import Layout, ShortFormat
from knowbound.report.formats import render
from knowbound.report.formats.json import as_json, document, fields
from knowbound.report.lines import Line, Span, Tone, data, joined
from knowbound.report.sections import Note, Page, Section, Table, listing, section, table
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
    values = document("knowbound.rollout/1", status, _KEYS)
    legs = []
    for step in status.legs:
        stage = "current" if step.is_current else "done" if step.is_done else "ahead"
        legs.append({**fields(step, _LEG), "place": stage, **fields(step, "enter leave kill")})
    return values | {"legs": legs, "baseline": as_json(status.state.baselines.get(status.current.leg.number))}


def rollout_row(status: RolloutStatus) -> Iterator[tuple[str, Line]]:
    """Return the row on the screen of `quality status`: the leg, a reverted leg, and the reason of the reversal."""
    leg = f"leg {status.current.leg.number}{_since(status)}: {_leg_words(status.current.leg)}"
    yield "Rollout", joined((leg, _outlook(status)))
    if open_ := _open_criteria(status):
        first, *others = open_
        wanted = f", wanted {_limit_words(first)}" if _limit_words(first) else ""
        more = f"{len(others)} more: " if others else ""
        words = f"{_criterion_words(first.name)}, now {_value_words(first) or 'unknown'}{wanted}"
        yield "Open", joined((words, (more, data("knowbound quality rollout"))))
    if before := status.state.baselines.get(1):  # the rates that leg 1 is compared with
        measured = [(metric, rate) for metric, rate in before.rates.items() if rate.n]
        rates = (f"{metric.value.replace('_', ' ')} {percent(rate.value)} of {rate.n:,}" for metric, rate in measured)
        yield "Leg 0", joined(("measured before ranking", *rates))
    if event := status.state.last_kill:
        yield "Reverted", _event(event)
    for line in tripped_lines(status.monitors):
        yield "Watch", line


def tripped_lines(monitors: tuple[Monitor, ...]) -> Iterator[Line]:
    """The failure modes that hold, each with what to do about it."""
    for monitor in monitors:
        if monitor.tripped:
            name, _, answer = _MODES[monitor.mode]
            yield joined(((Span(name, Tone.BAD), f" {_monitor_words(monitor)}".rstrip()), answer))


def _criterion_words(*names: CriterionName) -> str:
    return ", ".join(_CRITERIA[name][0] for name in names)


def _leg_words(leg: Leg) -> str:
    parts = [f"items of {name} are ranked by measured quality" for name in leg.backends]
    return ", ".join(parts) or "measures, ranks nothing by it"


def _page(status: RolloutStatus) -> Page:
    legs = []
    for step in status.legs:
        mark = Span("now", Tone.STRONG) if step.is_current else "done" if step.is_done else ""
        legs.append((mark, f"{step.leg.number}", _leg_words(step.leg)))
    return Page(
        verb="quality rollout",
        title="The rollout of measured ranking",
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
    """Return the present leg (a step of the rollout), or why the next one was refused."""
    current = status.current
    if status.refused:
        names = (criterion.name for criterion in (*current.tripped, *_open_criteria(status)))
        missing = (f"“{_criterion_words(name)}” is open" for name in names)
        return Span(f"Not advanced: {', '.join(missing)}.", Tone.BAD)
    if status.changed and status.changed.kind is EventKind.FORCED:
        open_ = _criterion_words(*status.changed.tripped)
        return f"Leg {current.leg.number} begins, forced: {_leg_words(current.leg)}. Not shown before it: {open_}."
    if status.changed:
        return f"Leg {current.leg.number} begins: {_leg_words(current.leg)}."
    return f"Leg {current.leg.number}{_since(status)}: {_leg_words(current.leg)}."


def _since(status: RolloutStatus) -> str:
    return f" since {status.state.since[:10]}" if status.state.since else ""


def _outlook(status: RolloutStatus) -> Line:
    """Say if the leg is tripped, complete or ready to be left, or how many criteria are open."""
    if status.current.tripped:
        return Span(f"tripped: {_criterion_words(*(criterion.name for criterion in status.current.tripped))}", Tone.BAD)
    if status.next is None and not status.current.missing:
        return "complete"
    if _open_criteria(status):
        return f"{len(_open_criteria(status))} open"
    return "ready: ", data(ADVANCE)


def _open_criteria(status: RolloutStatus) -> list[RolloutCriterion]:
    """Return the criteria that keep the next leg from beginning; LEG_BEFORE only repeats those of the present leg."""
    wanted = status.next.enter if status.next else ()
    entering = [criterion for criterion in wanted if criterion.name is not CriterionName.LEG_BEFORE]
    return [criterion for criterion in (*status.current.leave, *entering) if criterion.state is not CriterionState.MET]


def _criteria(status: RolloutStatus) -> Iterator[Section]:
    """Yield what is needed to leave the present leg and to enter the next one, and what ends the present one."""
    current, after = status.current, status.next
    yield section(f"To leave leg {current.leg.number}", "", _criterion_table(current.leave))
    if after:
        yield section(f"To enter leg {after.leg.number}", "", _criterion_table(after.enter))
    what = "blocks the next leg" if not current.leg.number else "reverts it by itself"  # leg 0 has none to go back to
    ends = f"What ends leg {current.leg.number}"
    yield section(ends, "", _criterion_table(current.kill), Note(f"One that trips {what}."))


def _criterion_table(criteria: tuple[RolloutCriterion, ...]) -> Table:
    rows = []
    for criterion in criteria:
        named = f" ({', '.join(criterion.metrics)})" if criterion.metrics else ""
        state = Span(criterion.state, _TONES[criterion.state])
        rows.append((state, _criterion_words(criterion.name) + named, _value_words(criterion), _limit_words(criterion)))
    return table("state|criterion|now|wanted", rows)


_DIFFERENCES = (
    CriterionName.ON_TOPIC_RISE,
    CriterionName.USAGE_RISE,
    CriterionName.CONTRADICTION,
    CriterionName.ON_TOPIC_DROP,
)
_TIMES = (CriterionName.STOP_HOOK, CriterionName.RANKING_COST)


def _value_words(criterion: RolloutCriterion) -> str:
    """Return the present value of a criterion in its unit; "" for a criterion without a number."""
    if criterion.name is CriterionName.REPLAY:
        return f"{counted(criterion.n, 'turn')} compared"
    if criterion.name is CriterionName.LEG_BEFORE:
        return ""
    labels = criterion.more if criterion.name is CriterionName.JUDGE else None
    more = f", {counted(labels, 'labelled turn')} more" if labels else ""
    if criterion.value is None:
        return f"unknown{more}"
    if criterion.name is CriterionName.DAYS:
        return f"{criterion.value:g}"
    if criterion.name in _TIMES:
        return f"p95 {criterion.value:,.0f} ms, {counted(criterion.n, 'run')}"
    if criterion.name in _DIFFERENCES and criterion.low is not None and criterion.high is not None:
        return f"{points(criterion.value)} points (95% {points(criterion.low, 0)} to {points(criterion.high, 0)})"
    behind = f" of {criterion.n:,}" if criterion.n else ""
    return f"{percent(criterion.value)}{behind}{more}"


def _limit_words(criterion: RolloutCriterion) -> str:
    """Return the limit of a criterion in its unit; "" for a criterion without a number."""
    if criterion.limit is None:
        return ""
    _, number = _CRITERIA[criterion.name]
    return number.format(limit=criterion.limit, percent=percent(criterion.limit), points=points(criterion.limit, 0))


def _monitor(monitor: Monitor) -> tuple[Line, ...]:
    """Return a failure mode as a row: its state, its value, and what to do about it."""
    name, _, answer = _MODES[monitor.mode]
    not_tripped = Span("unknown", Tone.SOFT) if monitor.value is None else Span("ok", Tone.GOOD)
    state = Span("tripped", Tone.BAD) if monitor.tripped else not_tripped
    return state, name, _monitor_words(monitor), answer if monitor.tripped else ""


def _monitor_words(monitor: Monitor) -> str:
    """Return the present value of a failure mode, with its limit."""
    if monitor.mode is FailureMode.SWITCHED_OFF:
        return "ranking by measured quality is off" if monitor.tripped else "on"
    if monitor.value is None:
        ratio = f"only items of high confidence are used (limit {monitor.limit:g} times)"
        return ratio if monitor.tripped and monitor.mode is FailureMode.SELF_REINFORCING else "unknown"
    _, number, _ = _MODES[monitor.mode]
    shares = {"percent": percent(monitor.value), "most": percent(monitor.limit)}
    metrics = ", ".join(monitor.metrics) or "none"
    return number.format(value=monitor.value, limit=monitor.limit, n=monitor.n, metrics=metrics, **shares)


def _event(event: RolloutEvent) -> Line:
    """Return one change of the leg: its time, and who or which criteria made it."""
    move = f"{event.time[:16].replace('T', ' ')} leg {event.before} → {event.after}"
    named = _criterion_words(*event.tripped)
    match event.kind:
        case EventKind.KILLED:
            why: Line = Span(f"reverted by itself, no longer true: {named}", Tone.BAD)
        case EventKind.FORCED:
            why = ("forced by ", data(event.by or "somebody"), f", although open: {named}")
        case EventKind.ADVANCED | EventKind.REVERTED:
            why = (f"{event.kind} by ", data(event.by)) if event.by else str(event.kind)
    return joined((move, why))


def _commands(status: RolloutStatus) -> tuple[tuple[str, str], ...]:
    found: list[tuple[str, str]] = []
    if status.next and not _open_criteria(status) and not status.current.tripped:
        found.append((ADVANCE, f"begins leg {status.next.leg.number}"))
    if status.current.leg.number:
        found.append((REVERT, f"goes back to leg {status.current.leg.number - 1}"))
    return tuple(found)
