"""The loop, simulated: what ranking and corrections do to the four metrics of a store whose truth is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from knowbound.report.formats import PageFormat, render
from knowbound.report.formats.json import as_json
from knowbound.report.quality.sections import METRIC_NAMES
from knowbound.report.sections import Column, Line, MetricChart, Note, Page, Part, Row, Section, Table, soft
from knowbound.stats.printing import percent, percent_range
from knowbound.stats.quality import TARGETS, QualityMetric, WindowRates
from knowbound.stats.rate import Mean

_WORDS = {
    QualityMetric.ON_TOPIC: "on topic",
    QualityMetric.USED: "used",
    QualityMetric.CONTRADICTED: "contradicted",
    QualityMetric.DISCOVERY: "discovery",
}


class Outcome(msgspec.Struct, frozen=True):
    """What one way to run the loop gave: the first and the last week, each the mean of all seeds."""

    name: str
    first: dict[QualityMetric, Mean]
    last: dict[QualityMetric, Mean]
    days_in_top: Mean  # that a wrong item was still injected after its first contradiction, in the middle


class SimulationReport(msgspec.Struct, frozen=True):
    """Several ways to run the loop over the same seeds, and the days of the first seed."""

    seeds: int
    world: str
    outcomes: tuple[Outcome, ...]
    windows: tuple[WindowRates, ...]
    legs: tuple[tuple[str, str], ...]
    kill: dict[QualityMetric, float]


def render_simulation(report: SimulationReport, format: PageFormat, *, width: int = 100, colour: bool = False) -> str:
    """The report in a format; width and colour are for the terminal."""
    return render(format, lambda: _page(report), lambda: _document(report), width=width, colour=colour)


def _page(report: SimulationReport) -> Page:
    return Page(
        verb="quality simulate",
        title="The loop, simulated",
        lead="A made-up store whose truth is known; what knowbound does with it is what it does with yours.",
        totals=report.world,
        origin=(),
        sections=(
            Section("First and last week", (_table(report.outcomes), Note(soft(_intervals(report)))), "weeks"),
            Section("Over time, the first seed", _charts(report), "time"),
        ),
    )


def _intervals(report: SimulationReport) -> str:
    return f"Means of {report.seeds} seeds with their 95% intervals. Discovery is of all records raised so far."


def _table(outcomes: Sequence[Outcome]) -> Table:
    columns = (Column(""), Column("week"), *(Column(_WORDS[metric]) for metric in QualityMetric))
    return Table((*columns, Column("days in the top", right=True)), tuple(_rows(outcomes)))


def _rows(outcomes: Sequence[Outcome]) -> Iterator[Row]:
    for one in outcomes:
        yield Row((one.name, "first", *_cells(one.first), ""))
        yield Row(("", "last", *_cells(one.last), f"{one.days_in_top.value or 0:.0f}"))


def _cells(means: dict[QualityMetric, Mean]) -> tuple[Line, ...]:
    return tuple(_mean(means.get(metric, Mean())) for metric in QualityMetric)


def _mean(mean: Mean) -> str:
    if mean.value is None:
        return "–"
    interval = percent_range((mean.low, mean.high)) if mean.low is not None and mean.high is not None else ""
    return f"{percent(mean.value)} ({interval})" if interval else percent(mean.value)


def _charts(report: SimulationReport) -> tuple[Part, ...]:
    return tuple(
        MetricChart(
            METRIC_NAMES[metric].capitalize(), metric, TARGETS[metric], report.windows, report.legs,
            report.kill.get(metric),
        )
        for metric in QualityMetric
    )  # fmt: skip


def _document(report: SimulationReport) -> dict[str, object]:
    """`knowbound.quality_simulation/1` of docs/json.md."""
    return {
        "format": "knowbound.quality_simulation/1",
        "seeds": report.seeds,
        "outcomes": as_json(report.outcomes),
        "legs": [list(leg) for leg in report.legs],
    }
