"""The small drawings of the HTML report, what its charts are drawn with, and a metric of what is injected over time.

Only attributes, never a style: the page's Content-Security-Policy allows no inline style. Colours are the variables of
the page, so that light, dark and print follow it. The text beside a drawing says the same, so the drawings are hidden
from screen readers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from html import escape
from typing import NamedTuple, TypeVar

from knowbound.report.sections import MetricChart
from knowbound.stats.printing import percent
from knowbound.stats.quality import Target
from knowbound.stats.rate import Rate

_Point = TypeVar("_Point")


def interval(low: float, value: float, high: float, marks: Iterable[float] = ()) -> str:
    """A share on a line from 0 to 1, with its interval; `marks` are limits to read it against."""
    ticks = "".join(f'<line class="tick" x1="{_x(at)}" x2="{_x(at)}" y1="1" y2="15"/>' for at in marks)
    return _drawing(
        "interval",
        16,
        f'<rect class="track" x="0" y="6" width="100%" height="4" rx="2"/>{ticks}'
        f'<rect class="span" x="{_x(low)}" y="5" width="{_x(high - low)}" height="6" rx="3"/>'
        f'<circle class="point" cx="{_x(value)}" cy="8" r="5"/>',
    )


def share(value: float, kind: str = "") -> str:
    """A bar for a share of 0 to 1."""
    return _drawing(
        f"share {kind}".strip(),
        8,
        '<rect class="track" x="0" y="0" width="100%" height="8" rx="4"/>'
        f'<rect class="fill" x="0" y="0" width="{_x(value)}" height="8" rx="4"/>',
    )


def _drawing(kind: str, height: int, inside: str) -> str:
    return f'<svg class="{kind}" width="100%" height="{height}" aria-hidden="true" focusable="false">{inside}</svg>'


def _x(share: float) -> str:
    return f"{100 * min(max(share, 0.0), 1.0):.2f}%"


def runs(
    points: Iterable[_Point], is_known: Callable[[_Point], bool], breaks: Callable[[_Point], bool]
) -> Iterator[list[_Point]]:
    """Neighbours that may be joined: known, and none that breaks the line."""
    run: list[_Point] = []
    for point in points:
        if run and (breaks(point) or not is_known(point)):
            yield run
            run = []
        if is_known(point):
            run.append(point)
    if run:
        yield run


def area(spans: Sequence[tuple[float, float, float]], y: Callable[[float], float], opacity: float) -> str:
    """The band between lows and highs, from x to x."""
    edge = [f"{x:.1f},{y(high):.1f}" for x, _, high in spans]
    edge += [f"{x:.1f},{y(low):.1f}" for x, low, _ in reversed(spans)]
    return f'<polygon points="{" ".join(edge)}" fill="var(--span)" opacity="{opacity:g}"/>'


def text(
    x: float,
    y: float,
    words: str,
    *,
    size: float,
    fill: str = "ink",
    anchor: str = "start",
    weight: int = 400,
    mono: bool = False,
    halo: bool = False,
) -> str:
    """Words; `halo` keeps them readable on lines."""
    family = ' font-family="ui-monospace, Menlo, Consolas, monospace"' if mono else ""
    around = ' stroke="var(--paper)" stroke-width="4" stroke-linejoin="round" paint-order="stroke"' if halo else ""
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size:g}" font-weight="{weight}" fill="var(--{fill})"'
        f' text-anchor="{anchor}"{family}{around}>{escape(words)}</text>'
    )


def stroke(
    x1: float, y1: float, x2: float, y2: float, colour: str, dashes: str = "", opacity: float = 1.0, width: float = 1.0
) -> str:
    """A line."""
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return (
        f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" stroke="var(--{colour})"'
        f' stroke-width="{width:g}" opacity="{opacity:g}"{dashed}/>'
    )


def rect(x: float, y: float, width: float, height: float, colour: str, opacity: float) -> str:
    """A filled rectangle."""
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" fill="var(--{colour})"'
        f' opacity="{opacity:g}"/>'
    )


def dot(x: float, y: float, radius: float, rim: float = 0.0) -> str:
    """A filled circle."""
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" fill="var(--accent)" stroke="var(--paper)"'
        f' stroke-width="{rim:g}"/>'
    )


WIDTH, HEIGHT = 480, 230
_LEFT, _RIGHT, _TOP, _BOTTOM = 44.0, 468.0, 44.0, 196.0  # the plot
_DATES = 4  # labels of the x axis
_POINTS = 45  # above so many no single point is drawn


class WindowPoint(NamedTuple):
    """A window on the chart."""

    x: float
    date: str
    rate: Rate


def metric_svg(chart: MetricChart) -> str:
    """The chart, for a page."""
    points = _placed(chart)
    known_points = [point for point in points if point.rate.n]
    plot = _Plot(chart.top)
    words = _summary(chart, known_points)
    parts = [text(4, 20, chart.title, size=15, weight=650), *plot.axes(), *plot.target(chart.target)]
    if known_points:
        parts += [text(_RIGHT, 20, words, size=12, fill="soft", anchor="end")]
        parts += [*_dates(points), *plot.kill(chart.kill), *_legs(points, chart.legs)]
        known_runs = runs(
            points, lambda point: point.rate.n > 0, lambda _: False
        )  # only unknown windows break the line
        parts += [part for run in known_runs for part in plot.line(run)]
        parts += plot.tooltips(points)
    else:
        middle = (_LEFT + _RIGHT) / 2
        parts.append(
            text(middle, (_TOP + _BOTTOM) / 2, "nothing was counted yet", size=13, fill="soft", anchor="middle")
        )
    return (
        f'<svg class="metric" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        f' aria-label="{escape(f"{chart.title}: {words}")}" font-family="system-ui, sans-serif">'
        f"{''.join(parts)}</svg>\n"
    )


def _summary(chart: MetricChart, known: Sequence[WindowPoint]) -> str:
    """Summarise the chart in words, for screen readers and as its heading."""
    if not known:
        return "nothing was counted yet"
    first, last = known[0].rate.value, known[-1].rate.value
    target = f"target {'≤' if chart.target.is_ceiling else '≥'} {percent(chart.target.share)}"
    return f"{percent(first)} → {percent(last)}, {target}" if len(known) > 1 else f"{percent(last)}, {target}"


def _placed(chart: MetricChart) -> list[WindowPoint]:
    """Place the points: a single point in the middle, several points by day from edge to edge."""
    days = [date.fromisoformat(window.date) for window in chart.windows]
    points = []
    for day, window in zip(days, chart.windows, strict=True):
        share = (day - days[0]).days / max(1, (days[-1] - days[0]).days)
        x = (_LEFT + _RIGHT) / 2 if len(days) == 1 else _LEFT + 4 + (_RIGHT - _LEFT - 8) * share
        points.append(WindowPoint(x, window.date, window.rates[chart.metric]))
    return points


def _dates(points: Sequence[WindowPoint]) -> Iterator[str]:
    """Label the first and the last day, and days between them where there are more."""
    steps = min(_DATES, len(points))
    for at in range(steps):
        point = points[round(at * (len(points) - 1) / max(1, steps - 1))]
        anchor = "middle" if len(points) == 1 else "start" if at == 0 else "end" if at == steps - 1 else "middle"
        yield text(point.x, _BOTTOM + 18, point.date, size=11, fill="soft", anchor=anchor)


def _legs(points: Sequence[WindowPoint], legs: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Mark where each leg of the rollout began: at the first window that ends on that day or later."""
    for day, name in legs:
        x = next((point.x for point in points if point.date >= day), None)
        if x is not None:
            yield stroke(x, _TOP, x, _BOTTOM, "soft", "2 3", 0.8)
            yield text(x + 3, _TOP + 10, name, size=10, fill="soft")


class _Plot:
    """The plot with its scale, from 0 to `top`."""

    def __init__(self, top: float) -> None:
        self.top = top

    def y(self, share: float) -> float:
        return _BOTTOM - min(share, self.top) / self.top * (_BOTTOM - _TOP)

    def axes(self) -> Iterator[str]:
        for part in (0.0, 0.5, 1.0):
            share = part * self.top
            yield stroke(_LEFT, self.y(share), _RIGHT, self.y(share), "line" if share else "soft")
            yield text(_LEFT - 6, self.y(share) + 4, percent(share), size=11, fill="soft", anchor="end")

    def target(self, target: Target) -> Iterator[str]:
        """The side of the target that is wanted, and its edge."""
        y = self.y(target.share)
        top, bottom = (y, _BOTTOM) if target.is_ceiling else (_TOP, y)
        yield rect(_LEFT, top, _RIGHT - _LEFT, bottom - top, "green-paper", 0.55)
        yield stroke(_LEFT, y, _RIGHT, y, "green", "4 3", 0.9)

    def kill(self, share: float | None) -> Iterator[str]:
        """Draw the kill line: the share at which the leg is reverted."""
        if share is not None:
            yield stroke(_LEFT, self.y(share), _RIGHT, self.y(share), "red", "1 3", 0.9)
            yield text(_RIGHT, self.y(share) - 4, "kill line", size=10, fill="soft", anchor="end")

    def line(self, run: Sequence[WindowPoint]) -> Iterator[str]:
        """Draw neighbouring windows as a line with its band; a single window as its interval."""
        spans = [(point.x, *(point.rate.interval or (0.0, 0.0))) for point in run]
        if len(run) > 1:
            yield area(spans, self.y, 0.35)
            path = " ".join(f"{point.x:.1f},{self.y(point.rate.value or 0.0):.1f}" for point in run)
            yield f'<polyline points="{path}" fill="none" stroke="var(--accent)" stroke-width="2"/>'
        else:
            ((x, low, high),) = spans
            yield stroke(x, self.y(low), x, self.y(high), "span", width=3)

    def tooltips(self, points: Sequence[WindowPoint]) -> Iterator[str]:
        """A point for each window where there is room, and for the newest; with all about it."""
        known_points = [point for point in points if point.rate.n]
        shown = known_points if len(known_points) <= _POINTS else known_points[-1:]
        for point in shown:
            radius = 4.0 if point is known_points[-1] else 2.2
            mark = dot(point.x, self.y(point.rate.value or 0.0), radius)
            yield f"<g><title>{escape(f'7 days to {point.date}: {point.rate}')}</title>{mark}</g>"
