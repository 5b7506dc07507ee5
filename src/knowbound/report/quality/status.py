"""The screen of `quality status`, in any format: does injection help? (specification 2, section 2).

The first line says what to do next. What is not known is said to be unknown, with what would change that.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Unpack

from knowbound.core.quality import Metric
from knowbound.language import say, translated
from knowbound.report import Layout, PageFormat
from knowbound.report.formats import render
from knowbound.report.formats.json import as_json, fields
from knowbound.report.formats.plain import shorten
from knowbound.report.judging import METRIC_NAMES
from knowbound.report.lines import Line, data, joined, soft
from knowbound.report.quality import sections as parts
from knowbound.report.quality.items import COUNTS, ITEM_TO_FIX, item_sections, shadow_document
from knowbound.report.quality.model import TO_LOOK_AT, QualityStatus, RescueFigures, ShadowStatus
from knowbound.report.quality.rollout import rollout_row
from knowbound.report.sections import Note, Page, Section, facts, section
from knowbound.stats.quality import (
    PROMPT_LIMIT_MS,
    STOP_LIMIT_MS,
    WINDOW_DAYS,
    HoldoutComparison,
    OutcomeDifference,
    QualityMetric,
    TargetState,
    TurnOutcome,
    p95_ms,
    window,
)
from knowbound.stats.rate import Rate
from knowbound.text.printable import counted

_SHADOWED = (Metric.ON_TOPIC, Metric.CONTRADICTED)  # nobody can use what is not there
_REASON = 36  # characters of why turns have no verdict, on a screen


_TABLE = "true_yes false_yes false_no true_no n agreement kappa sensitivity specificity precision"
_MEASURED = " ".join(f"{name}=found.{name}" for name in _TABLE.split())
_METRIC = "now corrected target(share kind) state more pending before difference(value low high) trend"
_OF_DAYS = f"injected({COUNTS}) by_backend({COUNTS}) by_source({COUNTS}) pulled({COUNTS})"


def render_quality(status: QualityStatus, format: PageFormat, **layout: Unpack[Layout]) -> str:
    """The status in a format."""
    return render(format, lambda: quality_page(status, format), lambda: _document(status), **layout)


def quality_page(status: QualityStatus, format: PageFormat) -> Page:
    """Return the status as a page; a terminal gets one screen of it."""
    return Page(
        verb="quality status",
        title="Does what we inject help?",
        lead=f"The four metrics of what is injected, over {WINDOW_DAYS} days.",
        totals=next_step(status),
        origin=() if status.is_empty else tuple(_origin(status)),
        sections=(parts.meanings(),) if status.is_empty else tuple(_sections(status, format)),
        commands=_FIRST_COMMANDS if status.is_empty else (),
        version=status.version,
    )


def _sections(status: QualityStatus, format: PageFormat) -> Iterator[Section]:
    """A terminal gets one screen, a page everything."""
    is_screen = format == "text"
    title = say("Last {} days, and the {} before", WINDOW_DAYS, WINDOW_DAYS)
    cards = (parts.figures(status),) if format == "html" else ()
    metrics = parts.metric_table(status, is_wide=not is_screen)
    yield section(title, "metrics", *cards, metrics, *_notes(status, is_screen))
    if is_screen:
        yield from (parts.meanings(),) if status.is_new else ()
        yield parts.items_to_fix(status, is_screen)
        yield section("", "", facts(_screen_rows(status)))
        return
    yield section("Over time", "time", *parts.metric_charts(status))
    yield parts.items_to_fix(status, is_screen)
    yield section("What the judge is worth", "judge", *parts.judge_parts(status.judge))
    yield section("Cost", "cost", facts(parts.cost_rows(status)))
    yield section("Shadow", "shadow", facts(_shadow_rows(status.shadow)))
    yield section("Rollout", "rollout", facts(_rollout_rows(status)))
    yield section("With and without", "holdout", facts(_holdout_rows(status.holdout, is_whole=True)))
    yield section("Rescue", "rescue", facts(_rescue_rows(status.rescues)))
    yield parts.breakdown(status)
    for page in status.pages:
        yield from item_sections(page, is_whole=False)


def _screen_rows(status: QualityStatus) -> Iterator[tuple[str, Line]]:
    yield from parts.judge_rows(status.judge)
    yield "Cost", parts.cost_line(status)
    yield from parts.others_row(status)
    yield from _shadow_rows(status.shadow)
    yield from _rollout_rows(status)
    yield from _holdout_rows(status.holdout, offers=status.offers_holdout)
    yield from _rescue_rows(status.rescues)
    item = f"--item {shlex.quote(status.items[0].id)}, or " if status.items else ""
    yield "More", data(f"knowbound quality status {item}--format html -o quality.html")


def _document(status: QualityStatus) -> dict[str, object]:
    days, judge, series = status.window, status.judge, status.series
    first, last = window(status.until)
    limits = (("prompt", days.prompt_ms, PROMPT_LIMIT_MS), ("stop", days.stop_ms, STOP_LIMIT_MS))
    figures = f"state=gate.state more_turns=gate.more {_MEASURED}"
    measured = fields(judge, f"version labelled_turns=labelled made metrics=measured({figures})")
    corrected = status.others_corrected
    return {
        "format": "knowbound.quality/1",
        "window": {"first": first, "last": last, "is_current": status.is_current},
        "kept_since": status.first or None,
        "metrics": {
            str(metric.metric): fields(metric, _METRIC)
            | ({} if metric.corrected.value is not None else {"corrected": None})
            for metric in status.metrics
        },
        "turns": fields(days, "turns prompts_with_items prompts_left_alone interrupted unscored"),
        **fields(days, _OF_DAYS),
        "others": {
            name: fields(counts, COUNTS) | {"corrected": as_json(corrected.get(name))}
            for name, counts in days.others.items()
        },
        **fields(status, "other_corrections corrective_calls=window.corrective_calls unscored"),
        "cost": {
            "injected_tokens": days.injected_tokens,
            **{
                f"{name}_hook": {"p95_ms": p95_ms(took), "limit_ms": limit, "runs": took.runs}
                for name, took, limit in limits
            },
        },
        "judge": fields(judge, "versions")
        | {"measured": measured if judge.measured else None, "weekly": as_json(judge.weekly)},
        "rollout": _rollout_fields(status),
        "holdout": as_json(status.holdout),
        "shadow": shadow_document(status.shadow) if status.shadow else None,
        "silenced": {"prompts": days.silenced_prompts, "items": days.silenced},
        **fields(status, f"rescues(misses said absent used contradicted) items({ITEM_TO_FIX})"),
        "series": [{"date": day.date} | {str(name): as_json(day.rates[name]) for name in day.rates} for day in series],
    }


def _rollout_fields(status: QualityStatus) -> dict[str, object] | None:
    if (rollout := status.rollout) is None:
        return None
    values = fields(rollout, "leg=current.leg.number since=state.since? reverted=state.last_kill")
    return values | {"tripped": [str(monitor.mode) for monitor in rollout.monitors if monitor.tripped]}


def _rollout_rows(status: QualityStatus) -> Iterator[tuple[str, Line]]:
    if status.rollout:
        yield from rollout_row(status.rollout)
    if prompts := status.window.silenced_prompts:
        items = counted(len(status.window.silenced), "item")
        yield "Silenced", f"{counted(prompts, 'prompt')} did not get {items} that contradictions brought to 0"


def _shadow_rows(found: ShadowStatus | None) -> Iterator[tuple[str, Line]]:
    if found is None or not found.is_on:
        return
    counts = found.counts
    shown = _SHADOWED if counts.judged else ()
    rates = [f"{METRIC_NAMES[metric]} {Rate(counts.of(metric), counts.judged)}" for metric in shown]
    chosen = f"{counted(len(found.choices), 'item')} would have been injected since {found.since[:10] or 'then'}"
    yield "Shadow", joined((chosen, *rates, f"{found.answered} of {TO_LOOK_AT} looked at"))


def _causal_line(found: HoldoutComparison) -> str:
    """Say whether injecting helps, by sessions drawn at random, or how many more it takes to decide."""
    by_name = {outcome.outcome: outcome for outcome in found.outcomes}
    measured = [by_name[name] for name in (TurnOutcome.CALLS, TurnOutcome.FAILED_SEARCHES) if name in by_name]
    if any(outcome.is_decided for outcome in measured):
        return f"With injection: {', '.join(map(_outcome_words, measured))} a turn."
    more = f"about {counted(found.more_sessions, 'more session')}" if found.more_sessions else "more sessions"
    return f"Whether injecting helps is not known yet: {more} would decide it."


def _origin(status: QualityStatus) -> Iterator[Line]:
    if status.holdout:
        yield _causal_line(status.holdout)
    window = status.window
    ends = f"{WINDOW_DAYS} days to {status.until}"
    if not status.is_current:
        ends += ", the newest that were measured"
    items = window.injected.judged + window.injected.unjudged
    yield joined(
        (
            ends,
            counted(window.turns, "turn"),
            f"{counted(items, 'item')} for {counted(window.prompts_with_items, 'prompt')}",
            f"{window.prompts_left_alone:,} got nothing",
            f"{window.interrupted:,} interrupted" if window.interrupted else "",
        )
    )


def _notes(status: QualityStatus, is_screen: bool) -> Iterator[Note]:
    discovery = next(metric for metric in status.metrics if metric.metric is QualityMetric.DISCOVERY)
    if status.wrong and not discovery.now.n:
        waiting = "1 item waits" if status.wrong == 1 else f"{status.wrong:,} items wait"
        yield Note(soft(f"No item was contradicted anew; {waiting} for a correction since before."))
    elif status.pending and not is_screen:  # there the state says it
        yield Note(soft(f"{counted(status.pending, 'correction')} can still be made, and would count."))
    if not is_screen and parts.is_adjusted(status):
        yield Note(soft("Adjusted: the same rate for a judge without error (Rogan–Gladen)."))
    if status.unscored:
        reason = next(iter(status.unscored))
        turns = counted(sum(status.unscored.values()), "turn")
        why = data(shorten(reason, _REASON) if is_screen else reason)
        yield Note((f"{turns} without a verdict (", why, "): ", data("knowbound quality score --again")))


_FIRST_COMMANDS = (
    ("knowbound install claude-code", "from then on every turn is scored in the background"),
    ("knowbound quality score", "what the traces that agents left already say"),
)
_MISSED: dict[QualityMetric, str] = {
    QualityMetric.ON_TOPIC: "Too little of what is injected is on topic: raise the floor (quality calibrate).",
    QualityMetric.USED: "Too little of what is injected is used.",
    QualityMetric.CONTRADICTED: "Too much of what is injected is contradicted; what was seen is corrected.",
    QualityMetric.DISCOVERY: "Too few of the contradicted items were corrected in time.",
}


def next_step(status: QualityStatus) -> Line:
    """Return the most important step in plain words: the first that fits."""
    counts = status.window.injected
    if status.shadow and status.shadow.is_on and not status.shadow.left:
        return "Nothing reaches your agent yet. Start injecting: ", data("knowbound quality shadow --start")
    if status.shadow and status.shadow.is_on:
        return "Nothing reaches your agent yet. Look at what would have: ", data("knowbound quality shadow")
    if status.is_empty:
        return "Nothing is measured yet: no turn of an agent was scored."
    if status.judge.is_unreliable(Metric.CONTRADICTED):
        return "The judge errs too often about contradictions: mend that before you correct an item."
    if status.wrong:
        what = translated("an item") if status.wrong == 1 else counted(status.wrong, "item")
        return say("Correct {} that agents contradicted, first ", what), data(status.items[0].id), "."
    if slow := [name for name, _, is_slow in parts.hooks(status) if is_slow]:
        return f"The {slow[0].lower()} hook is too slow: run knowbound doctor."
    if not counts.judged and counts.unjudged:
        return "No item has a verdict, the judge failed: knowbound quality score --again"
    if not counts.judged and status.other_corrections:
        waiting = counted(len(status.other_corrections), "item")
        return f"Nothing of ours was injected. Correct {waiting} of others that agents contradicted."
    if not counts.judged:
        return "Nothing was injected in these days, so nothing can be said about it."
    if missed := [metric.metric for metric in status.metrics if metric.state is TargetState.MISSED]:
        return _MISSED[missed[0]] + (" Start with the items below." if status.items else "")
    if not status.judge.measured:
        return "Label turns: nothing is shown to be wrong, by a judge that nobody has measured."
    if any(metric.state is TargetState.UNDECIDED for metric in status.metrics):
        return "Nothing is shown to be wrong; more turns have to be measured to know."
    return "Nothing to do: every metric that is known meets its target."


def _rescue_rows(found: RescueFigures | None) -> Iterator[tuple[str, Line]]:
    if found is None:
        return
    answered = f"{found.said + found.absent:,} of {counted(found.misses, 'missed lookup')} answered"
    answered += f", {found.known:,} by lessons and items" if found.known else ""
    used = f"used {found.used}" if found.used.n else ""
    contradicted = f"contradicted {found.contradicted.k:,}" if found.contradicted.n else ""
    yield "Rescue", joined((answered, used, contradicted))


def _holdout_rows(
    found: HoldoutComparison | None, *, is_whole: bool = False, offers: bool = False
) -> Iterator[tuple[str, Line]]:
    """A row for the screen: what is decided, or what it takes; with `is_whole` one for every outcome."""
    if found is None:
        if offers:
            how = data("quality.holdout = 0.1")
            yield "Helps?", ("unknown without a comparison: ", how, " withholds items from one session in ten")
        return
    sides = f"{counted(found.injected, 'turn')} with items, {found.held_out:,} held out"
    if not is_whole:
        needed = [outcome.more for outcome in found.outcomes if outcome.more]
        undecided = f"no difference is known yet: {min(needed):,} more turns would decide" if needed else ""
        decided = [_outcome_words(outcome) for outcome in found.outcomes if outcome.is_decided]
        yield "Held out", joined((sides, *(decided or [undecided or "no difference is seen"])))
        return
    yield "Turns", sides
    for outcome in found.outcomes:
        both = (outcome.injected, outcome.held_out)
        injected, held_out = ("unknown" if mean is None else f"{mean:,.1f}" for mean in both)
        means = f"{injected} with items, {held_out} without"
        yield _outcome_name(outcome).capitalize(), f"{means} per turn; {_difference_words(outcome)}"


def _outcome_name(outcome: OutcomeDifference) -> str:
    return outcome.outcome.replace("_", " ")


def _outcome_words(outcome: OutcomeDifference) -> str:
    return f"{_outcome_name(outcome)} {_difference_words(outcome)}"


def _difference_words(outcome: OutcomeDifference) -> str:
    """Return the difference with its interval, or how many more turns would decide it."""
    if outcome.value is None:
        return "unknown: one side has no turn"
    more = f": {outcome.more:,} more turns would decide" if outcome.more else ""
    if outcome.low is None or outcome.high is None:
        return f"not known yet{more}"
    value, low, high = (f"{side:+,.1f}".replace("-", "−") for side in (outcome.value, outcome.low, outcome.high))
    shown = f"{value} (95% {low} to {high})"
    return shown if outcome.is_decided else f"{shown}, not decided{more}"
