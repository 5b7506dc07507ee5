"""The small drawings of the HTML report.

Only attributes, never a style: the page's Content-Security-Policy allows no inline style. Positions are in
per cent of the width, so a drawing fits any place without being distorted. The text beside a drawing says
the same, so the drawings are hidden from screen readers.
"""

from __future__ import annotations

from collections.abc import Iterable


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
