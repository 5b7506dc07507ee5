"""`knowbound observe`: report what agents looked for and did not find."""

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
    as_specified_option,
    cluster_option,
    output_options,
    root_option,
    session_filters,
    session_options,
    settings_of,
)
from knowbound.cli.output import echo, emit, layout
from knowbound.language import say

if TYPE_CHECKING:
    from knowbound.config import Settings
    from knowbound.core.signal import Signal
    from knowbound.gaps.stored import Filters
    from knowbound.report.gaps.observe import Detail
    from knowbound.report.model import ObserveReport


@click.command("observe")
@click.argument("paths", nargs=-1, type=FilePath)
@root_option
@session_options("samples")
@cluster_option
@click.option("--all-rates", is_flag=True, help="Show every rate with its interval and how to read it.")
@as_specified_option
@click.option("--verbose", is_flag=True, help="Show everything: more topics, sources, skills, files, every signal.")
@output_options
@asking_options()
def command(
    paths: tuple[Path, ...],
    root: Path | None,
    all_rates: bool,
    as_specified: bool,
    verbose: bool,
    format_: str,
    output: Path | None,
    cluster: str | None,
    **chosen: Any,
) -> None:
    """Report what agents looked for and did not find.

    PATHS are trace files and folders, read recursively, .gz and .zst too; the content says which format they have.
    Without a path, knowbound looks where the agents keep their transcripts, and inside a project it reports the
    sessions of that project, its subfolders and worktrees only (--all: of every project). Observing again reads only
    what changed. Shows one screen: the topics to act on, and one line of figures with its watermark; --verbose,
    --all-rates and --format html have the rest.
    """
    from knowbound.gaps.observe import observe as observe_traces

    settings = settings_of(root, as_specified=as_specified or None, cluster_address=cluster)
    filters = session_filters(settings, bool(paths), **chosen)
    with ReadingProgress() as progress, end_agents_on_interrupt("What was read so far is kept."):
        report, signals = observe_traces(
            absolute(paths), settings, filters, root_is_given=root is not None, progress=progress
        )
    report = with_lessons(report, settings)
    if not paths:
        only = say(" for sessions of {} (--all: of every project)", filters.project) if filters.project else ""
        echo(say("Looked in {}{}.", report.watermark.path, only), err=True)
    answers = _answers(settings.home, filters) if format_ in ("text", "markdown", "html") else ""
    emit(rendered(report, signals, format_, output, answers, detail_of(all_rates, verbose)), output)
    hint_at_model(settings, "hedges", format_)


def _answers(home: Path, filters: Filters) -> str:
    """Return the shares of the stored audit for the same sessions, in one line."""
    from knowbound.audit.stored import shares_line, stored_shares

    return shares_line(stored_shares(home, filters.admits))


def with_lessons(report: ObserveReport, settings: Settings) -> ObserveReport:
    """Add to each topic the line that `learn` proposes for it."""
    from msgspec.structs import replace

    from knowbound.store.lessons import with_proposed

    return replace(report, topics=with_proposed(report.topics, settings.home))


def detail_of(all_rates: bool, verbose: bool) -> Detail:
    """Return how much is shown."""
    from knowbound.report.gaps.observe import Detail

    return Detail.FULL if verbose else Detail.RATES if all_rates else Detail.SHORT


def rendered(
    report: ObserveReport,
    signals: Iterator[Signal],
    format_: str,
    output: Path | None,
    answers: str = "",
    detail: Detail | None = None,
) -> Iterator[str]:
    """Render the report; jsonl is a stream of all signals."""
    from knowbound.report.gaps.observe import Detail, render_observe

    if format_ == "jsonl":
        from knowbound.report.formats.json import signal_line

        for signal in signals:
            yield signal_line(signal, report.watermark) + "\n"
        return
    yield render_observe(report, cast("Any", format_), **layout(output), answers=answers, detail=detail or Detail.FULL)
