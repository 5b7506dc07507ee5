"""`knowbound quality`: measure what is injected."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any, cast

import click

from knowbound.cli.echo import echo
from knowbound.cli.options import PAGES, emit, look, project_option, project_settings, shown_as, width
from knowbound.errors import UNDECIDED

_SHARE = click.FloatRange(0, 1)


@click.group("quality")
def command() -> None:
    """Measure what is injected into agents' context, and set it right."""


@command.command("status")
@click.option("--item", "item", default="", metavar="ID", help="Show one item: its numbers, last injections, records.")
@project_option
@shown_as(PAGES)
def status(item: str, root: Path | None, format_: str, output: Path | None) -> None:
    """Show whether what is injected helps, and what to fix first.

    Four metrics over the last 7 days, each with its interval, its target and how it changed: injected items that are on
    topic, used and contradicted, and contradicted items that were corrected. Then the five items to fix first, what the
    judge is worth, and what it all costs. Turns that were scored since are rolled up first.
    """
    from knowbound.quality.status import quality_of_item, quality_status
    from knowbound.report.quality_item import render_item
    from knowbound.report.quality_status import render_quality

    settings, format = project_settings(root), cast("Any", format_)
    if item:
        shown = render_item(quality_of_item(settings, item), format, **look(output))
    else:
        shown = render_quality(quality_status(settings), format, **look(output))
    emit([shown], output)


@command.command("rollup")
@project_option
def rollup(root: Path | None) -> None:
    """Bring the daily figures up to the scored turns, and say which days changed.

    The worker in the background does this by itself, and so does `status`. Turns older than 90 days leave the log,
    their days stay.
    """
    from knowbound.kms.quality_log.opening import open_quality_log
    from knowbound.quality.score import rolled_up

    settings = project_settings(root)
    with closing(open_quality_log(settings)) as log:
        done = rolled_up(settings, log)
    days = ", ".join(done.days) if done.days else "no day: nothing was scored since the last time"
    echo(f"Rolled up {days}.")
    if done.raised:
        echo(f"{done.raised:,} warranted corrections are known. Next: knowbound quality status")
    if done.pruned:
        echo(f"{done.pruned:,} turns older than 90 days have left the log; their days stay.")


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
