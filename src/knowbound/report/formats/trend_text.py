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


class _Slot:
    """Columns of the chart: one evaluation, or the break between two test sets."""

    def __init__(self, width: int, row: TrendRow | None) -> None:
        self.width = width
        self.row = row

    @property
    def middle(self) -> int:
        return (self.width - 1) // 2


def text_chart(panel: Panel, width: int) -> Iterator[str]:
    """The chart in at most so many columns; where not all evaluations fit, the newest do."""
    rows = list(made_plain(panel).rows)
    room = width - _MARGIN
    while len(rows) > 1 and len(rows) + _breaks(rows) > room:
        rows.pop(0)
    slots = list(_slots(rows, min(_WIDEST, (room - _breaks(rows)) // len(rows))))
    for level in range(_highest(rows), -1, -1):
        yield (_axis(level) + "".join(_cell(slot, level) for slot in slots)).rstrip()
    for label in (_value_label, _change_label, _commit_label, _date_label):
        if line := _labels(slots, label).rstrip():
            yield " " * _MARGIN + line
    for change in _breaking_changes(rows):
        yield f"{_BREAK} {change}; nothing is compared across"
    if len(rows) < len(panel.rows):
        yield f"{len(panel.rows) - len(rows)} earlier evaluations do not fit: --format html shows all"


def _breaks(rows: Sequence[TrendRow]) -> int:
    return sum(row.breaks for row in rows[1:])


def _breaking_changes(rows: Sequence[TrendRow]) -> Iterator[str]:
    for before, after in pairwise(rows):
        one, other = before.head, after.head
        if one.sha256 != other.sha256:
            yield f"the test set changed: {one.watermark.sha256_8} → {other.watermark.sha256_8}"
        elif one.as_specified is not other.as_specified:
            yield "failed searches are counted by another rule (--as-specified)"
        elif after.breaks:
            yield f"others judge hedges: {one.hedges or 'rules'} → {other.hedges or 'rules'}"


def _slots(rows: Sequence[TrendRow], width: int) -> Iterator[_Slot]:
    for at, row in enumerate(rows):
        if at and row.breaks:
            yield _Slot(1, None)
        yield _Slot(width, row)


def _highest(rows: Sequence[TrendRow]) -> int:
    """The top line: where the highest interval ends, and never below the line of 20%."""
    top = max((row.head.gap.rate.interval or (0.0, 0.0))[1] for row in rows)
    return max(_level(top), _level(0.2))


def _level(share: float) -> int:
    return round(share / _STEP)


def _axis(level: int) -> str:
    return f"{percent(level * _STEP):>4} ┤" if level % 2 == 0 else "     │"


def _cell(slot: _Slot, level: int) -> str:
    ground = "┈" if level == _level(NEAR_ZERO) else "─" if level == 0 else " "
    if slot.row is None:
        return _BREAK
    mark = _mark(slot.row, level) or ground
    return ground * slot.middle + mark + ground * (slot.width - slot.middle - 1)


def _mark(row: TrendRow, level: int) -> str:
    rate = row.head.gap.rate
    if rate.value is None or rate.interval is None:
        return "?" if level == 0 else ""
    low, high = (_level(share) for share in rate.interval)
    if level == _level(rate.value):
        return "●"
    if not low <= level <= high:
        return ""
    return "┬" if level == high else "┴" if level == low else "│"


def _labels(slots: Sequence[_Slot], label: Callable[[TrendRow], str]) -> str:
    """Labels below their evaluations, as many as there is room for, counted from the newest."""
    line = [" "] * (sum(slot.width for slot in slots) + _WIDEST)
    end = room = sum(slot.width for slot in slots)
    for slot in reversed(slots):
        end -= slot.width
        if slot.row is None:
            continue
        words = label(slot.row)
        start = max(0, end + slot.middle - (len(words) - 1) // 2)
        start = min(start, max(0, len(line) - _WIDEST - len(words)))
        if not words or start + len(words) > room:
            continue
        line[start : start + len(words)] = words
        room = start - 1
    return "".join(line)


def _value_label(row: TrendRow) -> str:
    return percent(row.head.gap.rate.value)


def _change_label(row: TrendRow) -> str:
    return f"▲{row.change}" if row.change else ""


def _commit_label(row: TrendRow) -> str:
    return f"{commit_words(row.head):^10}"  # as wide as the date: both are left out together where there is no room


def _date_label(row: TrendRow) -> str:
    return row.head.made[:10]


_BLOCKS = "▁▂▃▄▅▆▇█"
_MOST = 30  # windows


def metric_line(chart: MetricChart) -> str:
    """`On topic  ▂▃▅▆  62% → 81%`: the newest windows, oldest first; what is unknown is a point."""
    values = [one.rates[chart.metric].value for one in chart.windows[-_MOST:]]
    known = [value for value in values if value is not None]
    if not known:
        return f"{chart.title:<14}  nothing was counted"
    drawn = "".join(_block(value, chart.top) for value in values)
    return f"{chart.title:<14}  {drawn}  {percent(known[0])} → {percent(known[-1])}"


def _block(value: float | None, top: float) -> str:
    return "·" if value is None else _BLOCKS[min(int(value / top * len(_BLOCKS)), len(_BLOCKS) - 1)]
