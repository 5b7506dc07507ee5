"""`knowbound observe`: what agents looked for and did not find."""

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
    from knowbound.config import Settings
    from knowbound.core.signal import Signal
    from knowbound.gaps.filters import Filters
    from knowbound.report.model import ObserveReport


@click.command("observe")
@click.argument("paths", nargs=-1, type=click.Path(path_type=Path))
@root_option
@session_options("samples")
@output_options
def command(
    paths: tuple[Path, ...],
    root: Path | None,
    all_: bool,
    since: str | None,
    project: str | None,
    skill: str | None,
    agent: str | None,
    format_: str,
    output: Path | None,
) -> None:
    """Report what agents looked for and did not find.

    PATHS are trace files and folders, read recursively, .gz and .zst too; the format is recognised by
    content. Without a path, knowbound looks where the agents keep their transcripts; inside a project it then
    reports the sessions of that project, its subfolders and worktrees only (--all: of every project).
    Observing again reads only what changed.
    """
    from knowbound.cli.progress import ReadingProgress
    from knowbound.gaps.filters import Filters, project_at
    from knowbound.gaps.filters import since as since_time
    from knowbound.gaps.observe import observe as observe_traces

    settings = settings_of(root)
    filters = Filters(
        since=since_time(since) if since else "",
        project=folder_of(project) if project else "" if paths or all_ else project_at(settings.root),
        skill=skill or "",
        agent=agent or "",
    )
    with ReadingProgress() as progress, ended_with_us("What was read so far is kept."):
        report, signals = observe_traces(
            [Path(os.path.abspath(path)) for path in paths],
            settings,
            filters,
            root_is_given=root is not None,
            progress=progress,
        )
    report = with_lessons(report, settings)
    if not paths:
        only = f" for sessions of {filters.project} (--all: of every project)" if filters.project else ""
        echo(f"Looked in {report.watermark.path}{only}.", err=True)
    answers = _answers(settings.home, filters) if format_ in ("text", "markdown", "html") else ""
    emit(rendered(report, signals, format_, output, answers), output)


def _answers(home: Path, filters: Filters) -> str:
    """What the stored audit says about the same sessions, in one line."""
    from knowbound.audit.stored import shares_line, stored_shares

    return shares_line(stored_shares(home, filters.admits))


def folder_of(project: str) -> str:
    """A path as sessions have it; a name stays one."""
    return os.path.abspath(os.path.expanduser(project)) if "/" in project or project in (".", "..") else project


def with_lessons(report: ObserveReport, settings: Settings) -> ObserveReport:
    """The report whose topics have the line that `learn` proposes for them."""
    from msgspec.structs import replace

    from knowbound.lessons.proposed import with_proposed

    return replace(report, topics=with_proposed(report.topics, settings.home))


def rendered(
    report: ObserveReport, signals: Iterator[Signal], format_: str, output: Path | None, answers: str = ""
) -> Iterator[str]:
    """The report in a format; jsonl is a stream of all signals."""
    from knowbound.report.observe import render_observe

    if format_ == "jsonl":
        from knowbound.report.formats.json import signal_line

        for signal in signals:
            yield signal_line(signal, report.watermark) + "\n"
        return
    yield render_observe(report, cast("Any", format_), **look(output), answers=answers)
