"""`knowbound compare`: two evaluations of the same test set, sample by sample."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from knowbound.cli.options import PAGES, emit, from_stored, look, root_option, settings_of, shown_as

if TYPE_CHECKING:
    from knowbound.config import Settings
    from knowbound.stats.comparison import Comparison


@click.command("compare")
@click.argument("before", default="previous")
@click.argument("after", default="latest")
@root_option
@shown_as(PAGES)
def command(before: str, after: str, root: Path | None, format_: str, output: Path | None) -> None:
    """Compare two evaluations of the same test set, sample by sample.

    BEFORE and AFTER are ids of stored evaluations (see: knowbound trend), commits, `latest`, or `previous`: the
    last one before the latest with the same test set. Different test sets are refused.
    """
    from knowbound.report.comparison import render_comparison

    found = from_stored(settings_of(root), root, lambda settings: _compared(settings, before, after))
    emit([render_comparison(found, cast("Any", format_), **look(output))], output)


def _compared(settings: Settings, before: str, after: str) -> Comparison:
    from knowbound.evals import history
    from knowbound.stats.comparison import compare, named

    heads = history.evaluations(settings)
    return compare(*(history.evaluation(settings, named(heads, name).id) for name in (before, after)))
