"""What a replay found: two rankings over the same logged candidates, in any format (specification 2, section 6)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from knowbound.core.quality import Metric
from knowbound.report.formats import render
from knowbound.report.formats.json import as_json
from knowbound.report.sections import Column, Entry, Line, Listing, Page, Row, Section, Table
from knowbound.report.turn_calibration import METRIC_NAMES
from knowbound.report.words import counted
from knowbound.stats.paired import points
from knowbound.stats.printing import percent
from knowbound.stats.replay import FEWEST_TURNS, MetricChange, Ranking, ReplayResult, ReplayVerdict

Format = Literal["text", "json", "markdown"]
_VERDICTS: dict[ReplayVerdict, str] = {
    ReplayVerdict.BETTER: "Better for certain in at least one metric, and worse in none.",
    ReplayVerdict.SAME: "The same: no judged item would have moved.",
    ReplayVerdict.UNDECIDED: "Not shown to be worse; the turns cannot tell which is better.",
    ReplayVerdict.WORSE: "Worse for certain.",
    ReplayVerdict.TOO_FEW: f"Nothing can be said: under {FEWEST_TURNS} turns have a judged item in both rankings.",
}


def render_replay(result: ReplayResult, format: Format, *, width: int = 100, colour: bool = False) -> str:
    """The replay in a format."""
    return render(format, lambda: _page(result), lambda: _document(result), width=width, colour=colour)


def _document(result: ReplayResult) -> dict[str, object]:
    """`knowbound.replay/1` of docs/json.md."""
    return {
        "format": "knowbound.replay/1",
        "verdict": str(result.verdict),
        "is_no_worse": result.is_no_worse,
        "made": result.made,
        "before": as_json(result.before),
        "after": as_json(result.after),
        "k": result.k,
        "first": result.first or None,
        "last": result.last or None,
        "turns": result.turns,
        "compared": result.compared,
        "moved": result.moved,
        "chosen_by_model": result.chosen_by_model,
        "unjudged": {"before": result.unjudged_before.to_json(), "after": result.unjudged_after.to_json()},
        "metrics": {str(metric): _metric(one) for metric, one in result.metrics.items()},
    }


def _metric(one: MetricChange) -> dict[str, object]:
    return {
        "before": one.before.to_json(),
        "after": one.after.to_json(),
        "difference": as_json(one.difference),
        "more": one.more,
    }


def _page(result: ReplayResult) -> Page:
    names = f"{_ranking(result.before)} → {_ranking(result.after)}"
    days = f"{result.first} to {result.last}" if result.first else "no day"
    figures = (
        f"{counted(result.turns, 'turn')} with verdicts, {days}",
        f"{result.compared:,} compared",
        f"{result.moved:,} with other items",
    )
    columns = ("metric", "before", "after", "difference per turn", "turns to decide")
    rows = tuple(_row(metric, one) for metric, one in result.metrics.items())
    return Page(
        verb="quality replay",
        title="Two rankings of the same candidates",
        lead="",
        totals=_VERDICTS[result.verdict],
        origin=(names, " · ".join(figures)),
        sections=(
            Section(f"Of the judged items among the first {result.k}", (Table(tuple(map(Column, columns)), rows),)),
            Section("What cannot be known", (Listing(tuple(map(Entry, _unknown(result)))),)),
        ),
    )


def _ranking(one: Ranking) -> str:
    measured = f" ({', '.join(one.backends)} by measured quality)" if one.backends else " (stored confidence)"
    return f"{one.ranker}{measured}, floor {one.floor:g}"


def _row(metric: Metric, one: MetricChange) -> Row:
    found = one.difference
    if found.value is None:
        change = "unknown"
    elif found.low is None or found.high is None:
        change = f"{points(found.value)} points, one session: no interval"
    else:
        change = f"{points(found.value)} points (95% {points(found.low, 0)} to {points(found.high, 0)})"
    more = "decided" if one.more == 0 else "no number" if one.more is None else f"{one.more:,} more"
    return Row(
        (METRIC_NAMES[metric], _share(one.before.k, one.before.n), _share(one.after.k, one.after.n), change, more)
    )


def _share(k: int, n: int) -> str:
    return f"{percent(k / n)} ({k:,} of {n:,})" if n else "unknown"


def _unknown(result: ReplayResult) -> Iterator[Line]:
    for name, rate in (("before", result.unjudged_before), ("after", result.unjudged_after)):
        if rate.k:
            yield f"{name}: {_share(rate.k, rate.n)} of the first {result.k} were never injected, so nobody judged them"
    left = result.turns - result.compared
    if left:
        yield f"{counted(left, 'turn')} have no judged item in one of the rankings"
    if result.chosen_by_model:
        yield f"{counted(result.chosen_by_model, 'turn')} are left out: a model chose, not the ranking"
