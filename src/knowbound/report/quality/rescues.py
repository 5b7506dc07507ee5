"""How lookups that missed were answered, in words: a row of its own, outside of the four metrics."""

from __future__ import annotations

from collections.abc import Iterator

from knowbound.report.quality.model import RescueFigures
from knowbound.report.sections import Line, joined
from knowbound.report.words import counted


def rescue_rows(found: RescueFigures | None) -> Iterator[tuple[str, Line]]:
    """The row, where lookups missed."""
    if found is None:
        return
    answered = f"{found.said + found.absent:,} of {counted(found.misses, 'missed lookup')} answered"
    answered += f", {found.known:,} by lessons and items" if found.known else ""
    used = f"used {found.used}" if found.used.n else ""
    contradicted = f"contradicted {found.contradicted.k:,}" if found.contradicted.n else ""
    yield "Rescue", joined((answered, used, contradicted))
