"""`knowbound probe`: ask the knowledge base the questions that its scope promises to answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import click

from knowbound.cli.asking import asking_options, hint_at_model
from knowbound.cli.long_runs import end_agents_on_interrupt
from knowbound.cli.options import page_options, root_option, settings_of
from knowbound.cli.output import echo, emit, layout
from knowbound.errors import UNDECIDED


@click.command("probe")
@root_option
@click.option(
    "--count",
    type=click.IntRange(1, 10_000),
    default=30,
    show_default=True,
    help="Ask this many questions at most, spread over files.",
)
@click.option(
    "--executor", help="Run this agent: investigate (built in), claude, codex, model:NAME, 'command:PROGRAM …'."
)
@click.option("--model", help="Use this model in claude or codex.")
@click.option("--judge", help="Let this model propose questions, too (see: knowbound judge list).")
@click.option("--questions-only", is_flag=True, help="Only list the questions.")
@page_options
@asking_options(with_model=False)
def command(
    root: Path | None,
    count: int,
    executor: str | None,
    model: str | None,
    judge: str | None,
    questions_only: bool,
    format_: str,
    output: Path | None,
) -> int:
    """Ask what the knowledge base should be able to answer by its scope.

    Rules make the questions from headings, file names and the principles in CLAUDE.md; a model, if one is configured,
    proposes more. Their gap rate is shown beside the gap rate of the written samples, never mixed with it.
    """
    from knowbound.cli.long_runs import EvalProgress
    from knowbound.evals.questions.probe import probe as run_probe
    from knowbound.judge.choice import ModelTask, model_for
    from knowbound.report.evals.probe import ProbeReport, render_probe

    settings = settings_of(root)
    with EvalProgress() as progress, end_agents_on_interrupt("Nothing was stored."):
        done = run_probe(
            settings,
            count=count,
            executor=executor or settings.eval_executor,
            model=model or settings.eval_model,
            judge=judge or model_for(settings, ModelTask.PROBE),
            questions_only=questions_only,
            progress=progress,
        )
    for note in done.notes:
        echo(note, err=True)
    report = ProbeReport(done.probe, done.evaluation, done.written)
    emit([render_probe(report, cast("Any", format_), **layout(output))], output)
    if not judge:
        hint_at_model(settings, "probe", format_)
    is_unanswered = done.evaluation is not None and not done.evaluation.runs_complete
    return UNDECIDED if is_unanswered or not done.probe.questions else 0
