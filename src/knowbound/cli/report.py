"""`knowbound report`: the newest stored run, in any format."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import click

from knowbound.cli.observe import rendered
from knowbound.cli.options import emit, output_options, root_option, settings_of, wants_colour, width


@click.command("report")
@root_option
@output_options
def command(root: Path | None, format_: str, output: Path | None) -> None:
    """Render the newest stored run in any format. Nothing is read again."""
    from knowbound.evals.history import newest_evaluation
    from knowbound.evidence.investigate import newest_investigation
    from knowbound.gaps.observe import newest_report

    settings = settings_of(root)
    evaluation = newest_evaluation(settings)
    if evaluation is not None:
        from knowbound.cli.eval import rendered as rendered_evaluation

        emit([rendered_evaluation(settings, evaluation, (), None, format_, output)], output)
        return
    investigation = newest_investigation(settings)
    if investigation is not None:
        from knowbound.report.investigation import render_investigation

        colour = wants_colour() and output is None
        emit([render_investigation(investigation, cast("Any", format_), width=width(), colour=colour)], output)
        return
    report, signals = newest_report(settings)
    emit(rendered(report, signals, format_, to_file=output is not None), output)
