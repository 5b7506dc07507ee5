"""Samples: `knowbound draft` proposes them, `knowbound probe` asks what should be answerable."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from knowbound.cli import options
from knowbound.cli.asking import asking, asking_as_configured, hint_at_model
from knowbound.cli.output import EvalProgress, Out, echo, emit, end_agents_on_interrupt
from knowbound.cli.verb import argument, option, verb
from knowbound.errors import UNDECIDED
from knowbound.judge.names import RULES
from knowbound.language import say
from knowbound.text.printable import counted

if TYPE_CHECKING:
    from knowbound.config import Settings

_DRAFTS = "eval-samples.draft.yaml"
_MOST_SHOWN = 5  # candidates that were not proposed


@verb("draft", around=asking)
def draft_command(
    ids: tuple[str, ...] = argument(),
    root: Path | None = options.root,
    accept: bool = option(f"Add the samples IDS of {_DRAFTS} to the test set."),
    reject: bool = option("Never propose the samples IDS again."),
    count: int = option("Let the model write this many at most.", within=(1, 500), default=10),
    output: Path | None = option("Write the proposals to FILE, not to stdout.", "-o", "--output"),
) -> int:
    """Propose samples from topics, open gaps of evaluations and knowledge files that no sample reached.

    A model that you allowed writes them (--model), each with the quotation that answers it, which rules look up; what
    no document answers is marked. Without one, rules make questions of headings and names. A person decides:
    --accept IDS adds samples to the test set, --reject IDS never proposes them again.
    """
    from knowbound.config import ModelTask
    from knowbound.evals.drafts.file import draft_text
    from knowbound.evals.drafts.sources import accept_drafts, decide, drafts_of
    from knowbound.evals.samples.load import find_samples
    from knowbound.judge.choice import model_for
    from knowbound.judge.registry import asker_for

    if accept and reject:
        raise click.UsageError("Either --accept or --reject.", click.get_current_context())
    if bool(ids) != (accept or reject):
        raise click.UsageError(
            "IDS go with --accept or --reject: knowbound draft --accept ID …", click.get_current_context()
        )
    settings = options.settings_of(root)
    test_set = find_samples(settings.root, settings.eval_samples)
    if accept:
        target = _file_for_drafts(test_set, settings)
        added = accept_drafts(settings, ids, settings.root / _DRAFTS, target)
        echo(say("{} of {} added to {}; the others are there already.", len(added), len(ids), target))
        return 0
    if reject:
        decide(settings.home, rejected=ids)
        echo(say("{} rejected: they are not proposed again.", len(ids)))
        return 0
    asker = asker_for(settings, model_for(settings, ModelTask.DRAFTS) or RULES)
    proposed = drafts_of(settings, test_set if test_set and test_set.exists() else None, asker, count)
    if asker is None:
        hint_at_model(settings, "drafts", "text")
    if not proposed.drafts:
        echo("Nothing to propose: no topic and no uncovered file makes a new sample.", err=True)
        for candidate in proposed.dropped[:_MOST_SHOWN]:
            echo(f"  {candidate.prompt}: {candidate.reason}", err=True)
        return 0
    emit([draft_text(proposed)], output)
    echo(say("{} proposed, {} not.", counted(len(proposed.drafts), "sample"), len(proposed.dropped)), err=True)
    return 0


def samples_file(settings: Settings) -> Path:
    """Return the file that accepted samples of a project are added to."""
    from knowbound.evals.samples.load import find_samples

    return _file_for_drafts(find_samples(settings.root, settings.eval_samples), settings)


def _file_for_drafts(test_set: Path | None, settings: Settings) -> Path:
    """Return the test set if it is a file, or a file of its own in a folder of samples files."""
    if test_set is None:
        return settings.root / "eval-samples.yaml"
    return test_set / "drafted.yaml" if test_set.is_dir() else test_set


@verb("probe", around=asking_as_configured)
def probe_command(
    root: Path | None = options.root,
    count: int = option("Ask this many questions at most, spread over files.", within=(1, 10_000), default=30),
    executor: str | None = option(
        "Run this agent: investigate (built in), claude, codex, model:NAME, 'command:PROGRAM …'."
    ),
    model: str | None = option("Use this model in claude or codex."),
    judge: str | None = option("Let this model propose questions, too (see: knowbound judge list)."),
    questions_only: bool = option("Only list the questions."),
    out: Out = options.page,
) -> int:
    """Ask what the knowledge base should be able to answer by its scope.

    Rules make the questions from headings, file names and the principles in CLAUDE.md; a model, if one is configured,
    proposes more. Their gap rate is shown beside the gap rate of the written samples, never mixed with it.
    """
    from knowbound.config import ModelTask
    from knowbound.evals.questions.probe import probe as run_probe
    from knowbound.judge.choice import model_for
    from knowbound.report.evals.probe import ProbeReport, render_probe

    settings = options.settings_of(root)
    with EvalProgress() as progress, end_agents_on_interrupt("Nothing was stored."):
        probed = run_probe(
            settings,
            count=count,
            executor=executor or settings.eval_executor,
            model=model or settings.eval_model,
            judge=judge or model_for(settings, ModelTask.PROBE),
            questions_only=questions_only,
            progress=progress,
        )
    for note in probed.notes:
        echo(note, err=True)
    report = ProbeReport(probed.probe, probed.evaluation, probed.written)
    out.show(render_probe, report)
    if not judge:
        hint_at_model(settings, "probe", out.format)
    is_unanswered = probed.evaluation is not None and not probed.evaluation.runs_complete
    return UNDECIDED if is_unanswered or not probed.probe.questions else 0
