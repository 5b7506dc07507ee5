"""`knowbound` and `knowbound review`: what to do next, over all lenses."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knowbound.cli.long_runs import ReadingProgress, end_agents_on_interrupt
from knowbound.cli.options import (
    absolute,
    cluster_option,
    report_options,
    root_option,
    session_filters,
    session_options,
    settings_of,
)
from knowbound.cli.output import emit
from knowbound.language import translated

if TYPE_CHECKING:
    from knowbound.review.review import Reviewed


@click.command("review")
@click.argument("paths", nargs=-1)
@root_option
@session_options()
@cluster_option
@click.option("--team", is_flag=True, help="Add up the files of knowbound share: files, folders or addresses as PATHS.")
@click.option(
    "--people",
    type=click.IntRange(min=3),
    default=3,
    show_default=True,
    help="With --team: show only what this many people have.",
)
@report_options(("text", "json"))
def command(
    paths: tuple[str, ...],
    root: Path | None,
    team: bool,
    people: int,
    format_: str,
    output: Path | None,
    cluster: str | None,
    **chosen: Any,
) -> None:
    """Show what to do next: wrong lines to repair, missing lines to write.

    The same as knowbound without a verb. Reads the sessions of this project once for every lens, checks what CLAUDE.md,
    AGENTS.md, rules, skills and the items of the store say against the tree, and prints at most seven actions, best
    first, each with what it cost and the command that carries it out. PATHS are trace files and folders, as for
    observe; with --team they are the places of files that knowbound share wrote: files, folders, addresses of MongoDB
    or of a bucket.
    """
    if team:
        _review_team(paths, people, format_, output)
        return
    from knowbound.review.review import first_look, is_kept, review

    settings = settings_of(root, cluster_address=cluster)
    filters = session_filters(settings, bool(paths), **chosen)
    shown = 0
    if not paths and format_ == "text" and output is None and sys.stdout.isatty() and not is_kept(settings, filters):
        first = first_look(settings, filters)
        if first is not None:
            text = _text(first, format_) + translated("First look: only the newest sessions. Reading the rest …") + "\n"
            emit([text], None)
            shown = text.count("\n")
    with ReadingProgress() as progress, end_agents_on_interrupt("What was read so far is kept."):
        found = review(absolute(paths), settings, filters, root_is_given=root is not None, progress=progress)
    emit([f"\x1b[{shown}F\x1b[J" if shown else "", _text(found, format_)], output)


def _review_team(places: tuple[str, ...], people: int, format_: str, output: Path | None) -> None:
    from knowbound.report.team import render_team
    from knowbound.review.team import read_shares, team_review

    if not places:
        raise click.UsageError("--team needs the places of shared files: knowbound review --team week/")
    emit([render_team(team_review(read_shares(places), people), format_)], output)


def _text(found: Reviewed, format_: str) -> str:
    from knowbound.report.review import render_review

    return render_review(found.project, found.actions, found.figures, found.watched, found.notes, format_)
