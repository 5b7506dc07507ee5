"""`knowbound draft`: propose samples, and add the accepted ones to the test set."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from knowbound.cli.asking import asking_options, hint_at_model
from knowbound.cli.options import root_option, settings_of
from knowbound.cli.output import echo, emit
from knowbound.judge.names import RULES
from knowbound.language import say

if TYPE_CHECKING:
    from knowbound.config import Settings

_DRAFTS = "eval-samples.draft.yaml"
_SHOWN = 5  # candidates that were not proposed


@click.command("draft")
@click.argument("ids", nargs=-1)
@root_option
@click.option("--accept", is_flag=True, help=f"Add the samples IDS of {_DRAFTS} to the test set.")
@click.option("--reject", is_flag=True, help="Never propose the samples IDS again.")
@click.option(
    "--count", type=click.IntRange(1, 500), default=10, show_default=True, help="Let the model write this many at most."
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the proposals to FILE, not to stdout.")
@asking_options()
@click.pass_context
def command(
    ctx: click.Context,
    ids: tuple[str, ...],
    root: Path | None,
    accept: bool,
    reject: bool,
    count: int,
    output: Path | None,
) -> int:
    """Propose samples from topics, open gaps of evaluations and knowledge files that no sample reached.

    A model that you allowed writes them (--model), each with the quotation that answers it, which rules look up; what
    no document answers is marked. Without one, rules make questions of headings and names. A person decides:
    --accept IDS adds samples to the test set, --reject IDS never proposes them again.
    """
    from knowbound.evals.drafts.file import draft_text
    from knowbound.evals.drafts.sources import accept_drafts, decide, drafts_of
    from knowbound.evals.samples.load import find_samples
    from knowbound.judge.choice import ModelTask, model_for
    from knowbound.judge.registry import asker_for
    from knowbound.text.printable import counted

    if accept and reject:
        raise click.UsageError("Either --accept or --reject.", ctx)
    if bool(ids) != (accept or reject):
        raise click.UsageError("IDS go with --accept or --reject: knowbound draft --accept ID …", ctx)
    settings = settings_of(root)
    test_set = find_samples(settings.root, settings.eval_samples)
    if accept:
        target = _file_in(test_set, settings)
        added = accept_drafts(settings, ids, settings.root / _DRAFTS, target)
        echo(say("{} of {} added to {}; the others are there already.", len(added), len(ids), target))
        return 0
    if reject:
        decide(settings.home, rejected=ids)
        echo(say("{} rejected: they are not proposed again.", len(ids)))
        return 0
    asker = asker_for(settings, model_for(settings, ModelTask.DRAFTS) or RULES)
    found = drafts_of(settings, test_set if test_set and test_set.exists() else None, asker, count)
    if asker is None:
        hint_at_model(settings, "drafts", "text")
    if not found.drafts:
        echo("Nothing to propose: no topic and no uncovered file makes a new sample.", err=True)
        for one in found.dropped[:_SHOWN]:
            echo(f"  {one.prompt}: {one.reason}", err=True)
        return 0
    emit([draft_text(found)], output)
    echo(say("{} proposed, {} not.", counted(len(found.drafts), "sample"), len(found.dropped)), err=True)
    return 0


def samples_file(settings: Settings) -> Path:
    """Return the file that accepted samples of a project are added to."""
    from knowbound.evals.samples.load import find_samples

    return _file_in(find_samples(settings.root, settings.eval_samples), settings)


def _file_in(test_set: Path | None, settings: Settings) -> Path:
    """Return the test set if it is a file, or a file of its own in a folder of samples files."""
    if test_set is None:
        return settings.root / "eval-samples.yaml"
    return test_set / "drafted.yaml" if test_set.is_dir() else test_set
