"""`knowbound audit`: whether answers can be believed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from knowbound.cli.echo import echo
from knowbound.cli.ending import ended_with_us
from knowbound.cli.options import emit, look, output_options, root_option, session_options, settings_of

if TYPE_CHECKING:
    from knowbound.core.audit import AuditedTurn
    from knowbound.report.audit.model import AuditReport


@click.command("audit")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@root_option
@session_options("turns")
@click.option("--session", help="With --turn: one turn of this session (its id, or the beginning of it).")
@click.option("--turn", type=click.IntRange(1), help="With --session: the number of the turn.")
@output_options
def command(
    paths: tuple[Path, ...],
    root: Path | None,
    all_: bool,
    since: str | None,
    project: str | None,
    skill: str | None,
    agent: str | None,
    session: str | None,
    turn: int | None,
    format_: str,
    output: Path | None,
) -> None:
    """Check what agents claimed against what their traces show.

    Every turn gets one diagnosis: incomplete, chat, misled, unsupported, blind, ignored, unknown or grounded. PATHS
    are trace files and folders, as for observe; without one knowbound looks where the agents keep their transcripts,
    inside a project for that project only. With --session and --turn one turn is shown: what was injected, searched,
    found and claimed, side by side.
    """
    from knowbound.cli.observe import folder_of
    from knowbound.cli.progress import ReadingProgress
    from knowbound.gaps.filters import Filters, project_at
    from knowbound.gaps.filters import since as since_time

    if (session is None) != (turn is None):
        raise click.UsageError("--session and --turn go together.")
    settings = settings_of(root)
    given = [Path(os.path.abspath(path)) for path in paths]
    if session is not None and turn is not None:
        emit(_one_turn(given, session, turn, format_, output), output)
        return
    from knowbound.audit.audit import audit

    filters = Filters(
        since=since_time(since) if since else "",
        project=folder_of(project) if project else "" if paths or all_ else project_at(settings.root),
        skill=skill or "",
        agent=agent or "",
    )
    with ReadingProgress() as progress, ended_with_us("What was audited so far is kept."):
        report, turns = audit(given, settings, filters, progress=progress)
    if not paths and filters.project:
        echo(f"Only sessions of {filters.project} (--all: of every project).", err=True)
    emit(rendered(report, turns, format_, output), output)


def rendered(report: AuditReport, turns: Iterator[AuditedTurn], format_: str, output: Path | None) -> Iterator[str]:
    """The report in a format; jsonl is a stream of all turns."""
    from knowbound.report.audit.page import render_audit

    if format_ == "jsonl":
        from knowbound.report.audit.machines import turn_line

        for turn in turns:
            yield turn_line(turn) + "\n"
        return
    yield render_audit(report, cast("Any", format_), **look(output))


def _one_turn(paths: list[Path], session: str, turn: int, format_: str, output: Path | None) -> Iterator[str]:
    from knowbound.audit.reading import turn_page
    from knowbound.report.audit.machines import turn_line
    from knowbound.report.audit.page import render_turn

    page = turn_page(paths, session, turn)
    if format_ == "jsonl":
        yield turn_line(page.turn) + "\n"
    elif format_ in ("text", "json", "markdown", "html"):
        yield render_turn(page, cast("Any", format_), **look(output))
    else:
        raise click.UsageError(f"One turn has no format {format_}: text, json, jsonl, markdown or html.")
