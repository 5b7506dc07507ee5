"""The screen of `quality status`, in any format: does injection help? (specification 2, section 2).

The first line says what to do next. What is not known is said to be unknown, with what would change that.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping
from typing import NamedTuple, Unpack

from knowbound.core.quality import Counts, Durations, Metric
from knowbound.language import say, translated
from knowbound.report import Layout, PageFormat
from knowbound.report.figures import share_figure
from knowbound.report.formats import render
from knowbound.report.formats.json import as_json, fields
from knowbound.report.formats.plain import shorten
from knowbound.report.judging import METRIC_NAMES as ITEM_METRIC_NAMES
from knowbound.report.judging import judge_parts, judge_rows
from knowbound.report.lines import Line, Span, Tone, data, joined, prose, soft
from knowbound.report.quality.items import COUNTS, ITEM_TO_FIX, item_sections, items_to_fix, shadow_document
from knowbound.report.quality.model import FIRST_ITEMS, TO_LOOK_AT, QualityStatus, RescueFigures, ShadowStatus
from knowbound.report.quality.rollout import rollout_row
from knowbound.report.sections import (
    Entry,
    Figure,
    Figures,
    MetricChart,
    Note,
    Page,
    Part,
    Section,
    Table,
    facts,
    listing,
    section,
    table,
)
from knowbound.report.words import rate_cell
from knowbound.stats.printing import percent, percent_range, points
from knowbound.stats.quality import (
    PROMPT_LIMIT_MS,
    STOP_LIMIT_MS,
    WINDOW_DAYS,
    HoldoutComparison,
    MetricStatus,
    OutcomeDifference,
    QualityMetric,
    TargetState,
    TrendDirection,
    TurnOutcome,
    is_slower_than,
    p95_ms,
    window,
)
from knowbound.stats.rate import Rate
from knowbound.stats.rollout import RolloutState
from knowbound.text.printable import counted

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
        sections=(_meanings(),) if status.is_empty else tuple(_sections(status, format)),
        commands=_FIRST_COMMANDS if status.is_empty else (),
        version=status.version,
    )


def _sections(status: QualityStatus, format: PageFormat) -> Iterator[Section]:
    """A terminal gets one screen, a page everything."""
    is_screen = format == "text"
    title = say("Last {} days, and the {} before", WINDOW_DAYS, WINDOW_DAYS)
    cards = (Figures(tuple(map(_figure, status.metrics))),) if format == "html" else ()
    metrics = _metric_table(status, is_wide=not is_screen)
    yield section(title, "metrics", *cards, metrics, *_notes(status, is_screen))
    if is_screen:
        yield from (_meanings(),) if status.is_new else ()
        yield items_to_fix(status, is_screen)
        yield section("", "", facts(_screen_rows(status)))
        return
    yield section("Over time", "time", *_metric_charts(status))
    yield items_to_fix(status, is_screen)
    yield section("What the judge is worth", "judge", *judge_parts(status.judge))
    yield section("Cost", "cost", facts(_cost_rows(status)))
    yield section("Shadow", "shadow", facts(_shadow_rows(status.shadow)))
    yield section("Rollout", "rollout", facts(_rollout_rows(status)))
    yield section("With and without", "holdout", facts(_outcome_rows(status.holdout)))
    yield section("Rescue", "rescue", facts(_rescue_rows(status.rescues)))
    yield _breakdown(status)
    for page in status.pages:
        yield from item_sections(page, is_whole=False)


def _screen_rows(status: QualityStatus) -> Iterator[tuple[str, Line]]:
    """Yield the rows of one screen, in place of the sections of a page."""
    yield from judge_rows(status.judge)
    took = ", ".join(f"{hook.name} {hook}" for hook in _hooks(status))
    yield "Cost", joined((_tokens(status), f"p95 of hooks: {took}"))
    yield from _others_row(status)
    yield from _shadow_rows(status.shadow)
    yield from _rollout_rows(status)
    yield from _holdout_row(status)
    yield from _rescue_rows(status.rescues)
    item = f"--item {shlex.quote(status.items[0].id)}, or " if status.items else ""
    yield "More", data(f"knowbound quality status {item}--format html -o quality.html")


def _document(status: QualityStatus) -> dict[str, object]:
    days, judge, series = status.window, status.judge, status.series
    first, last = window(status.until)
    hooks = {
        f"{hook.name}_hook": {"p95_ms": p95_ms(hook.took), "limit_ms": hook.limit, "runs": hook.took.runs}
        for hook in _hooks(status)
    }
    figures = f"state=gate.state more_turns=gate.more {_MEASURED}"
    measured = fields(judge, f"version labelled_turns=labelled made metrics=measured({figures})")
    corrected, rollout = status.others_corrected, None
    if status.rollout is not None:
        tripped = [str(monitor.mode) for monitor in status.rollout.monitors if monitor.tripped]
        rollout = fields(status.rollout, "leg=current.leg.number since=state.since? reverted=state.last_kill")
        rollout |= {"tripped": tripped}
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
        "cost": {"injected_tokens": days.injected_tokens, **hooks},
        "judge": fields(judge, "versions")
        | {"measured": measured if judge.measured else None, "weekly": as_json(judge.weekly)},
        "rollout": rollout,
        "holdout": as_json(status.holdout),
        "shadow": shadow_document(status.shadow) if status.shadow else None,
        "silenced": {"prompts": days.silenced_prompts, "items": days.silenced},
        **fields(status, f"rescues(misses said absent used contradicted) items({ITEM_TO_FIX})"),
        "series": [{"date": day.date} | {str(name): as_json(day.rates[name]) for name in day.rates} for day in series],
    }


def _rollout_rows(status: QualityStatus) -> Iterator[tuple[str, Line]]:
    if status.rollout:
        yield from rollout_row(status.rollout)
    if prompts := status.window.silenced_prompts:
        items = counted(len(status.window.silenced), "item")
        yield "Silenced", f"{counted(prompts, 'prompt')} did not get {items} that contradictions brought to 0"


def _shadow_rows(shadow: ShadowStatus | None) -> Iterator[tuple[str, Line]]:
    if shadow is None or not shadow.is_on:
        return
    counts = shadow.counts
    shown = (Metric.ON_TOPIC, Metric.CONTRADICTED) if counts.judged else ()  # nobody can use what is not there
    rates = [f"{ITEM_METRIC_NAMES[metric]} {Rate(counts.of(metric), counts.judged)}" for metric in shown]
    chosen = f"{counted(len(shadow.choices), 'item')} would have been injected since {shadow.since[:10] or 'then'}"
    yield "Shadow", joined((chosen, *rates, f"{shadow.answered} of {TO_LOOK_AT} looked at"))


def _causal_line(holdout: HoldoutComparison) -> str:
    """Say whether injecting helps, by sessions drawn at random, or how many more it takes to decide."""
    by_name = {outcome.outcome: outcome for outcome in holdout.outcomes}
    measured = [by_name[name] for name in (TurnOutcome.CALLS, TurnOutcome.FAILED_SEARCHES) if name in by_name]
    if any(outcome.is_decided for outcome in measured):
        return f"With injection: {', '.join(map(_outcome_words, measured))} a turn."
    more = f"about {counted(holdout.more_sessions, 'more session')}" if holdout.more_sessions else "more sessions"
    return f"Whether injecting helps is not known yet: {more} would decide it."


def _origin(status: QualityStatus) -> Iterator[Line]:
    """Yield the days that the figures are of, and how much was injected in them."""
    if status.holdout:
        yield _causal_line(status.holdout)
    window = status.window
    ends = f"{WINDOW_DAYS} days to {status.until}{'' if status.is_current else ', the newest that were measured'}"
    items = counted(window.injected.judged + window.injected.unjudged, "item")
    prompts = (
        f"{items} for {counted(window.prompts_with_items, 'prompt')}",
        f"{window.prompts_left_alone:,} got nothing",
    )
    interrupted = f"{window.interrupted:,} interrupted" if window.interrupted else ""
    yield joined((ends, counted(window.turns, "turn"), *prompts, interrupted))


def _notes(status: QualityStatus, is_screen: bool) -> Iterator[Note]:
    # The metric of contradicted items that were corrected.
    """Yield what the figures do not say: corrections that wait, and turns without a verdict."""
    discovery = next(metric for metric in status.metrics if metric.metric is QualityMetric.DISCOVERY)
    if status.wrong and not discovery.now.n:
        waiting = "1 item waits" if status.wrong == 1 else f"{status.wrong:,} items wait"
        yield Note(soft(f"No item was contradicted anew; {waiting} for a correction since before."))
    elif status.pending and not is_screen:  # there the state says it
        yield Note(soft(f"{counted(status.pending, 'correction')} can still be made, and would count."))
    if not is_screen and _is_adjusted(status):
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
    if status.shadow and status.shadow.is_on:
        todo, option = ("Look at what would have", "") if status.shadow.left else ("Start injecting", " --start")
        return f"Nothing reaches your agent yet. {todo}: ", data(f"knowbound quality shadow{option}")
    if status.is_empty:
        return "Nothing is measured yet: no turn of an agent was scored."
    if status.judge.is_unreliable(Metric.CONTRADICTED):
        return "The judge errs too often about contradictions: mend that before you correct an item."
    if status.wrong:
        what = translated("an item") if status.wrong == 1 else counted(status.wrong, "item")
        return say("Correct {} that agents contradicted, first ", what), data(status.items[0].id), "."
    if slow := [hook.name for hook in _hooks(status) if hook.is_slow]:
        return f"The {slow[0]} hook is too slow: run knowbound doctor."
    if not status.window.injected.judged:
        return _nothing_judged_words(status)
    if missed := [metric.metric for metric in status.metrics if metric.state is TargetState.MISSED]:
        return _MISSED[missed[0]] + (" Start with the items below." if status.items else "")
    if not status.judge.measured:
        return "Label turns: nothing is shown to be wrong, by a judge that nobody has measured."
    if any(metric.state is TargetState.UNDECIDED for metric in status.metrics):
        return "Nothing is shown to be wrong; more turns have to be measured to know."
    return "Nothing to do: every metric that is known meets its target."


def _nothing_judged_words(status: QualityStatus) -> str:
    """Say why no injected item has a verdict."""
    if status.window.injected.unjudged:
        return "No item has a verdict, the judge failed: knowbound quality score --again"
    if status.other_corrections:
        waiting = counted(len(status.other_corrections), "item")
        return f"Nothing of ours was injected. Correct {waiting} of others that agents contradicted."
    return "Nothing was injected in these days, so nothing can be said about it."


def _rescue_rows(rescues: RescueFigures | None) -> Iterator[tuple[str, Line]]:
    if rescues is None:
        return
    answered = f"{rescues.said + rescues.absent:,} of {counted(rescues.misses, 'missed lookup')} answered"
    answered += f", {rescues.known:,} by lessons and items" if rescues.known else ""
    used = f"used {rescues.used}" if rescues.used.n else ""
    contradicted = f"contradicted {rescues.contradicted.k:,}" if rescues.contradicted.n else ""
    yield "Rescue", joined((answered, used, contradicted))


def _holdout_row(status: QualityStatus) -> Iterator[tuple[str, Line]]:
    """A row for the screen: what is decided about held-out sessions, or what it takes to know."""
    if holdout := status.holdout:
        needed = [outcome.more for outcome in holdout.outcomes if outcome.more]
        undecided = f"no difference is known yet: {min(needed):,} more turns would decide" if needed else ""
        decided = [_outcome_words(outcome) for outcome in holdout.outcomes if outcome.is_decided]
        yield "Held out", joined((_sides_words(holdout), *(decided or [undecided or "no difference is seen"])))
    elif status.offers_holdout:
        how = data("quality.holdout = 0.1")
        yield "Helps?", ("unknown without a comparison: ", how, " withholds items from one session in ten")


def _sides_words(found: HoldoutComparison) -> str:
    return f"{counted(found.injected, 'turn')} with items, {found.held_out:,} held out"


def _outcome_rows(holdout: HoldoutComparison | None) -> Iterator[tuple[str, Line]]:
    """Rows for the page: a row for every outcome that is compared."""
    if holdout is None:
        return
    yield "Turns", _sides_words(holdout)
    for outcome in holdout.outcomes:
        both = (outcome.injected, outcome.held_out)
        injected, held_out = ("unknown" if mean is None else f"{mean:,.1f}" for mean in both)
        means = f"{injected} with items, {held_out} without"
        yield outcome.outcome.replace("_", " ").capitalize(), f"{means} per turn; {_difference_words(outcome)}"


def _outcome_words(outcome: OutcomeDifference) -> str:
    return f"{outcome.outcome.replace('_', ' ')} {_difference_words(outcome)}"


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


METRIC_NAMES: dict[QualityMetric, str] = {
    **{QualityMetric(metric): name for metric, name in ITEM_METRIC_NAMES.items()},
    QualityMetric.DISCOVERY: "then corrected",
}
_MEANINGS: dict[QualityMetric, str] = {
    QualityMetric.ON_TOPIC: "Injected items that bear on what the prompt asks.",
    QualityMetric.USED: "Injected items that the answer restates or acts on.",
    QualityMetric.CONTRADICTED: "Injected items that the agent contradicted explicitly.",
    QualityMetric.DISCOVERY: "Contradicted items that somebody corrected within 14 days.",
}
_OTHER = 30  # characters of the name of a file on a screen
_STATE_TONES = {
    TargetState.MET: Tone.GOOD,
    TargetState.MISSED: Tone.BAD,
    TargetState.UNDECIDED: Tone.UNSURE,
    TargetState.UNKNOWN: Tone.SOFT,
}
_TREND_TONES = {TrendDirection.BETTER: Tone.GOOD, TrendDirection.WORSE: Tone.BAD}


def _metric_table(status: QualityStatus, *, is_wide: bool) -> Table:
    """The four metrics against their targets, each with its interval and how it changed."""
    adjusted = "adjusted>?4|" if _is_adjusted(status) else ""
    columns = f"|now>|95%>|{adjusted}of>?5|target>|state (more needed)|before>?3|change?2"
    rows = (tuple(_metric_cells(metric, is_wide, is_adjusted=_is_adjusted(status))) for metric in status.metrics)
    return table(columns, rows, hint="")


def _is_adjusted(status: QualityStatus) -> bool:
    """Report whether a rate is shown corrected for the errors of the judge."""
    return any(metric.corrected.value is not None for metric in status.metrics)


def _metric_cells(metric: MetricStatus, is_wide: bool, is_adjusted: bool) -> Iterator[Line]:
    """Yield the cells of a metric, in the order of the columns of `_metric_table`."""
    needed = f" ({metric.more:,})" if metric.state is TargetState.UNDECIDED and metric.more else ""
    yield from (METRIC_NAMES[metric.metric], percent(metric.now.value), percent_range(metric.now.interval))
    if is_adjusted:
        yield rate_cell(metric.corrected, interval=is_wide, none="–")
    yield f"{metric.now.n:,}" if metric.now.n else ""
    yield str(metric.target)
    yield Span(metric.state, _STATE_TONES[metric.state]), f" ({metric.pending:,} wait)" if metric.pending else needed
    yield percent(metric.before.value) if metric.before.n else "–"
    change = metric.difference
    moved = "" if change is None or metric.trend is TrendDirection.SAME else f" {points(change.value)}"
    yield Span(f"{metric.trend}{moved}", _TREND_TONES.get(metric.trend, Tone.SOFT)) if change is not None else ""


def _meanings() -> Section:
    """Return the meaning of the four rates, one line each, for whoever sees them first."""
    rows = ((translated(METRIC_NAMES[metric]).capitalize(), words) for metric, words in _MEANINGS.items())
    return section("What the four rates mean", "meanings", facts(rows))


def _figure(metric: MetricStatus) -> Figure:
    """Return a metric as a card."""
    now, label, meaning = metric.now, *(translated(words[metric.metric]) for words in (METRIC_NAMES, _MEANINGS))
    counts = say("{:,} of {:,}", now.k, now.n) if now.n else "nothing was counted"
    target = say("{} Target {}.", meaning, metric.target)
    return share_figure(label.capitalize(), now.value, now.interval, counts, target, (metric.target.share,))


def _metric_charts(status: QualityStatus) -> tuple[Part, ...]:
    """The metrics over time, with where legs of the rollout began and what would revert the present one."""
    state = status.rollout.state if status.rollout else RolloutState()
    legs = tuple((event.time[:10], f"leg {event.after}") for event in state.history)
    before = state.baselines.get(state.leg)
    # Only this rate has a line below which the leg is reverted.
    kills = {QualityMetric.ON_TOPIC: before.rates[QualityMetric.ON_TOPIC].value} if before else {}
    charts = []
    for metric in status.metrics:
        title, kill = translated(METRIC_NAMES[metric.metric]).capitalize(), kills.get(metric.metric)
        charts.append(MetricChart(title, metric.metric, metric.target, status.series, legs, kill))
    return (*charts, Note(soft("Each point is the 7 days that end with it; the band is its 95% interval.")))


def _breakdown(status: QualityStatus) -> Section:
    """Show counts by backend and source; and texts in no metric: pulled by agents, or injected by other tools."""
    window = status.window
    rows = [
        *_origin_rows("backend", window.by_backend),
        *_origin_rows("source", window.by_source),
        *(_origin_rows("asked for", {"by agents": window.pulled}) if window.pulled != Counts() else ()),
        *_origin_rows("others", window.others, status.others_corrected),
    ]
    named = "".join(f"|{METRIC_NAMES[metric]}>" for metric in QualityMetric)
    others = "What agents asked for, and what others injected (CLAUDE.md and the like), is in no metric above."
    corrections = []
    for correction in status.other_corrections:
        call = f"{correction.tool} {json.dumps(correction.arguments, ensure_ascii=False)}"
        fix: Line = ("Correct it there: ", data(call)) if correction.tool else "Correct it where it is kept."
        head = (data(correction.source), f": contradicted {correction.contradictions}×: ", data(correction.content))
        corrections.append(Entry(head, (("The agent said: ", prose(correction.statement)), fix)))
    shown = listing(corrections, FIRST_ITEMS, "--format json")
    return section("By origin", "origins", table(f"|name|judged>{named}", rows), Note(soft(others)), shown)


def _origin_rows(
    kind: str, groups: Mapping[str, Counts], corrected: Mapping[str, Rate] | None = None
) -> Iterator[list[Line]]:
    """Yield sources, most items first. Corrections are counted for our whole store, and for each foreign source."""
    for name, counts in _most_judged_first(groups):
        rates = [*(Rate(counts.of(metric), counts.judged) for metric in Metric), (corrected or {}).get(name, Rate())]
        shares = (f"{percent(rate.value)} ({rate.k:,})" if rate.n else "–" for rate in rates)
        yield [kind, data(name), f"{counts.judged:,}", *shares]


def _most_judged_first(groups: Mapping[str, Counts]) -> list[tuple[str, Counts]]:
    return sorted(groups.items(), key=lambda group: (-group[1].judged, group[0]))


def _others_row(status: QualityStatus) -> Iterator[tuple[str, Line]]:
    """Return a row for the screen: the foreign file or hook with the most pieces, and the number of further sources."""
    ordered = _most_judged_first(status.window.others)
    if ordered and ordered[0][1].judged:
        name, counts = ordered[0]
        on_topic, used = (percent(counts.of(metric) / counts.judged) for metric in (Metric.ON_TOPIC, Metric.USED))
        words = f": {on_topic} on topic, {used} used of {counted(counts.judged, 'piece')}"
        more = f"{len(ordered) - 1:,} more on the page" if len(ordered) > 1 else ""
        yield "Others", joined(((data(shorten(name, _OTHER)), words), more))


class _Hook(NamedTuple):
    """The time that a hook took over the days of the window, and its limit."""

    name: str
    took: Durations
    limit: int

    @property
    def is_slow(self) -> bool:
        return is_slower_than(self.took, self.limit)

    def __str__(self) -> str:
        ms = p95_ms(self.took)
        return f"{'unknown' if ms is None else f'{ms:,}'} of {self.limit} ms"


def _hooks(status: QualityStatus) -> tuple[_Hook, _Hook]:
    window = status.window
    return _Hook("prompt", window.prompt_ms, PROMPT_LIMIT_MS), _Hook("stop", window.stop_ms, STOP_LIMIT_MS)


def _cost_rows(status: QualityStatus) -> Iterator[tuple[str, Line]]:
    """Yield the tokens, and the time of each hook, as rows."""
    yield "Tokens", _tokens(status)
    for hook in _hooks(status):
        too_slow = (" ", Span("too slow", Tone.BAD)) if hook.is_slow else ()
        yield f"{hook.name.capitalize()} hook", (f"p95 {hook}", *too_slow)


def _tokens(status: QualityStatus) -> str:
    window = status.window
    if not window.injected_tokens or not window.prompts_with_items:
        return "no token was injected"
    return f"{window.injected_tokens / window.prompts_with_items:,.0f} tokens per prompt with items"
