"""The line chart of a trend (specification 1, section 6): commit on x, gap rate with its interval on y.

The test set and its warning are part of the chart; where the hash of the test set changes, the line breaks. Elements
have attributes and never a style, which the page's Content-Security-Policy does not allow. Colours are the variables of
the page, so that light, dark and print follow it; a chart in a file of its own has them inside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from importlib import import_module
from itertools import pairwise
from typing import NamedTuple

from knowbound.distribution import extra_command
from knowbound.errors import ConfigError
from knowbound.report.evals.samples import change_words, commit_words
from knowbound.report.formats.html import asset
from knowbound.report.formats.plain import made_plain
from knowbound.report.formats.svg import area, dot, rect, runs, stroke, text
from knowbound.stats.evaluation import Origin
from knowbound.stats.printing import percent
from knowbound.stats.trend import NEAR_ZERO, Panel, TrendRow

WIDTH, HEIGHT = 1000, 498
_LEFT, _RIGHT, _TOP, _BOTTOM = 56.0, 984.0, 108.0, 378.0  # the plot
_LABEL = 68.0  # room for a commit and its date
_STORY, _CHARACTER = 84.0, 6.2  # least room for what was added, and for one character of it
_HASH = 62.0  # room for a hash on either side of a break
_WHISKERS = 40  # above so many points the band alone shows the intervals


class EvaluationPoint(NamedTuple):
    """An evaluation on the chart."""

    x: float
    row: TrendRow

    @property
    def value(self) -> float | None:
        """The gap rate; None if it is unknown."""
        return self.row.head.gap.rate.value

    @property
    def y(self) -> float:
        """The vertical position of the gap rate; only for a known rate."""
        return _y(self.value or 0.0)


def trend_svg(panel: Panel, style: str = "") -> str:
    """The chart of one samples file, for a page."""
    panel = made_plain(panel)
    step = (_RIGHT - _LEFT) / len(panel.rows)
    placed = [EvaluationPoint(_LEFT + (at + 0.5) * step, row) for at, row in enumerate(panel.rows)]
    # For screen readers; the table has the details.
    summary = f"{_panel_name(panel)}: {' '.join(series.words for series in panel.series)}"
    parts = (
        *_title(panel),
        *_axes(),
        *_breaks(placed),
        *_changes(placed),
        *_story(placed),
        *_labels(placed),
        *(part for run in _runs(placed) for part in _line(run, whiskers=len(placed) <= _WHISKERS)),
        *_points(placed),
        *_values(placed),
        text(_LEFT - 40, HEIGHT - 14, panel.series[-1].last.watermark.warning, size=11, fill="soft"),
    )
    return (
        f'<svg class="chart" xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="100%" role="img"'
        f' aria-label="{escape(summary)}" font-family="system-ui, sans-serif">{style}{"".join(parts)}</svg>\n'
    )


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


def _y(share: float) -> float:
    return _BOTTOM - share * (_BOTTOM - _TOP)


def _title(panel: Panel) -> Iterator[str]:
    mark = panel.rows[-1].head.watermark
    name = _panel_name(panel)
    shown = name if len(name) <= 80 else name[:12] + "…" + name[-67:]
    yield text(_LEFT - 40, 26, shown, size=17, weight=650, fill="ink")
    sets = f"Test set: {mark.samples:,} samples · sha256 {mark.sha256_8}"
    if len(panel.series) > 1:
        sets = f"{len(panel.series)} test sets, not joined. The newest: {sets.removeprefix('Test set: ')}"
    yield text(_LEFT - 40, 47, sets, size=13, fill="soft")
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
    x = _LEFT - 32
    for mark, words, room in entries:
        yield f'<g transform="translate({x:.0f} 0)">{mark}{text(13, y, words, size=12, fill="soft")}</g>'
        x += room + 18


def _axes() -> Iterator[str]:
    for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):
        yield stroke(_LEFT, _y(share), _RIGHT, _y(share), "line" if share else "soft")
        yield text(_LEFT - 8, _y(share) + 4, percent(share), size=12, fill="soft", anchor="end")
    yield stroke(_LEFT, _y(NEAR_ZERO), _RIGHT, _y(NEAR_ZERO), "green", "3 3", 0.8)
    yield text(_LEFT - 8, _y(NEAR_ZERO) + 4, percent(NEAR_ZERO), size=11, fill="green", anchor="end")


def _breaks(placed: Sequence[EvaluationPoint]) -> Iterator[str]:
    """A change of the test set: both hashes above a line that nothing crosses."""
    free = [0.0, 0.0]  # how far the two rows above the plot are taken
    for before, after in pairwise(placed):
        if not after.row.breaks:
            continue
        x = (before.x + after.x) / 2
        old, new = (point.row.head.watermark.sha256_8 for point in (before, after))
        at = min(x, WIDTH - _HASH)  # where the hashes are
        row = next((row for row, taken in enumerate(free) if at - _HASH >= taken), None)
        names = ""
        if row is not None:
            free[row] = at + _HASH
            y = _TOP - 8 - 15 * row
            names = text(at - 6, y, old, size=11, fill="red", anchor="end", mono=True)
            names += text(at + 6, y, new, size=11, fill="red", mono=True)
        changed = f"The test set changed: {old} → {new}. Rates on both sides cannot be compared."
        yield f"<g><title>{escape(changed)}</title>{stroke(x, _TOP - 20, x, _BOTTOM, 'red', '4 3')}{names}</g>"


def _changes(placed: Sequence[EvaluationPoint]) -> Iterator[str]:
    """A mark below the axis where the knowledge begins and wherever it changed; how much, where there is room."""
    room = _RIGHT + 40
    for point in reversed(placed):
        change = point.row.change
        if not change:
            if point is placed[0]:
                began = _added(point.row, is_first=True)
                yield f"<g><title>{escape(began)}</title>{_triangle(point.x, _BOTTOM + 4)}</g>"
            continue
        words = str(change)
        half = 4.0 + 3.4 * len(words)  # of the width of the words
        label = ""
        if point.x + half <= room:
            room = point.x - half - 4
            label = text(point.x, _BOTTOM + 25, words, size=11, fill="marker", anchor="middle", weight=600)
        yield f"<g><title>{escape(change_words(change))}</title>{_triangle(point.x, _BOTTOM + 4)}{label}</g>"


def _story(placed: Sequence[EvaluationPoint]) -> Iterator[str]:
    """Yield what was added, at its mark: the file, or the subject of the first commit; counted from the newest."""
    room = WIDTH - 2.0
    step = (_RIGHT - _LEFT) / len(placed)
    for at in range(len(placed) - 1, -1, -1):
        words = _added(placed[at].row, is_first=at == 0)
        most = int(max(step, _STORY) / _CHARACTER) - 1
        words = words if len(words) <= most else words[: most - 1] + "…"
        half = len(words) * _CHARACTER / 2 + 2
        x = min(max(placed[at].x, half + 2), WIDTH - half - 2)
        if not words or x + half > room:
            continue
        room = x - half
        yield text(x, _BOTTOM + 77, words, size=11, fill="marker", anchor="middle")


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


def _labels(placed: Sequence[EvaluationPoint]) -> Iterator[str]:
    """Commit and date, as many as there is room for, counted from the newest."""
    room = float(WIDTH)
    for point in reversed(placed):
        x = min(point.x, WIDTH - _LABEL / 2)
        if x + _LABEL / 2 > room:
            continue
        room = x - _LABEL / 2
        yield text(x, _BOTTOM + 44, commit_words(point.row.head), size=11.5, anchor="middle", mono=True)
        yield text(x, _BOTTOM + 59, point.row.head.made[:10], size=11, fill="soft", anchor="middle")


def _runs(placed: Sequence[EvaluationPoint]) -> list[list[EvaluationPoint]]:
    return list(runs(placed, lambda point: point.value is not None, lambda point: point.row.breaks))


def _line(run: Sequence[EvaluationPoint], *, whiskers: bool) -> Iterator[str]:
    """Draw neighbouring points as a line with its band; a single point gets whiskers in any case."""
    spans = [(point.x, *(point.row.head.gap.rate.interval or (0.0, 0.0))) for point in run]
    if len(run) > 1:
        yield area(spans, _y, 0.3)
    if whiskers or len(run) == 1:
        for x, low, high in spans:
            ends = "".join(stroke(x - 5, _y(share), x + 5, _y(share), "span", width=1.5) for share in (low, high))
            yield stroke(x, _y(low), x, _y(high), "span", width=1.5) + ends
    path = " ".join(f"{point.x:.1f},{point.y:.1f}" for point in run)
    yield f'<polyline points="{path}" fill="none" stroke="var(--accent)" stroke-width="2.5" stroke-linejoin="round"/>'


def _points(placed: Sequence[EvaluationPoint]) -> Iterator[str]:
    """Draw every known rate as a point, and an unknown one as a question mark where there is room."""
    few = len(placed) <= _WHISKERS
    room = 0.0  # for the next question mark
    for point in placed:
        if point.value is not None:
            mark = dot(point.x, point.y, 5.0, 1.5) if few else dot(point.x, point.y, 2.2)
        elif point.x >= room:
            room = point.x + 10
            mark = text(point.x, _BOTTOM - 8, "?", size=14, fill="soft", anchor="middle", weight=650)
        else:
            continue
        yield f"<g><title>{escape(_tooltip(point.row))}</title>{mark}</g>"


def _tooltip(row: TrendRow) -> str:
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


def _values(placed: Sequence[EvaluationPoint]) -> Iterator[str]:
    """Rates beside their points: the ends of every line first, then what still finds room."""
    lines = _runs(placed)
    ends = [(run, at) for run in reversed(lines) for at in (len(run) - 1, 0)]
    others = [(run, at) for run in lines for at in range(len(run))] if len(placed) <= _WHISKERS else []
    taken = [(point.x, _BOTTOM - 8) for point in placed if point.value is None]
    for run, at in (*ends, *others):
        point = run[at]
        x = min(max(point.x, _LEFT + 20), _RIGHT - 18)
        y = point.y + 24 if _belongs_below(run, at) else point.y - 12
        if any(abs(x - other_x) < 46 and abs(y - other_y) < 16 for other_x, other_y in taken):  # the room of a label
            continue
        taken.append((x, y))
        yield text(x, y, percent(point.value), size=13, weight=650, fill="ink", anchor="middle", halo=True)


def _belongs_below(run: Sequence[EvaluationPoint], at: int) -> bool:
    """Report whether a label belongs below its point: in a valley, where the line passes above, and at the top."""
    value = run[at].value or 0.0
    is_valley = 0 < at < len(run) - 1 and all((run[near].value or 0.0) > value for near in (at - 1, at + 1))
    return value > 0.95 or (is_valley and value > 0.12)  # near the axis there is no room below


def _triangle(x: float, y: float) -> str:
    return f'<path d="M{x:.1f} {y:.1f} l5.5 9 h-11 z" fill="var(--marker)"/>'
