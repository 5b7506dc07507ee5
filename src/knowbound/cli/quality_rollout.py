"""`knowbound quality rollout`: rank by measured quality, one backend at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import click

from knowbound.cli.options import emit, look, project_option, project_settings, shown_as, user_name
from knowbound.errors import GATE_FAILED, InputError

_FORMATS = ("text", "json", "markdown")


@click.command("rollout")
@click.option("--advance", is_flag=True, help="Begin the next leg; refused while a criterion is open.")
@click.option("--revert", is_flag=True, help="Go back to the leg before.")
@project_option
@shown_as(_FORMATS)
def rollout(advance: bool, revert: bool, root: Path | None, format_: str, output: Path | None) -> int:
    """Show where the rollout of measured ranking is, and what is missing.

    Leg 0 measures. Each further leg ranks the items of one backend by their effective confidence; with the last one
    corrections are suggested. A leg lasts a week of turns at least and is left only on request, when its criteria are
    met and a replay of the next ranking is no worse. A kill criterion reverts it by itself. Exit 1: not advanced.
    """
    from knowbound.quality import rollout as rolling
    from knowbound.report.quality.rollout import render_rollout

    if advance and revert:
        raise InputError("rollout-refused", "Either --advance or --revert.")
    settings = project_settings(root)
    if advance:
        status = rolling.advance(settings, by=user_name())
    elif revert:
        status = rolling.revert(settings, by=user_name())
    else:
        status = rolling.rollout_status(settings)
    emit([render_rollout(status, cast("Any", format_), **look(output))], output)
    return GATE_FAILED if status.refused else 0
