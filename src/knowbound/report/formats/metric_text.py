"""A metric over time in one line of plain characters."""

from __future__ import annotations

from knowbound.report.sections import MetricChart
from knowbound.stats.printing import percent

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
