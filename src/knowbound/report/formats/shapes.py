"""The shapes of drawn charts. Only attributes, never a style; colours are the variables of the page."""

from __future__ import annotations

from html import escape


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
