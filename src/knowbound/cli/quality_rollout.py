"""`knowbound quality rollout` and `quality replay`: rank by what was measured, step by step."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import click

from knowbound.cli.options import emit, look, project_option, project_settings, shown_as, user_name
from knowbound.errors import GATE_FAILED, UNDECIDED, InputError

_SHARE = click.FloatRange(0, 1)
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


@click.command("replay")
@click.option(
    "--ranker",
    type=click.Choice(("plain", "present", "quality")),
    default="quality",
    show_default=True,
    help="The candidate: by stored confidence, as now, or with the backends of the next leg by measured quality.",
)
@click.option(
    "--against",
    type=click.Choice(("plain", "present", "quality")),
    default="present",
    show_default=True,
    help="What it is compared with.",
)
@click.option("--floor", type=_SHARE, default=None, help="The candidate's floor of relevance (default: the present).")
@click.option("--against-floor", type=_SHARE, default=None, help="The other's floor (default: the present).")
@click.option("-k", "k", type=click.IntRange(1), default=None, help="Items per prompt (default: injection.most_items).")
@click.option("--since", help="Only turns since then: 7d, 12h, 2w or a date.")
@project_option
@shown_as(_FORMATS)
def replay(
    ranker: str,
    against: str,
    floor: float | None,
    against_floor: float | None,
    k: int | None,
    since: str | None,
    root: Path | None,
    format_: str,
    output: Path | None,
) -> int:
    """Compare two rankings, or two floors, on candidates that were logged and judged.

    Every prompt's candidates are logged with each part of their scores. They are ranked again both ways; of the judged
    items among the first k, the share on topic, used and contradicted is compared turn by turn. What was never injected
    was never judged: how much that is is shown. A comparison of the next leg with the present one is kept, and
    `rollout --advance` asks for it. Exit 1: the candidate is worse; exit 3: too few turns.
    """
    from knowbound.gaps.filters import since as since_time
    from knowbound.quality.replay import ReplayOptions
    from knowbound.quality.replay import replay as replayed
    from knowbound.report.quality.replay import render_replay
    from knowbound.stats.replay import Ranker, ReplayVerdict

    options = ReplayOptions(
        Ranker(ranker), Ranker(against), floor, against_floor, k or 0, since_time(since)[:10] if since else ""
    )
    result = replayed(project_settings(root), options)
    emit([render_replay(result, cast("Any", format_), **look(output))], output)
    return {ReplayVerdict.WORSE: GATE_FAILED, ReplayVerdict.TOO_FEW: UNDECIDED}.get(result.verdict, 0)
