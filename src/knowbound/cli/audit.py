"""`knowbound audit`: check the claims of agents against their traces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from knowbound.cli.asking import asking_options, hint_at_model
from knowbound.cli.long_runs import ReadingProgress, end_agents_on_interrupt
from knowbound.cli.options import (
    FilePath,
    absolute,
    cluster_option,
    output_options,
    root_option,
    session_filters,
    session_options,
    settings_of,
)
from knowbound.cli.output import echo, emit, layout
from knowbound.report import PAGE_FORMATS

if TYPE_CHECKING:
    from knowbound.core.audit import AuditedTurn
    from knowbound.report.audit import AuditReport


@click.command("audit")
@click.argument("paths", nargs=-1, type=FilePath)
@root_option
@session_options("turns")
@cluster_option
@click.option("--session", help="Show a turn of this session (its id, or the beginning of its id); needs --turn.")
@click.option("--turn", type=click.IntRange(1), help="Show the turn of this number; needs --session.")
@click.option(
    "--judge",
    "most",
    type=click.IntRange(0),
    default=30,
    show_default=True,
    help="Let the model read so many answers, the most suspicious first.",
)
@output_options
@asking_options()
def command(
    paths: tuple[Path, ...],
    root: Path | None,
    session: str | None,
    turn: int | None,
    most: int,
    format_: str,
    output: Path | None,
    cluster: str | None,
    **chosen: Any,
) -> None:
    """Check what agents claimed against what their traces show.

    Every turn gets one diagnosis: incomplete, chat, misled, unsupported, blind, ignored, unknown or grounded. Rules
    decide about tests, builds, lint, edits and git. A model that you allowed reads the most suspicious answers whole
    and quotes what shows each claim, or what contradicts it; without one those turns are unknown. PATHS are trace files
    and folders, as for observe. Without a path, knowbound looks where the agents keep their transcripts, and inside a
    project it reports that project only. --session and --turn show one turn: what was injected, searched, found and
    claimed, side by side.
    """
    from knowbound.audit.audit import Judging, audit
    from knowbound.judge.choice import ModelTask, judge_for
    from knowbound.judge.registry import asker_for
    from knowbound.lessons.learn import material_lens

    if (session is None) != (turn is None):
        raise click.UsageError("--session and --turn go together.")
    settings = settings_of(root, cluster_address=cluster)
    if session is not None and turn is not None:
        emit(_one_turn(absolute(paths), session, turn, settings.home, format_, output), output)
        return
    filters = session_filters(settings, bool(paths), **chosen)
    with ReadingProgress() as progress, end_agents_on_interrupt("What was audited so far is kept."):
        asker = asker_for(settings, judge_for(settings, ModelTask.CLAIMS)) if most else None
        report, turns = audit(
            absolute(paths),
            settings,
            filters,
            judging=Judging(asker, most) if asker is not None else None,
            progress=progress,
            also=[material_lens(settings.home)],
        )
    if not paths and filters.project:
        echo(f"Only sessions of {filters.project} (--all: of every project).", err=True)
    emit(_rendered(report, turns, format_, output), output)
    hint_at_model(settings, "claims", format_)


def _rendered(report: AuditReport, turns: Iterator[AuditedTurn], format_: str, output: Path | None) -> Iterator[str]:
    """Render the report; jsonl is a stream of all turns."""
    from knowbound.report.audit import render_audit

    if format_ == "jsonl":
        from knowbound.report.audit import turn_line

        for turn in turns:
            yield turn_line(turn) + "\n"
        return
    yield render_audit(report, cast("Any", format_), **layout(output))


def _one_turn(
    paths: list[Path], session: str, turn: int, home: Path, format_: str, output: Path | None
) -> Iterator[str]:
    from knowbound.audit.reading import turn_page
    from knowbound.report.audit import render_turn, turn_line

    page = turn_page(paths, session, turn, home)
    if format_ == "jsonl":
        yield turn_line(page.turn) + "\n"
    elif format_ in PAGE_FORMATS:
        yield render_turn(page, cast("Any", format_), **layout(output))
    else:
        raise click.UsageError(f"One turn has no format {format_}: text, json, jsonl, markdown or html.")
