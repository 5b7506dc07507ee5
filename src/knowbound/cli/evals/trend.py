"""`knowbound trend`: the gap rate from evaluation to evaluation."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from knowbound.cli.options import PAGES, emit, from_stored, look, root_option, settings_of, shown_as
from knowbound.errors import InputError

if TYPE_CHECKING:
    from knowbound.config import Settings
    from knowbound.stats.evaluation import EvaluationHead
    from knowbound.stats.trend import Trend


@click.command("trend")
@root_option
@click.option("--samples", metavar="FILE", help="Only this samples file, by its path or the start of its hash.")
@click.option(
    "--last", type=click.IntRange(1, 10**9), metavar="N", help="Only the last N evaluations of each samples file."
)
@click.option("--others", is_flag=True, help="Also show the versions that `eval --against` ran.")
@shown_as(PAGES, output_help="Write to FILE; a name that ends in .svg gets the chart alone.")
def command(
    root: Path | None, samples: str | None, last: int | None, others: bool, format_: str, output: Path | None
) -> None:
    """Show how the gap rate moved from commit to commit.

    A table of all evaluations, and a line chart with intervals and marks where the knowledge changed. Evaluations
    of different test sets are never joined: the line breaks where the samples file changed.
    """
    from knowbound.report.formats.trend_svg import trend_svg_file
    from knowbound.report.trend import render_trend

    found = from_stored(settings_of(root), root, lambda settings: _trend(settings, samples, last or 0, others))
    if output is not None and output.suffix == ".svg":
        newest = next(panel for panel in found.panels if panel.rows[-1] is found.rows[-1])
        emit([trend_svg_file(newest)], output)
        return
    emit([render_trend(found, cast("Any", format_), **look(output))], output)


def _trend(settings: Settings, samples: str | None, last: int, others: bool) -> Trend:
    from knowbound.evals.history import broken_samples, evaluations
    from knowbound.stats.trend import trend

    heads = [head for head in evaluations(settings) if samples is None or _is_about(head, samples)]
    found = trend(heads, with_others=others, last=last, broken=partial(broken_samples, settings))
    if not found.rows:
        about = f" of {samples}" if samples else ""
        raise InputError(
            "no-run", f"There is no stored evaluation{about} in {settings.home}. Try: knowbound eval SAMPLES"
        )
    return found


def _is_about(head: EvaluationHead, samples: str) -> bool:
    path = Path(head.watermark.path)
    given = Path(samples)
    return path == given or given.resolve() == path.resolve() or path.name == samples or head.sha256.startswith(samples)
