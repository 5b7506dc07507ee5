"""Parts of the page of `quality status`: metrics, charts, breakdowns, cost, the judge, the items to fix."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from knowbound.core.quality import Counts, Metric
from knowbound.language import say, translated
from knowbound.report.formats.plain import shorten
from knowbound.report.gaps.figures import share_figure
from knowbound.report.judging import METRIC_NAMES as ITEM_METRIC_NAMES
from knowbound.report.judging import gate_words, weekly_lines
from knowbound.report.lines import Line, Span, Tone, data, joined, prose, quote, soft
from knowbound.report.quality.items import anchor_of, turn_words
from knowbound.report.quality.model import ENOUGH, FIRST_ITEMS, ITEM_DAYS, Fault, ItemToFix, JudgeWorth, QualityStatus
from knowbound.report.sections import (
    Entry,
    Figure,
    Figures,
    MetricChart,
    Note,
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
    MetricStatus,
    QualityMetric,
    TargetState,
    TrendDirection,
    is_slower_than,
    p95_ms,
)
from knowbound.stats.rate import Rate
from knowbound.stats.rollout import RolloutState
from knowbound.text.printable import counted

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
_FIRST_WORDS = 68  # of an item on a screen
_STATEMENT = 80  # of what an agent said instead
_STATE_TONES = {
    TargetState.MET: Tone.GOOD,
    TargetState.MISSED: Tone.BAD,
    TargetState.UNDECIDED: Tone.UNSURE,
    TargetState.UNKNOWN: Tone.SOFT,
}
_TREND_TONES = {TrendDirection.BETTER: Tone.GOOD, TrendDirection.WORSE: Tone.BAD}
_FAULT_TONES = {Fault.WRONG: Tone.BAD, Fault.OFF_TOPIC: Tone.FAIR, Fault.IGNORED: Tone.UNSURE}
LABEL = "knowbound judge label --question turns"
CALIBRATE = "knowbound judge calibrate --question turns"


def metric_table(status: QualityStatus, *, is_wide: bool) -> Table:
    """The four metrics against their targets, each with its interval and how it changed."""
    adjusted = "adjusted>?4|" if is_adjusted(status) else ""
    columns = f"|now>|95%>|{adjusted}of>?5|target>|state (more needed)|before>?3|change?2"
    rows = (tuple(_metric_cells(metric, is_wide, is_adjusted=is_adjusted(status))) for metric in status.metrics)
    return table(columns, rows, hint="")


def is_adjusted(status: QualityStatus) -> bool:
    """Report whether a rate is shown corrected for the errors of the judge."""
    return any(metric.corrected.value is not None for metric in status.metrics)


def _metric_cells(metric: MetricStatus, is_wide: bool, is_adjusted: bool) -> Iterator[Line]:
    """Yield the cells of a metric, in the order of the columns of `metric_table`."""
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


def meanings() -> Section:
    """Return the meaning of the four rates, one line each, for whoever sees them first."""
    rows = ((translated(METRIC_NAMES[metric]).capitalize(), words) for metric, words in _MEANINGS.items())
    return section("What the four rates mean", "meanings", facts(rows))


def figures(status: QualityStatus) -> Figures:
    """Return the four metrics as cards."""
    return Figures(tuple(map(_figure, status.metrics)))


def _figure(metric: MetricStatus) -> Figure:
    now, label, meaning = metric.now, *(translated(words[metric.metric]) for words in (METRIC_NAMES, _MEANINGS))
    counts = say("{:,} of {:,}", now.k, now.n) if now.n else "nothing was counted"
    target = say("{} Target {}.", meaning, metric.target)
    return share_figure(label.capitalize(), now.value, now.interval, counts, target, (metric.target.share,))


def metric_charts(status: QualityStatus) -> tuple[Part, ...]:
    """The metrics over time, with where legs of the rollout began and what would revert the present one."""
    state = status.rollout.state if status.rollout else RolloutState()
    legs = tuple((event.time[:10], f"leg {event.after}") for event in state.history)
    before = state.baselines.get(state.leg)
    kills = {QualityMetric.ON_TOPIC: before.rates[QualityMetric.ON_TOPIC].value} if before else {}
    charts = []
    for metric in status.metrics:
        title, kill = translated(METRIC_NAMES[metric.metric]).capitalize(), kills.get(metric.metric)
        charts.append(MetricChart(title, metric.metric, metric.target, status.series, legs, kill))
    return (*charts, Note(soft("Each point is the 7 days that end with it; the band is its 95% interval.")))


def breakdown(status: QualityStatus) -> Section:
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
    for name, counts in sorted(groups.items(), key=lambda pair: (-pair[1].judged, pair[0])):
        rates = [*(Rate(counts.of(metric), counts.judged) for metric in Metric), (corrected or {}).get(name, Rate())]
        shares = (f"{percent(rate.value)} ({rate.k:,})" if rate.n else "–" for rate in rates)
        yield [kind, data(name), f"{counts.judged:,}", *shares]


def others_row(status: QualityStatus) -> Iterator[tuple[str, Line]]:
    """Return a row for the screen: the foreign file or hook with the most pieces, and the number of further sources."""
    ordered = sorted(status.window.others.items(), key=lambda pair: (-pair[1].judged, pair[0]))
    if ordered and ordered[0][1].judged:
        name, counts = ordered[0]
        on_topic, used = (percent(counts.of(metric) / counts.judged) for metric in (Metric.ON_TOPIC, Metric.USED))
        words = f": {on_topic} on topic, {used} used of {counted(counts.judged, 'piece')}"
        more = f"{len(ordered) - 1:,} more on the page" if len(ordered) > 1 else ""
        yield "Others", joined(((data(shorten(name, _OTHER)), words), more))


def hooks(status: QualityStatus) -> Iterator[tuple[str, str, bool]]:
    """Both hooks: the name, the p95 of the window beside its limit, and whether it is too slow."""
    window = status.window
    for name, took, limit in (("Prompt", window.prompt_ms, PROMPT_LIMIT_MS), ("Stop", window.stop_ms, STOP_LIMIT_MS)):
        ms = p95_ms(took)
        yield name, f"{'unknown' if ms is None else f'{ms:,}'} of {limit} ms", is_slower_than(took, limit)


def cost_rows(status: QualityStatus) -> Iterator[tuple[str, Line]]:
    """Yield the tokens, and the time of each hook, as rows."""
    yield "Tokens", _tokens(status)
    for name, took, is_slow in hooks(status):
        yield f"{name} hook", (f"p95 {took}", *((" ", Span("too slow", Tone.BAD)) if is_slow else ()))


def cost_line(status: QualityStatus) -> Line:
    """Return the tokens and the times of the hooks in one line."""
    took = ", ".join(f"{name.lower()} {took}" for name, took, _ in hooks(status))
    return joined((_tokens(status), f"p95 of hooks: {took}"))


def _tokens(status: QualityStatus) -> str:
    window = status.window
    if not window.injected_tokens or not window.prompts_with_items:
        return "no token was injected"
    return f"{window.injected_tokens / window.prompts_with_items:,.0f} tokens per prompt with items"


def judge_rows(judge: JudgeWorth) -> Iterator[tuple[str, Line]]:
    """Yield rows for the screen: the judge, its agreement with people, and the next step."""
    yield "Judge", _judge_words(judge)
    measured = judge.measured.items()
    if judge.versions and measured:
        agreements = (
            f"{ITEM_METRIC_NAMES[name]} {percent(result.found.agreement.value)} ({result.gate.state})"
            for name, result in measured
        )
        yield "Agrees", joined(agreements)
    if judge.versions and not (measured and all(result.gate.is_reliable for _, result in measured)):
        yield "Measure", (data(LABEL), ", then ", data(CALIBRATE))
    elif judge.versions and judge.weekly and (judge.weekly.drifted or judge.weekly.is_due):
        yield "Drift", next(weekly_lines(judge.weekly))


def judge_parts(judge: JudgeWorth) -> tuple[Part, ...]:
    """Yield parts of a page: the figures of every metric, and the weekly sample."""
    if not judge.measured:
        return (facts(judge_rows(judge)),)
    rows = []
    for metric, measured in judge.measured.items():
        shares = (percent(share.value) for share in (measured.found.sensitivity, measured.found.specificity))
        why = prose(gate_words(measured.gate, measured.found))
        rows.append((ITEM_METRIC_NAMES[metric], str(measured.gate.state), *shares, why))
    weekly = tuple(weekly_lines(judge.weekly))
    shown = table("metric|state|sensitivity|specificity|why", rows)
    return facts([("Judge", _judge_words(judge))]), shown, *((listing(weekly),) if weekly else ())


def _judge_words(judge: JudgeWorth) -> Line:
    """Return the judges of these days, and the labels that they were compared with."""
    if not judge.versions:
        return "none judged a turn of these days"
    by: Line = joined((data(version), f" ({counted(turns, 'turn')})") for version, turns in judge.versions.items())
    if all(version.startswith("rules-") for version in judge.versions):  # they find plain contradictions alone
        by = joined((by, "contradicted is a lower bound"))
    if not judge.measured:
        return joined((by, "unmeasured: nobody knows yet how often it errs"))
    against = f"{counted(judge.labelled, 'labelled turn')}, {judge.made[:10]}"
    return joined((by, (data(judge.version), f" against {against}") if len(judge.versions) > 1 else against))


def items_to_fix(status: QualityStatus, is_screen: bool) -> Section:
    """List the items to fix: the first five; a page has further items folded."""
    title, judged = say("Fix first, of what was injected in {} days", ITEM_DAYS), status.window.injected.judged
    if not status.items:
        nothing = (
            f"Nothing: no item that is served was contradicted, and none with {ENOUGH} verdicts or more was never on "
            "topic or never used."
        )
        return section(title, "items", Note(nothing if judged else "Unknown: no item was judged."))
    linked = set() if is_screen else {page.id for page in status.pages}
    entries = (_item_entry(item, is_screen, is_linked=item.id in linked) for item in status.items)
    return section(title, "items", listing(entries, FIRST_ITEMS, "--format json"))


def _item_entry(item: ItemToFix, is_screen: bool, *, is_linked: bool) -> Entry:
    words, statement, draft = (
        shorten(text, most) if is_screen else text
        for text, most in ((item.content, _FIRST_WORDS), (item.statement, _STATEMENT), (item.draft, _STATEMENT))
    )
    id_ = Span(item.id, Tone.DATA, anchor_of(item.id) if is_linked else "")
    head: Line = (Span(item.fault, _FAULT_TONES[item.fault]), " ", id_, ": ", quote(words))
    instead: tuple[Line, ...] = (("agents say: ", quote(statement)),) if statement and not item.draft else ()
    instead += (("suggested: ", quote(draft)),) if draft else ()
    times, place = _times_and_fix(item)
    numbers = joined((times, f"last {item.time[:10]}", *turn_words(item.session, item.turn, is_short=is_screen)))
    return Entry(head, (*instead, numbers), place)


def _times_and_fix(item: ItemToFix) -> tuple[str, Line]:
    often, command = "once" if item.times == 1 else f"{item.times:,} times", data(item.commands[0])
    match item.fault:
        case Fault.WRONG:
            silenced = ", silenced: not injected any more" if item.is_silenced else ""
            return f"contradicted {often}{silenced}", command
        case Fault.OFF_TOPIC:
            return f"injected {often}, on topic never", (command, " then narrow it, or ", data(item.commands[1]))
        case Fault.IGNORED:
            leave = " or leave it: not being used is no fault by itself"
            return f"on topic {often}, used never", (command, leave)
