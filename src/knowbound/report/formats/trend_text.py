"""The chart of a trend in plain characters, for a terminal and for markdown: the same content as the drawn one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from knowbound.report.evals.samples import commit_words
from knowbound.report.formats.plain import made_plain
from knowbound.report.sections import MetricChart
from knowbound.stats.printing import percent
from knowbound.stats.trend import NEAR_ZERO, Panel, TrendRow

_STEP = 0.05  # the share that one line of the chart covers
_MARGIN = 6  # columns of the axis
_WIDEST = 11  # columns of one evaluation
_BREAK = "┊"


def text_chart(panel: Panel, width: int) -> Iterator[str]:
    """The chart in at most so many columns; where not all evaluations fit, the newest do."""
    rows = list(made_plain(panel).rows)
    room = width - _MARGIN
    while len(rows) > 1 and len(rows) + _breaks(rows) > room:
        rows.pop(0)
    wide = min(_WIDEST, (room - _breaks(rows)) // len(rows))
    slots: list[TrendRow | None] = []  # None is the break between two test sets
    for row in rows:
        slots += [None, row] if slots and row.breaks else [row]
    highest = max((row.head.gap.rate.interval or (0.0, 0.0))[1] for row in rows)
    for level in range(max(_level(highest), _level(0.2)), -1, -1):
        axis = f"{percent(level * _STEP):>4} ┤" if level % 2 == 0 else "     │"
        yield (axis + "".join(_cell(row, level, wide) for row in slots)).rstrip()
    for label in _LABELS:
        if line := _labels(slots, wide, label).rstrip():
            yield " " * _MARGIN + line
    for change in _breaking_changes(rows):
        yield f"{_BREAK} {change}; nothing is compared across"
    if len(rows) < len(panel.rows):
        yield f"{len(panel.rows) - len(rows)} earlier evaluations do not fit: --format html shows all"


def _breaks(rows: Sequence[TrendRow]) -> int:
    return sum(row.breaks for row in rows[1:])


def _breaking_changes(rows: Sequence[TrendRow]) -> Iterator[str]:
    for before, after in pairwise(rows):
        old, new = before.head, after.head
        if old.sha256 != new.sha256:
            yield f"the test set changed: {old.watermark.sha256_8} → {new.watermark.sha256_8}"
        elif old.as_specified is not new.as_specified:
            yield "failed searches are counted by another rule (--as-specified)"
        elif after.breaks:
            yield f"others judge hedges: {old.hedges or 'rules'} → {new.hedges or 'rules'}"


def _level(share: float) -> int:
    return round(share / _STEP)


def _cell(row: TrendRow | None, level: int, wide: int) -> str:
    """Return one level of an evaluation's column: its mark in the middle of the ground."""
    if row is None:
        return _BREAK
    ground = "┈" if level == _level(NEAR_ZERO) else "─" if level == 0 else " "
    middle = (wide - 1) // 2
    return ground * middle + (_mark(row, level) or ground) + ground * (wide - middle - 1)


def _mark(row: TrendRow, level: int) -> str:
    """Return the part of a rate and its interval that falls on this level; "" if none does."""
    rate = row.head.gap.rate
    if rate.value is None or rate.interval is None:
        return "?" if level == 0 else ""
    low, high = (_level(share) for share in rate.interval)
    if level == _level(rate.value):
        return "●"
    if not low <= level <= high:
        return ""
    return "┬" if level == high else "┴" if level == low else "│"


def _labels(slots: Sequence[TrendRow | None], wide: int, label: Callable[[TrendRow], str]) -> str:
    """Labels below their evaluations, as many as there is room for, counted from the newest."""
    end = room = sum(wide if row else 1 for row in slots)
    line = [" "] * (end + _WIDEST)
    for row in reversed(slots):
        end -= wide if row else 1
        words = label(row) if row else ""
        start = max(0, end + (wide - 1) // 2 - (len(words) - 1) // 2)
        start = min(start, max(0, len(line) - _WIDEST - len(words)))
        if words and start + len(words) <= room:
            line[start : start + len(words)] = words
            room = start - 1
    return "".join(line)


_LABELS: tuple[Callable[[TrendRow], str], ...] = (
    lambda row: percent(row.head.gap.rate.value),
    lambda row: f"▲{row.change}" if row.change else "",
    lambda row: f"{commit_words(row.head):^10}",  # as wide as the date: where there is no room both are left out
    lambda row: row.head.made[:10],
)
_BLOCKS = "▁▂▃▄▅▆▇█"
_MOST = 30  # windows


def metric_line(chart: MetricChart) -> str:
    """`On topic  ▂▃▅▆  62% → 81%`: the newest windows, oldest first; what is unknown is a point."""
    values = [window.rates[chart.metric].value for window in chart.windows[-_MOST:]]
    known = [value for value in values if value is not None]
    if not known:
        return f"{chart.title:<14}  nothing was counted"
    steps = ("·" if value is None else _BLOCKS[min(int(value / chart.top * 8), 7)] for value in values)
    return f"{chart.title:<14}  {''.join(steps)}  {percent(known[0])} → {percent(known[-1])}"
