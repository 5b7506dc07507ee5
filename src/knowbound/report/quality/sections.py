"""Parts of the page of `quality status`: metrics, charts, breakdowns, cost, the judge, the items to fix."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from knowbound.core.quality import Counts, Metric
from knowbound.report.formats.columns import shorten
from knowbound.report.judge_gate import METRIC_NAMES as ITEM_METRIC_NAMES
from knowbound.report.judge_gate import gate_words, weekly_lines
from knowbound.report.quality.item import anchor_of, turn_words
from knowbound.report.quality.model import (
    ENOUGH,
    FIRST_ITEMS,
    ITEM_DAYS,
    Fault,
    ItemToFix,
    JudgeWorth,
    OtherCorrection,
    QualityStatus,
)
from knowbound.report.sections import (
    Column,
    Entry,
    Facts,
    Figure,
    Figures,
    Line,
    Listing,
    MetricChart,
    Note,
    Part,
    Row,
    Section,
    Span,
    Table,
    Tone,
    data,
    joined,
    prose,
    soft,
)
from knowbound.stats.calibration import Estimate
from knowbound.stats.paired import points
from knowbound.stats.printing import percent, percent_interval, percent_range
from knowbound.stats.quality import (
    PROMPT_LIMIT_MS,
    STOP_LIMIT_MS,
    MetricStatus,
    QualityMetric,
    Target,
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
_STATE_TONES = {
    TargetState.MET: Tone.GOOD,
    TargetState.MISSED: Tone.BAD,
    TargetState.UNDECIDED: Tone.UNSURE,
    TargetState.UNKNOWN: Tone.SOFT,
}
_TREND_TONES = {TrendDirection.BETTER: Tone.GOOD, TrendDirection.WORSE: Tone.BAD}


def target_words(target: Target) -> str:
    """`≥ 80%`, `≤ 5%`."""
    return f"{'≤' if target.is_ceiling else '≥'} {percent(target.share)}"


def metric_table(status: QualityStatus, *, is_wide: bool) -> Table:
    """The four metrics against their targets, each with its interval and how it changed."""
    columns = (
        Column(""),
        Column("now", right=True),
        Column("95%", right=True),
        Column("adjusted", right=True, optional=4),
        Column("of", right=True, optional=5),
        Column("target", right=True),
        Column("state (more needed)"),
        Column("before", right=True, optional=3),
        Column("change", optional=2),
    )
    shown = [at for at, column in enumerate(columns) if is_adjusted(status) or column.name != "adjusted"]
    rows = [Row(tuple(cells[at] for at in shown)) for cells in (_cells(one, is_wide) for one in status.metrics)]
    return Table(tuple(columns[at] for at in shown), tuple(rows), hint="")


def is_adjusted(status: QualityStatus) -> bool:
    """Whether a rate is shown as it would be for a judge without error."""
    return any(one.corrected.value is not None for one in status.metrics)


def _cells(one: MetricStatus, is_wide: bool) -> tuple[Line, ...]:
    return (
        METRIC_NAMES[one.metric],
        percent(one.now.value),
        percent_range(one.now.interval),
        _adjusted(one.corrected, is_wide),
        f"{one.now.n:,}" if one.now.n else "",
        target_words(one.target),
        (Span(one.state, _STATE_TONES[one.state]), _needed(one)),
        percent(one.before.value) if one.before.n else "–",
        _change(one),
    )


def _needed(one: MetricStatus) -> str:
    """Return what waits for a correction, or how many more would decide."""
    if one.pending:
        return f" ({one.pending:,} wait)"
    return f" ({one.more:,})" if one.state is TargetState.UNDECIDED and one.more else ""


def meanings() -> tuple[Part, ...]:
    """Return the meaning of the four rates, one line each, for whoever sees them first."""
    return (Facts(tuple((METRIC_NAMES[metric].capitalize(), words) for metric, words in _MEANINGS.items())),)


def _adjusted(found: Estimate, is_wide: bool) -> str:
    if found.value is None or found.low is None or found.high is None:
        return "–"
    return f"{percent(found.value)} ({percent_range((found.low, found.high))})" if is_wide else percent(found.value)


def _change(one: MetricStatus) -> Line:
    difference = one.difference
    if difference is None:
        return ""
    words = f"{one.trend} {points(difference.value)}" if one.trend is not TrendDirection.SAME else str(one.trend)
    return Span(words, _TREND_TONES.get(one.trend, Tone.SOFT))


def figures(status: QualityStatus) -> Figures:
    """The same as cards."""
    return Figures(tuple(map(_figure, status.metrics)))


def _figure(one: MetricStatus) -> Figure:
    interval = one.now.interval
    drawn = (interval[0], one.now.value or 0.0, interval[1]) if interval else None
    counts = f"{one.now.k:,} of {one.now.n:,}" if one.now.n else "nothing was counted"
    return Figure(
        METRIC_NAMES[one.metric].capitalize(),
        percent(one.now.value),
        percent_interval(interval),
        drawn,
        counts,
        f"{_MEANINGS[one.metric]} Target {target_words(one.target)}.",
        (one.target.share,),
    )


def metric_charts(status: QualityStatus) -> tuple[Part, ...]:
    """The metrics over time, with where legs of the rollout began and what would revert the present one."""
    state = status.rollout.state if status.rollout else RolloutState()
    legs = tuple((event.time[:10], f"leg {event.after}") for event in state.history)
    before = state.baselines.get(state.leg)
    kills = {QualityMetric.ON_TOPIC: before.rates[QualityMetric.ON_TOPIC].value} if before else {}
    charts = tuple(
        MetricChart(
            METRIC_NAMES[one.metric].capitalize(), one.metric, one.target, status.series, legs, kills.get(one.metric)
        )
        for one in status.metrics
    )
    return (*charts, Note(soft("Each point is the 7 days that end with it; the band is its 95% interval.")))


def breakdown(status: QualityStatus) -> Section:
    """By backend and source; and, in no metric, what agents asked for and what others injected."""
    window = status.window
    rows = [
        *_rows("backend", window.by_backend),
        *_rows("source", window.by_source),
        *(_rows("asked for", {"by agents": window.pulled}) if window.pulled != Counts() else ()),
        *_rows("others", window.others, status.others_corrected),
    ]
    columns = (Column(""), Column("name"), Column("judged", right=True))
    named = tuple(Column(METRIC_NAMES[metric], right=True) for metric in QualityMetric)
    others = "What agents asked for, and what others injected (CLAUDE.md and the like), is in no metric above."
    corrections = Listing(tuple(map(_other_correction, status.other_corrections)), FIRST_ITEMS, "--format json")
    return Section("By origin", (Table((*columns, *named), tuple(rows)), Note(soft(others)), corrections), "origins")


def _other_correction(one: OtherCorrection) -> Entry:
    """A contradicted item of others, with the call that corrects it there."""
    call = f"{one.tool} {json.dumps(one.arguments, ensure_ascii=False)}"
    fix: Line = ("Correct it there: ", data(call)) if one.tool else "Correct it where it is kept."
    said: Line = ("The agent said: ", prose(one.statement))
    return Entry((data(one.source), f": contradicted {one.contradictions}×: ", data(one.content)), (said, fix))


def others_row(status: QualityStatus) -> Iterator[tuple[str, Line]]:
    """For the screen: the file or hook of others with the most pieces, and how many others there are."""
    ordered = sorted(status.window.others.items(), key=lambda pair: (-pair[1].judged, pair[0]))
    if not ordered or not ordered[0][1].judged:
        return
    name, counts = ordered[0]
    on_topic, used = (percent(counts.of(metric) / counts.judged) for metric in (Metric.ON_TOPIC, Metric.USED))
    words = (data(shorten(name, _OTHER)), f": {on_topic} on topic, {used} used of {counted(counts.judged, 'piece')}")
    yield "Others", joined((words, f"{len(ordered) - 1:,} more on the page" if len(ordered) > 1 else ""))


def _rows(kind: str, counts: Mapping[str, Counts], corrected: Mapping[str, Rate] | None = None) -> Iterator[Row]:
    """Those with the most items first; corrections are counted for the whole store, and for each source of others."""
    for name, one in sorted(counts.items(), key=lambda pair: (-pair[1].judged, pair[0])):
        rate = (corrected or {}).get(name, Rate(0, 0))
        yield Row((kind, data(name), f"{one.judged:,}", *_shares(one), _share(rate)))


def _shares(counts: Counts) -> Iterator[str]:
    return (_share(Rate(counts.of(metric), counts.judged)) for metric in Metric)


def _share(rate: Rate) -> str:
    return f"{percent(rate.value)} ({rate.k:,})" if rate.n else "–"


class Hook(NamedTuple):
    """Duration of a hook beside its limit."""

    name: str
    took: str
    limit: int
    is_slow: bool


def hooks(status: QualityStatus) -> Iterator[Hook]:
    """Both hooks, with the p95 of the window."""
    for name, durations, limit in (
        ("Prompt", status.window.prompt_ms, PROMPT_LIMIT_MS),
        ("Stop", status.window.stop_ms, STOP_LIMIT_MS),
    ):
        ms = p95_ms(durations)
        yield Hook(name, "unknown" if ms is None else f"{ms:,}", limit, is_slower_than(durations, limit))


def cost_rows(status: QualityStatus) -> Iterator[tuple[str, Line]]:
    """Line by line."""
    yield "Tokens", _tokens(status)
    for hook in hooks(status):
        slow = (" ", Span("too slow", Tone.BAD)) if hook.is_slow else ()
        yield f"{hook.name} hook", (f"p95 {hook.took} of {hook.limit} ms", *slow)


def cost_line(status: QualityStatus) -> Line:
    """All of it in one line."""
    took = (f"{hook.name.lower()} {hook.took} of {hook.limit} ms" for hook in hooks(status))
    return joined((_tokens(status), f"p95 of hooks: {', '.join(took)}"))


def _tokens(status: QualityStatus) -> str:
    window = status.window
    if not window.injected_tokens or not window.prompts_with_items:
        return "no token was injected"
    return f"{window.injected_tokens / window.prompts_with_items:,.0f} tokens per prompt with items"


LABEL = "knowbound judge label --question turns"
CALIBRATE = "knowbound judge calibrate --question turns"


def judge_rows(judge: JudgeWorth) -> Iterator[tuple[str, Line]]:
    """For the screen: who judged, how far it agrees with people, and what is to be done about it."""
    yield "Judge", _who(judge)
    if not judge.versions:
        return
    if not judge.measured:
        yield "Measure", (data(LABEL), ", then ", data(CALIBRATE))
        return
    agreement = (
        f"{ITEM_METRIC_NAMES[metric]} {percent(one.found.agreement.value)} ({one.gate.state})"
        for metric, one in judge.measured.items()
    )
    yield "Agrees", joined(agreement)
    if not all(one.gate.is_reliable for one in judge.measured.values()):
        yield "Measure", (data(LABEL), ", then ", data(CALIBRATE))
    elif judge.weekly and (judge.weekly.drifted or judge.weekly.is_due):
        yield "Drift", next(weekly_lines(judge.weekly))


def judge_parts(judge: JudgeWorth) -> tuple[Part, ...]:
    """For a page: the figures of every metric, and the weekly sample."""
    if not judge.measured:
        return (Facts(tuple(judge_rows(judge))),)
    columns = ("metric", "state", "sensitivity", "specificity", "why")
    weekly = tuple(map(Entry, weekly_lines(judge.weekly)))
    return (
        Facts((("Judge", _who(judge)),)),
        Table(tuple(map(Column, columns)), tuple(_row(metric, judge) for metric in judge.measured)),
        *((Listing(weekly),) if weekly else ()),
    )


def _who(judge: JudgeWorth) -> Line:
    if not judge.versions:
        return "none judged a turn of these days"
    by: Line = joined((data(one), f" ({counted(turns, 'turn')})") for one, turns in judge.versions.items())
    if all(one.startswith("rules-") for one in judge.versions):  # they find plain contradictions alone
        by = joined((by, "contradicted is a lower bound"))
    if not judge.measured:
        return joined((by, "unmeasured: nobody knows yet how often it errs"))
    against = f"{counted(judge.labelled, 'labelled turn')}, {judge.made[:10]}"
    return joined((by, (data(judge.version), f" against {against}") if len(judge.versions) > 1 else against))


def _row(metric: Metric, judge: JudgeWorth) -> Row:
    one = judge.measured[metric]
    shares = (percent(share.value) for share in (one.found.sensitivity, one.found.specificity))
    return Row((ITEM_METRIC_NAMES[metric], str(one.gate.state), *shares, prose(gate_words(one.gate, one.found))))


_FIRST_WORDS = 68  # characters of an item on a screen
_STATEMENT = 80  # of what an agent said instead
_FAULT_TONES = {Fault.WRONG: Tone.BAD, Fault.OFF_TOPIC: Tone.FAIR, Fault.IGNORED: Tone.UNSURE}


def items_to_fix(status: QualityStatus, is_screen: bool) -> Section:
    """The first five; a page has the others folded."""
    title = f"Fix first, of what was injected in {ITEM_DAYS} days"
    if not status.items:
        return Section(title, (Note(_nothing_to_fix(status)),), "items")
    linked = set() if is_screen else {page.id for page in status.pages}
    entries = tuple(_entry(one, is_screen, is_linked=one.id in linked) for one in status.items)
    return Section(title, (Listing(entries, FIRST_ITEMS, "--format json"),), "items")


def _entry(one: ItemToFix, is_screen: bool, *, is_linked: bool) -> Entry:
    words = shorten(one.content, _FIRST_WORDS) if is_screen else one.content
    id_ = Span(one.id, Tone.DATA, anchor_of(one.id) if is_linked else "")
    head: Line = (Span(one.fault, _FAULT_TONES[one.fault]), " ", id_, ": ", Span(words, Tone.QUOTE))
    statement = shorten(one.statement, _STATEMENT) if is_screen else one.statement
    said: tuple[Line, ...] = (("agents say: ", Span(statement, Tone.QUOTE)),) if statement and not one.draft else ()
    draft = shorten(one.draft, _STATEMENT) if is_screen else one.draft
    said += (("suggested: ", Span(draft, Tone.QUOTE)),) if draft else ()
    numbers = joined((_times(one), f"last {one.time[:10]}", *turn_words(one.session, one.turn, is_short=is_screen)))
    return Entry(head, (*said, numbers), place=_what_to_run(one))


def _times(one: ItemToFix) -> str:
    match one.fault:
        case Fault.WRONG:
            silenced = ", silenced: not injected any more" if one.is_silenced else ""
            return f"contradicted {_often(one.times)}{silenced}"
        case Fault.OFF_TOPIC:
            return f"injected {_often(one.times)}, on topic never"
        case Fault.IGNORED:
            return f"on topic {_often(one.times)}, used never"


def _often(times: int) -> str:
    return "once" if times == 1 else f"{times:,} times"


def _what_to_run(one: ItemToFix) -> Line:
    match one.fault:
        case Fault.WRONG:
            return data(one.commands[0])
        case Fault.OFF_TOPIC:
            return data(one.commands[0]), " then narrow it, or ", data(one.commands[1])
        case Fault.IGNORED:
            return data(one.commands[0]), " or leave it: not being used is no fault by itself"


def _nothing_to_fix(status: QualityStatus) -> str:
    if not status.window.injected.judged:
        return "Unknown: no item was judged."
    return (
        f"Nothing: no item that is served was contradicted, and none with {ENOUGH} verdicts or more was never on topic "
        "or never used."
    )
