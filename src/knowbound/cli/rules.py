"""`knowbound rules`: report which rules of knowledge files agents obey."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from knowbound.cli.asking import asking_options, hint_at_model
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


@click.command("rules")
@click.argument("paths", nargs=-1, type=FilePath)
@click.option("--newest", type=click.IntRange(1), default=30, show_default=True, help="Look at so many sessions.")
@root_option
@session_options("sessions")
@report_options(("text", "jsonl"))
@asking_options()
def command(
    paths: tuple[Path, ...], newest: int, root: Path | None, format_: str, output: Path | None, **chosen: Any
) -> None:
    """Report which rules of CLAUDE.md, AGENTS.md and the like agents obey, and which they ignore.

    A rule is a line that tells agents what to do or not to do, in the file as it was on the day of each session. Rules
    of knowbound decide what a trace shows by itself: commands that have to run, commands and files that are forbidden,
    commits, pushes, files to read first. A model that you allowed decides the rest from a shortened record of each
    session, one question a session, with a quotation; without one those cases are counted as undecided.
    """
    from knowbound.judge.choice import ModelTask, judge_for
    from knowbound.judge.registry import asker_for
    from knowbound.knowledge.rules.rules import check_rules
    from knowbound.report.knowledge import render_rules

    settings = settings_of(root)
    filters = session_filters(settings, bool(paths), **chosen)
    asker = asker_for(settings, judge_for(settings, ModelTask.RULES))
    with ReadingProgress() as progress, end_agents_on_interrupt("What was read so far is kept."):
        found = check_rules(
            absolute(paths),
            settings,
            filters,
            newest=newest,
            root_is_given=root is not None,
            asker=asker,
            progress=progress,
        )
    emit(render_rules(found.checks, found.sessions, found.of, found.notes, format_), output)
    hint_at_model(settings, "rules", format_)
