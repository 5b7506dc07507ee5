"""The small drawings of the HTML report, and what its charts are drawn with.

Only attributes, never a style: the page's Content-Security-Policy allows no inline style. Positions are in
per cent of the width, so a drawing fits any place without being distorted. The text beside a drawing says
the same, so the drawings are hidden from screen readers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from typing import TypeVar

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
