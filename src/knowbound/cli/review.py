"""`knowbound` and `knowbound review`: what to do next, over all lenses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from knowbound.cli.long_runs import ReadingProgress, end_agents_on_interrupt
from knowbound.cli.options import (
    FilePath,
    absolute,
    report_options,
    root_option,
    session_filters,
    session_options,
    settings_of,
)
from knowbound.cli.output import emit


@click.command("review")
@click.argument("paths", nargs=-1, type=FilePath)
@root_option
@session_options()
@report_options(("text", "json"))
def command(paths: tuple[Path, ...], root: Path | None, format_: str, output: Path | None, **chosen: Any) -> None:
    """Show what to do next: wrong lines to repair, missing lines to write.

    The same as knowbound without a verb. Reads the sessions of this project once for every lens, checks what CLAUDE.md,
    AGENTS.md, rules, skills and the items of the store say against the tree, and prints at most seven actions, best
    first, each with what it cost and the command that carries it out. PATHS are trace files and folders, as for
    observe.
    """
    from knowbound.report.review import render_review
    from knowbound.review.review import review

    settings = settings_of(root)
    filters = session_filters(settings, bool(paths), **chosen)
    with ReadingProgress() as progress, end_agents_on_interrupt("What was read so far is kept."):
        found = review(absolute(paths), settings, filters, root_is_given=root is not None, progress=progress)
    emit(
        [render_review(found.project, found.actions, found.figures, found.watched, found.notes, format_)],
        output,
    )
