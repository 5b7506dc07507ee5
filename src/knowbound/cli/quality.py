"""`knowbound quality`: measure what is injected."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from knowbound.cli.echo import echo
from knowbound.cli.groups import VerbGroup
from knowbound.cli.options import PAGES, emit, look, project_option, project_settings, shown_as, width
from knowbound.cli.quality_corrections import corrections
from knowbound.cli.quality_rollout import rollout
from knowbound.errors import UNDECIDED

if TYPE_CHECKING:
    from knowbound.config import Settings

_SHARE = click.FloatRange(0, 1)


@click.group("quality", cls=VerbGroup)
def command() -> None:
    """Measure what is injected into agents' context, and set it right."""


command.add_command(rollout)
command.add_command(corrections)


@command.command("status")
@click.option("--item", "item", default="", metavar="ID", help="Show one item: its numbers, last injections, records.")
@project_option
@shown_as(PAGES)
def status(item: str, root: Path | None, format_: str, output: Path | None) -> None:
    """Show whether what is injected helps, and what to fix first.

    Four metrics over the last 7 days, each with its interval, its target and how it changed: injected items that are on
    topic, used and contradicted, and contradicted items that were corrected. Then the five items to fix first, what the
    judge is worth, what it all costs, and how lookups that missed were answered. Turns that
    were scored since are rolled up first.
    """
    from msgspec.structs import replace

    from knowbound.lessons.rescue.scores import rescue_figures
    from knowbound.quality.status import quality_of_item, quality_status
    from knowbound.report.quality.item import render_item
    from knowbound.report.quality.status import render_quality
    from knowbound.stats.quality import window

    settings, format = project_settings(root), cast("Any", format_)
    if item:
        shown = render_item(quality_of_item(settings, item), format, **look(output))
    else:
        found = quality_status(settings)
        first, last = window(found.until)
        found = replace(found, rescues=rescue_figures(settings.home, first, last))
        shown = render_quality(found, format, **look(output))
    emit([shown], output)


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
    from knowbound.stats.floor import FloorTarget

    report = calibrate_injection(project_settings(root), prompts, FloorTarget(precision, left_alone))
    emit([render_floor(report, cast("Any", format_), width=width())], output)
    return UNDECIDED if strict and report.found.is_too_small else 0


@command.command("score")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@click.option("--input", "input_", type=click.Path(path_type=Path), metavar="FILE", help="Judge the turns of FILE.")
@click.option("--again", is_flag=True, help="Score the turns again whose judge failed.")
@click.option("--queue", is_flag=True, help="Score what hooks have queued, now.")
@click.option("--since", help="Only turns since then: 7d, 12h, 2w or a date.")
@click.option("--agent", help="Only sessions of this agent: claude-code, codex, copilot-cli, gemini-cli, …")
@click.option("--all", "all_", is_flag=True, help="Every project, also inside of one.")
@project_option
@shown_as(("text", "json", "jsonl", "markdown", "html"))
def score(
    paths: tuple[Path, ...],
    input_: Path | None,
    again: bool,
    queue: bool,
    since: str | None,
    agent: str | None,
    all_: bool,
    root: Path | None,
    format_: str,
    output: Path | None,
) -> int:
    """Judge what was injected in recorded traces: on topic, used, contradicted.

    PATHS are trace files and folders; without one, knowbound looks where agents keep their transcripts, and reports the
    sessions of this project. Items of the store are judged in the turn that they were injected into; instruction files,
    memory and other hooks' text in pieces, once a session. Nothing is written to the log.

    Turns that hooks report are scored in the background by themselves. --queue scores now what is queued, --again what
    a judge failed on. --input judges given turns, a JSON object per line ({"id", "prompt", "items": [{"id",
    "content"}], "response", "tool_calls": [{"name", "input", "output"}]}), and prints a line per item.
    """
    settings = project_settings(root)
    if queue or again:
        return _score_queue(settings, again=again)
    if input_:
        from knowbound.judge.turns.opening import turn_judge
        from knowbound.quality.given import judged_lines, read_turns

        emit(judged_lines(turn_judge(settings), read_turns(input_)), output)
        return 0
    from knowbound.gaps.filters import project_at
    from knowbound.gaps.filters import since as since_time
    from knowbound.quality.recorded import items_of, score_traces
    from knowbound.report.recorded_quality import render_recorded

    report, lines = score_traces(
        [Path(os.path.abspath(path)) for path in paths],
        settings,
        project="" if paths or all_ else project_at(settings.root),
        since=since_time(since) if since else "",
        agent=agent or "",
    )
    shown = items_of(lines) if format_ == "jsonl" else [render_recorded(report, cast("Any", format_), **look(output))]
    emit(shown, output)
    return 0


def _score_queue(settings: Settings, *, again: bool) -> int:
    """Score in this process, once no worker does."""
    from knowbound.agent.background import SCORING
    from knowbound.errors import StoreError
    from knowbound.quality.queue import Queue
    from knowbound.quality.score import score_queue

    lock = SCORING.take_lock(str(settings.home)) if settings.home.is_dir() else None
    if lock is None:
        raise StoreError("store-busy", "A worker scores the queue right now. Try again when it has ended.")
    try:
        done = score_queue(settings, again=again).scored
    finally:
        os.close(lock)
    if not Queue(settings.home).is_empty():  # queued while we held the lock: its hook started nobody
        SCORING.ensure_running(str(settings.root), str(settings.home))
    words = f"{done.turns} turns scored"
    echo(f"{words}, {done.failed} of them without a verdict: {done.problem}" if done.failed else f"{words}.")
    return UNDECIDED if done.failed else 0
