"""Lines for people: every verb prints them here, so that no name or text of others reaches the terminal as it is."""

from __future__ import annotations

import click


def echo(text: str, *, err: bool = False) -> None:
    """Print text without terminal codes, control characters and characters that turn text around."""
    from knowbound.report.formats.plain import printable

    click.echo(printable(text), err=err)
