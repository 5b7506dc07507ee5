"""The parts of the page of `quality status` that hold numbers: metrics, charts, breakdowns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from knowbound.core.quality import Metric
from knowbound.core.quality_log import Counts
from knowbound.report.formats.columns import shorten
from knowbound.report.quality.model import QualityStatus
from knowbound.report.sections import (
    Column,
    Figure,
    Figures,
    Line,
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
    soft,
)
from knowbound.report.turn_calibration import METRIC_NAMES as ITEM_METRIC_NAMES
from knowbound.report.words import counted
from knowbound.stats.calibration import Estimate
from knowbound.stats.paired import points
from knowbound.stats.printing import percent, percent_interval, percent_range
from knowbound.stats.quality import MetricStatus, QualityMetric, Target, TargetState, Trend
from knowbound.stats.rate import Rate
from knowbound.stats.rollout import RolloutState

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
_TREND_TONES = {Trend.BETTER: Tone.GOOD, Trend.WORSE: Tone.BAD}


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
    if one.state is not TargetState.UNDECIDED:
        return ""
    return f" ({one.more:,})" if one.more else f" ({one.pending:,} open)" if one.pending else ""


def _adjusted(found: Estimate, is_wide: bool) -> str:
    if found.value is None or found.low is None or found.high is None:
        return "–"
    return f"{percent(found.value)} ({percent_range((found.low, found.high))})" if is_wide else percent(found.value)


def _change(one: MetricStatus) -> Line:
    difference = one.difference
    if difference is None:
        return ""
    words = f"{one.trend} {points(difference.value)}" if one.trend is not Trend.SAME else str(one.trend)
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
        *_rows("others", window.others),
    ]
    columns = (Column(""), Column("name"), Column("judged", right=True))
    named = tuple(Column(METRIC_NAMES[QualityMetric(metric)], right=True) for metric in Metric)
    others = "What agents asked for, and what others injected (CLAUDE.md and the like), is in no metric."
    return Section("By origin", (Table((*columns, *named), tuple(rows)), Note(soft(others))), "origins")


def others_row(status: QualityStatus) -> Iterator[tuple[str, Line]]:
    """For the screen: the file or hook of others with the most pieces, and how many others there are."""
    ordered = sorted(status.window.others.items(), key=lambda pair: (-pair[1].judged, pair[0]))
    if not ordered or not ordered[0][1].judged:
        return
    name, counts = ordered[0]
    on_topic, used = (percent(counts.of(metric) / counts.judged) for metric in (Metric.ON_TOPIC, Metric.USED))
    words = (data(shorten(name, _OTHER)), f": {on_topic} on topic, {used} used of {counted(counts.judged, 'piece')}")
    yield "Others", joined((words, f"{len(ordered) - 1:,} more on the page" if len(ordered) > 1 else ""))


def _rows(kind: str, counts: Mapping[str, Counts]) -> Iterator[Row]:
    """Those with the most items first."""
    for name, one in sorted(counts.items(), key=lambda pair: (-pair[1].judged, pair[0])):
        yield Row((kind, data(name), f"{one.judged:,}", *_shares(one)))


def _shares(counts: Counts) -> Iterator[str]:
    for metric in Metric:
        rate = Rate(counts.of(metric), counts.judged)
        yield f"{percent(rate.value)} ({rate.k:,})" if rate.n else "–"
