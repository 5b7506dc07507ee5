"""`knowbound trend` and `knowbound compare`: stored evaluations over time, and side by side."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from knowbound.cli.options import from_stored, report_options, root_option, settings_of
from knowbound.cli.output import emit, layout
from knowbound.errors import InputError
from knowbound.report import PAGE_FORMATS

if TYPE_CHECKING:
    from knowbound.config import Settings
    from knowbound.stats.comparison import Comparison
    from knowbound.stats.evaluation import EvaluationHead
    from knowbound.stats.trend import Trend


@click.command("trend")
@root_option
@click.option("--samples", metavar="FILE", help="Show only this samples file, by its path or the start of its hash.")
@click.option(
    "--last", type=click.IntRange(1, 10**9), metavar="N", help="Show only the last N evaluations of each samples file."
)
@click.option("--others", is_flag=True, help="Also show the other variants that `eval` ran.")
@report_options(PAGE_FORMATS, output_help="Write to FILE; a name that ends in .svg or .png gets the chart alone.")
def trend(
    root: Path | None, samples: str | None, last: int | None, others: bool, format_: str, output: Path | None
) -> None:
    """Show how the gap rate moved from commit to commit.

    Prints a table of all evaluations, and a line chart with intervals and marks where the knowledge changed. The line
    breaks where the samples file changed: evaluations of different test sets are never joined.
    """
    from knowbound.files import replacing
    from knowbound.report.evals.trend import render_trend
    from knowbound.report.formats.trend_svg import trend_png, trend_svg_file

    found = from_stored(settings_of(root), root, lambda settings: _trend(settings, samples, last or 0, others))
    if output is not None and output.suffix in (".svg", ".png"):
        newest = next(panel for panel in found.panels if panel.rows[-1] is found.rows[-1])
        drawn = trend_png(newest) if output.suffix == ".png" else trend_svg_file(newest).encode()
        with replacing(output) as file:
            file.write(drawn)
        return
    emit([render_trend(found, cast("Any", format_), **layout(output))], output)


def _trend(settings: Settings, samples: str | None, last: int, others: bool) -> Trend:
    from knowbound.evals.history import broken_samples, evaluations
    from knowbound.stats.trend import trend as trend_of

    heads = [head for head in evaluations(settings) if samples is None or _is_about(head, samples)]
    found = trend_of(heads, with_others=others, last=last, broken=partial(broken_samples, settings))
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


@click.command("compare")
@click.argument("before", default="previous")
@click.argument("after", default="latest")
@root_option
@report_options(PAGE_FORMATS)
def compare(before: str, after: str, root: Path | None, format_: str, output: Path | None) -> None:
    """Compare two evaluations of the same test set, sample by sample.

    BEFORE and AFTER are ids of stored evaluations (see: knowbound trend), commits, `latest`, or `previous`: the
    newest evaluation before the latest with the same test set. Different test sets are refused.
    """
    from knowbound.report.evals.comparison import render_comparison

    found = from_stored(settings_of(root), root, lambda settings: _compared(settings, before, after))
    emit([render_comparison(found, cast("Any", format_), **layout(output))], output)


def _compared(settings: Settings, before: str, after: str) -> Comparison:
    from knowbound.evals import history
    from knowbound.stats.comparison import compare as compared
    from knowbound.stats.comparison import find_evaluation

    heads = history.evaluations(settings)
    return compared(*(history.evaluation(settings, find_evaluation(heads, name).id) for name in (before, after)))
