"""`knowbound compare`: two evaluations of the same test set, sample by sample."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import click

from knowbound.cli.options import PAGES, emit, look, root_option, settings_of, shown_as


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
    from knowbound.evals import history
    from knowbound.report.comparison import render_comparison
    from knowbound.stats.comparison import compare, named

    settings = settings_of(root)
    heads = history.evaluations(settings)
    one, other = (history.evaluation(settings, named(heads, name).id) for name in (before, after))
    shown = render_comparison(compare(one, other), cast("Any", format_), **look(output))
    emit([shown], output)
