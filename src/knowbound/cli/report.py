"""`knowbound report`: the newest stored run, in any format."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import click

from knowbound.cli.observe import rendered
from knowbound.cli.options import emit, look, output_options, root_option, settings_of


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

        emit([render_investigation(investigation, cast("Any", format_), **look(output))], output)
        return
    report, signals = newest_report(settings)
    emit(rendered(report, signals, format_, output), output)
