"""`knowbound quality`: measure what is injected."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import click

from knowbound.cli.options import emit, project_option, project_settings, shown_as, width
from knowbound.errors import UNDECIDED

_SHARE = click.FloatRange(0, 1)


@click.group("quality")
def command() -> None:
    """Measure what is injected into agents' context, and set it right."""


@command.command("calibrate")
@click.argument("prompts", type=click.Path(path_type=Path))
@click.option(
    "--precision",
    type=_SHARE,
    default=0.85,
    show_default=True,
    help="The least share of injected items that are to be on topic.",
)
@click.option(
    "--left-alone",
    type=_SHARE,
    default=0.95,
    show_default=True,
    help="The least share of prompts that need nothing for which nothing is to be injected.",
)
@click.option("--strict", is_flag=True, help="Exit 3 when there are too few labelled prompts to decide.")
@project_option
@shown_as(("text", "json", "markdown"))
def calibrate(
    prompts: Path,
    precision: float,
    left_alone: float,
    strict: bool,
    root: Path | None,
    format_: str,
    output: Path | None,
) -> int:
    """Recommend the relevance floor and the number of items, from labelled prompts.

    PROMPTS has a JSON object per line: {"prompt": "…", "right": [ids of the items that it needs, or none],
    "on_topic": [ids of others that bear on it]}. Each prompt is searched for in the project's own store, as the hook
    does. The recommended floor is the lowest that gives what --precision and --left-alone ask for. Nothing is changed.
    """
    from knowbound.injection.calibration import calibrate_injection
    from knowbound.report.floor import render_floor
    from knowbound.stats.floor import Wanted

    report = calibrate_injection(project_settings(root), prompts, Wanted(precision, left_alone))
    emit([render_floor(report, cast("Any", format_), width=width())], output)
    return UNDECIDED if strict and report.found.is_too_small else 0
