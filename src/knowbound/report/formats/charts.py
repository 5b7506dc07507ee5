"""The charts of HTML reports: the trend of a gap rate, and a metric of what is injected, window by window.

A trend (specification 1, section 6) has the commit on x, the gap rate with its interval on y. The test set and its
warning are part of it; where the hash of the test set changes, the line breaks. Elements have attributes and never a
style, which the page's Content-Security-Policy does not allow. Colours are the variables of the page, so that light,
dark and print follow it; a chart in a file of its own has them inside.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date
from html import escape
from importlib import import_module
from itertools import pairwise
from typing import Generic, NamedTuple, TypeAlias, TypeVar

from knowbound.distribution import extra_command
from knowbound.errors import ConfigError
from knowbound.report.evals.samples import change_words, commit_words
from knowbound.report.formats.html import asset
from knowbound.report.formats.plain import made_plain
from knowbound.report.sections import MetricChart
from knowbound.stats.evaluation import Origin
from knowbound.stats.printing import percent
from knowbound.stats.quality import WindowRates
from knowbound.stats.rate import Rate
from knowbound.stats.trend import NEAR_ZERO, Panel, TrendRow

_Shown = TypeVar("_Shown")


class ChartPoint(NamedTuple, Generic[_Shown]):
    """An evaluation or a window on the chart, with its rate."""

    x: float
    rate: Rate
    shown: _Shown

    @property
    def share(self) -> float:
        """The rate as drawn; only for a known rate."""
        return self.rate.value or 0.0


class Plot(NamedTuple):
    """The area of a chart on which rates are drawn, and the rate at its upper edge."""

    left: float
    right: float
    top: float
    bottom: float
    highest: float = 1.0

    def y(self, share: float) -> float:
        """The vertical position of a rate."""
        return self.bottom - min(share, self.highest) / self.highest * (self.bottom - self.top)

    def across(self, share: float, colour: str, dashes: str = "", opacity: float = 1.0) -> str:
        """A line at the height of a rate from edge to edge."""
        return stroke(self.left, self.y(share), self.right, self.y(share), colour, dashes, opacity)

    def axes(self, shares: Iterable[float], gap: int, size: int) -> Iterator[str]:
        """A line for each of the shares, with its label at a gap from the left edge."""
        for share in shares:
            yield self.across(share, "line" if share else "soft")
            yield text(self.left - gap, self.y(share) + 4, percent(share), size=size, fill="soft", anchor="end")

    def band(self, run: Sequence[ChartPoint[_Shown]], opacity: float) -> str:
        """The area between the ends of the intervals."""
        edge = [f"{x:.1f},{self.y(high):.1f}" for x, _, high in intervals(run)]
        edge += [f"{x:.1f},{self.y(low):.1f}" for x, low, _ in reversed(intervals(run))]
        return f'<polygon points="{" ".join(edge)}" fill="var(--span)" opacity="{opacity:g}"/>'

    def line(self, run: Sequence[ChartPoint[_Shown]], look: str) -> str:
        """A line from point to point."""
        path = " ".join(f"{point.x:.1f},{self.y(point.share):.1f}" for point in run)
        return f'<polyline points="{path}" fill="none" stroke="var(--accent)" {look}/>'


def intervals(run: Sequence[ChartPoint[_Shown]]) -> list[tuple[float, float, float]]:
    """Return x and the ends of the interval of each point."""
    return [(point.x, *(point.rate.interval or (0.0, 0.0))) for point in run]


def runs(
    points: Iterable[ChartPoint[_Shown]], breaks: Callable[[_Shown], bool] = lambda _: False
) -> Iterator[list[ChartPoint[_Shown]]]:
    """Yield neighbours that may be joined: their rates are known, and none of them breaks the line."""
    run: list[ChartPoint[_Shown]] = []
    for point in points:
        is_known = point.rate.value is not None
        if run and (breaks(point.shown) or not is_known):
            yield run
            run = []
        if is_known:
            run.append(point)
    if run:
        yield run


def _svg(kind: str, size: tuple[int, int], label: str, inside: Iterable[str], width: str = "") -> str:
    """Return a drawing of this size; `label` is read by screen readers."""
    return (
        f'<svg class="{kind}" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size[0]} {size[1]}"{width} role="img"'
        f' aria-label="{escape(label)}" font-family="system-ui, sans-serif">{"".join(inside)}</svg>\n'
    )


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
    size = f'width="{width:.1f}" height="{height:.1f}"'
    return f'<rect x="{x:.1f}" y="{y:.1f}" {size} fill="var(--{colour})" opacity="{opacity:g}"/>'


def dot(x: float, y: float, radius: float, rim: float = 0.0) -> str:
    """A filled circle."""
    look = f'fill="var(--accent)" stroke="var(--paper)" stroke-width="{rim:g}"'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:g}" {look}/>'


def _titled(words: str, drawn: str) -> str:
    """A part of the chart with the words that appear beside the pointer."""
    return f"<g><title>{escape(words)}</title>{drawn}</g>"


# The trend

WIDTH, HEIGHT = 1000, 498
_PLOT = Plot(left=56.0, right=984.0, top=108.0, bottom=378.0)
_LABEL = 68.0  # room for a commit and its date
_STORY, _CHARACTER = 84.0, 6.2  # least room for what was added, and for one character of it
_HASH = 62.0  # room for a hash on either side of a break
_WHISKERS = 40  # above so many points the band alone shows the intervals
_Evaluation: TypeAlias = ChartPoint[TrendRow]


def trend_svg(panel: Panel, style: str = "") -> str:
    """The chart of one samples file, for a page."""
    panel = made_plain(panel)
    step = (_PLOT.right - _PLOT.left) / len(panel.rows)
    middles = [_PLOT.left + (index + 0.5) * step for index in range(len(panel.rows))]
    placed = [ChartPoint(x, row.head.gap.rate, row) for x, row in zip(middles, panel.rows, strict=True)]
    lines = list(runs(placed, breaks=lambda row: row.breaks))
    # For screen readers; the table has the details.
    summary = f"{_panel_name(panel)}: {' '.join(series.words for series in panel.series)}"
    parts = (
        style,
        *_title(panel),
        *_PLOT.axes((0.0, 0.2, 0.4, 0.6, 0.8, 1.0), gap=8, size=12),
        _PLOT.across(NEAR_ZERO, "green", "3 3", 0.8),
        text(_PLOT.left - 8, _PLOT.y(NEAR_ZERO) + 4, percent(NEAR_ZERO), size=11, fill="green", anchor="end"),
        *_breaks(placed),
        *_changes(placed),
        *_story(placed),
        *_labels(placed),
        *(part for run in lines for part in _line(run, whiskers=len(placed) <= _WHISKERS)),
        *_points(placed),
        *_values(placed, lines),
        text(_PLOT.left - 40, HEIGHT - 14, panel.series[-1].last.watermark.warning, size=11, fill="soft"),
    )
    return _svg("chart", (WIDTH, HEIGHT), summary, parts, ' width="100%"')


def trend_svg_file(panel: Panel) -> str:
    """Return the chart as a file of its own, with the colours of the report."""
    colours = asset("report.css").partition("\n* {")[0]  # the variables, light and dark
    return trend_svg(panel, f"<style>{colours} svg {{ background: var(--paper); }}</style>")


def trend_png(panel: Panel) -> bytes:
    """Return the chart as a picture in light colours, drawn by resvg, which knows no variables of CSS."""
    try:
        resvg = import_module("resvg_py")
    except ImportError:
        raise ConfigError("extra-missing", f"A PNG needs an extra. Try: {extra_command('png')}") from None
    light = asset("report.css").partition("}")[0]
    drawn = trend_svg(panel).replace('font-weight="650"', 'font-weight="700"')  # no variable fonts
    values = dict(re.findall(r"--([\w-]+): (?:light-dark\()?(#\w+|[^;]+)", light))
    for name, value in values.items():
        drawn = drawn.replace(f"var(--{name})", value.replace('"', "'"))
    return bytes(resvg.svg_to_bytes(svg_string=drawn.replace("system-ui, ", ""), zoom=2, background=values["paper"]))


def _panel_name(panel: Panel) -> str:
    head = panel.rows[-1].head
    asked = " (questions of probe)" if head.origin is Origin.PROBED else ""
    return f"Gap rate on {head.watermark.path}{asked}"


def _title(panel: Panel) -> Iterator[str]:
    """Draw the heading: the samples file, its test set, and the legend."""
    mark = panel.rows[-1].head.watermark
    name = _panel_name(panel)
    shown = name if len(name) <= 80 else name[:12] + "…" + name[-67:]
    yield text(_PLOT.left - 40, 26, shown, size=17, weight=650, fill="ink")
    sets = f"Test set: {mark.samples:,} samples · sha256 {mark.sha256_8}"
    if len(panel.series) > 1:
        sets = f"{len(panel.series)} test sets, not joined. The newest: {sets.removeprefix('Test set: ')}"
    yield text(_PLOT.left - 40, 47, sets, size=13, fill="soft")
    yield from _legend(len(panel.series) > 1)


def _legend(breaks: bool) -> Iterator[str]:
    """Draw the legend of the marks, the most visible marks first."""
    y = 67.0
    entries = [
        (dot(0, y - 4, 4), "gap rate", 76),
        (rect(-6, y - 9, 14, 10, "span", 0.5), "95% interval", 100),
        (_triangle(0, y - 8), "knowledge changed: + added, ~ rewritten, − removed", 350),
        (stroke(-7, y - 4, 7, y - 4, "green", "3 3"), "10%: near zero", 112),
        *([(stroke(0, y - 11, 0, y + 2, "red", "4 3"), "test set changed", 120)] if breaks else []),
    ]
    x = _PLOT.left - 32
    for mark, words, room in entries:
        yield f'<g transform="translate({x:.0f} 0)">{mark}{text(13, y, words, size=12, fill="soft")}</g>'
        x += room + 18


def _breaks(placed: Sequence[_Evaluation]) -> Iterator[str]:
    """A change of the test set: both hashes above a line that nothing crosses."""
    free = [0.0, 0.0]  # how far the two rows above the plot are taken
    for before, after in pairwise(placed):
        if not after.shown.breaks:
            continue
        x = (before.x + after.x) / 2
        old, new = (point.shown.head.watermark.sha256_8 for point in (before, after))
        middle = min(x, WIDTH - _HASH)  # where the hashes are
        row = next((row for row, end in enumerate(free) if middle - _HASH >= end), None)
        names = ""
        if row is not None:
            free[row] = middle + _HASH
            y = _PLOT.top - 8 - 15 * row
            names = text(middle - 6, y, old, size=11, fill="red", anchor="end", mono=True)
            names += text(middle + 6, y, new, size=11, fill="red", mono=True)
        changed = f"The test set changed: {old} → {new}. Rates on both sides cannot be compared."
        yield _titled(changed, stroke(x, _PLOT.top - 20, x, _PLOT.bottom, "red", "4 3") + names)


def _changes(placed: Sequence[_Evaluation]) -> Iterator[str]:
    """A mark below the axis where the knowledge begins and wherever it changed; how much, where there is room."""
    room = _PLOT.right + 40
    for point in reversed(placed):
        change, mark = point.shown.change, _triangle(point.x, _PLOT.bottom + 4)
        if not change:
            if point is placed[0]:
                yield _titled(_added(point.shown, is_first=True), mark)
            continue
        words = str(change)
        half = 4.0 + 3.4 * len(words)  # of the width of the words
        label = ""
        if point.x + half <= room:
            room = point.x - half - 4
            label = text(point.x, _PLOT.bottom + 25, words, size=11, fill="marker", anchor="middle", weight=600)
        yield _titled(change_words(change), mark + label)


def _story(placed: Sequence[_Evaluation]) -> Iterator[str]:
    """Yield what was added, at its mark: the file, or the subject of the first commit; counted from the newest."""
    room = WIDTH - 2.0
    step = (_PLOT.right - _PLOT.left) / len(placed)
    most = int(max(step, _STORY) / _CHARACTER) - 1
    for point in reversed(placed):
        words = _added(point.shown, is_first=point is placed[0])
        words = words if len(words) <= most else words[: most - 1] + "…"
        half = len(words) * _CHARACTER / 2 + 2
        x = min(max(point.x, half + 2), WIDTH - half - 2)
        if not words or x + half > room:
            continue
        room = x - half
        yield text(x, _PLOT.bottom + 77, words, size=11, fill="marker", anchor="middle")


def _added(row: TrendRow, *, is_first: bool) -> str:
    """Return the first file that changed and how many more did; for the first evaluation what its commit says."""
    change = row.change
    if not change:
        return row.head.subject or "first evaluation" if is_first else ""
    sign, paths = next(
        (sign, paths) for sign, paths in (("+", change.added), ("~", change.changed), ("−", change.removed)) if paths
    )
    more = len(change.added) + len(change.changed) + len(change.removed) - 1
    return f"{sign}{paths[0].rpartition('/')[2]}{f' and {more} more' if more else ''}"


def _labels(placed: Sequence[_Evaluation]) -> Iterator[str]:
    """Commit and date, as many as there is room for, counted from the newest."""
    room = float(WIDTH)
    for point in reversed(placed):
        x = min(point.x, WIDTH - _LABEL / 2)
        if x + _LABEL / 2 > room:
            continue
        room = x - _LABEL / 2
        yield text(x, _PLOT.bottom + 44, commit_words(point.shown.head), size=11.5, anchor="middle", mono=True)
        yield text(x, _PLOT.bottom + 59, point.shown.head.made[:10], size=11, fill="soft", anchor="middle")


def _line(run: Sequence[_Evaluation], *, whiskers: bool) -> Iterator[str]:
    """Draw neighbouring points as a line with its band; a single point gets whiskers in any case."""
    if len(run) > 1:
        yield _PLOT.band(run, 0.3)
    if whiskers or len(run) == 1:
        for x, low, high in intervals(run):
            ends = [stroke(x - 5, _PLOT.y(end), x + 5, _PLOT.y(end), "span", width=1.5) for end in (low, high)]
            yield stroke(x, _PLOT.y(low), x, _PLOT.y(high), "span", width=1.5) + "".join(ends)
    yield _PLOT.line(run, 'stroke-width="2.5" stroke-linejoin="round"')


def _points(placed: Sequence[_Evaluation]) -> Iterator[str]:
    """Draw every known rate as a point, and an unknown one as a question mark where there is room."""
    radius, rim = (5.0, 1.5) if len(placed) <= _WHISKERS else (2.2, 0.0)
    room = 0.0  # for the next question mark
    for point in placed:
        if point.rate.value is not None:
            mark = dot(point.x, _PLOT.y(point.share), radius, rim)
        elif point.x >= room:
            room = point.x + 10
            mark = text(point.x, _PLOT.bottom - 8, "?", size=14, fill="soft", anchor="middle", weight=650)
        else:
            continue
        yield _titled(_tooltip(point.shown), mark)


def _tooltip(row: TrendRow) -> str:
    """Return what a point shows when it is pointed at."""
    head = row.head
    lines = [
        f"{commit_words(head)} {head.subject}".strip(),
        head.made,
        f"gap rate {head.gap.rate}",
        f"test set {head.watermark.path} · sha256 {head.watermark.sha256_8}",
    ]
    if row.change:
        lines.append(change_words(row.change))
    if row.differs:
        lines.append(f"also changed: {', '.join(row.differs)}")
    return "\n".join(lines)


def _values(placed: Sequence[_Evaluation], lines: Sequence[Sequence[_Evaluation]]) -> Iterator[str]:
    """Rates beside their points: the ends of every line first, then what still finds room."""
    ends = [(run, index) for run in reversed(lines) for index in (len(run) - 1, 0)]
    others = [(run, index) for run in lines for index in range(len(run))] if len(placed) <= _WHISKERS else []
    labels = [(point.x, _PLOT.bottom - 8) for point in placed if point.rate.value is None]
    for run, index in (*ends, *others):
        point = run[index]
        x = min(max(point.x, _PLOT.left + 20), _PLOT.right - 18)
        y = _PLOT.y(point.share) + (24 if _belongs_below(run, index) else -12)
        if any(abs(x - other_x) < 46 and abs(y - other_y) < 16 for other_x, other_y in labels):  # the room of a label
            continue
        labels.append((x, y))
        yield text(x, y, percent(point.rate.value), size=13, weight=650, fill="ink", anchor="middle", halo=True)


def _belongs_below(run: Sequence[_Evaluation], index: int) -> bool:
    """Report whether a label belongs below its point: in a valley, where the line passes above, and at the top."""
    share = run[index].share
    is_valley = 0 < index < len(run) - 1 and all(run[neighbour].share > share for neighbour in (index - 1, index + 1))
    return share > 0.95 or (is_valley and share > 0.12)  # near the axis there is no room below


def _triangle(x: float, y: float) -> str:
    return f'<path d="M{x:.1f} {y:.1f} l5.5 9 h-11 z" fill="var(--marker)"/>'


# A metric, window by window

_METRIC_SIZE = (480, 230)
_NOTHING = "nothing was counted yet"
_DATES = 4  # labels of the x axis
_POINTS = 45  # above so many no single point is drawn
_Window: TypeAlias = ChartPoint[WindowRates]


def metric_svg(chart: MetricChart) -> str:
    """The chart, for a page."""
    plot = Plot(left=44.0, right=468.0, top=44.0, bottom=196.0, highest=chart.top)
    points = list(_placed(chart, plot))
    known = [point for point in points if point.rate.n]
    summary, target = _summary(chart, known), plot.y(chart.target.share)
    top, bottom = (target, plot.bottom) if chart.target.is_ceiling else (plot.top, target)
    parts = [
        text(4, 20, chart.title, size=15, weight=650),
        *plot.axes((0.0, 0.5 * chart.top, chart.top), gap=6, size=11),
        rect(plot.left, top, plot.right - plot.left, bottom - top, "green-paper", 0.55),  # the wanted side
        plot.across(chart.target.share, "green", "4 3", 0.9),
    ]
    if known:
        parts += [text(plot.right, 20, summary, size=12, fill="soft", anchor="end"), *_dates(points, plot)]
        if chart.kill is not None:
            parts.append(plot.across(chart.kill, "red", "1 3", 0.9))
            end = plot.y(chart.kill) - 4
            parts.append(text(plot.right, end, "kill line", size=10, fill="soft", anchor="end"))
        parts += [*_legs(points, chart.legs, plot), *(part for run in runs(points) for part in _windows(run, plot))]
        for point in known if len(known) <= _POINTS else known[-1:]:
            mark = dot(point.x, plot.y(point.share), 4.0 if point is known[-1] else 2.2)
            parts.append(_titled(f"7 days to {point.shown.date}: {point.rate}", mark))
    else:
        middle, height = (plot.left + plot.right) / 2, (plot.top + plot.bottom) / 2
        parts.append(text(middle, height, _NOTHING, size=13, fill="soft", anchor="middle"))
    return _svg("metric", _METRIC_SIZE, f"{chart.title}: {summary}", parts)


def _summary(chart: MetricChart, known: Sequence[_Window]) -> str:
    """Summarise the chart in words, for screen readers and as its heading."""
    if not known:
        return _NOTHING
    first, last = percent(known[0].rate.value), percent(known[-1].rate.value)
    target = f"target {'≤' if chart.target.is_ceiling else '≥'} {percent(chart.target.share)}"
    return f"{first} → {last}, {target}" if len(known) > 1 else f"{last}, {target}"


def _placed(chart: MetricChart, plot: Plot) -> Iterator[_Window]:
    """Place the points: a single point in the middle, several points by day from edge to edge."""
    days = [date.fromisoformat(window.date) for window in chart.windows]
    for day, window in zip(days, chart.windows, strict=True):
        share = (day - days[0]).days / max(1, (days[-1] - days[0]).days)
        x = plot.left + 4 + (plot.right - plot.left - 8) * share
        yield ChartPoint((plot.left + plot.right) / 2 if len(days) == 1 else x, window.rates[chart.metric], window)


def _dates(points: Sequence[_Window], plot: Plot) -> Iterator[str]:
    """Label the first and the last day, and days between them where there are more."""
    labels, last = min(_DATES, len(points)), len(points) - 1
    for number in range(labels):
        point = points[round(number * last / max(1, labels - 1))]
        anchor = "middle" if last == 0 else {0: "start", labels - 1: "end"}.get(number, "middle")
        yield text(point.x, plot.bottom + 18, point.shown.date, size=11, fill="soft", anchor=anchor)


def _legs(points: Sequence[_Window], legs: Sequence[tuple[str, str]], plot: Plot) -> Iterator[str]:
    """Mark where each leg of the rollout began: at the first window that ends on that day or later."""
    for day, name in legs:
        x = next((point.x for point in points if point.shown.date >= day), None)
        if x is not None:
            yield stroke(x, plot.top, x, plot.bottom, "soft", "2 3", 0.8)
            yield text(x + 3, plot.top + 10, name, size=10, fill="soft")


def _windows(run: Sequence[_Window], plot: Plot) -> Iterator[str]:
    """Draw neighbouring windows as a line with its band; a single window as its interval."""
    if len(run) > 1:
        yield plot.band(run, 0.35) + plot.line(run, 'stroke-width="2"')
    else:
        ((x, low, high),) = intervals(run)
        yield stroke(x, plot.y(low), x, plot.y(high), "span", width=3)
