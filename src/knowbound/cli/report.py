"""`knowbound report`: the newest stored run, in any format."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from knowbound.cli.observe import rendered
from knowbound.cli.options import emit, from_stored, look, output_options, root_option, settings_of

if TYPE_CHECKING:
    from knowbound.config import Settings


@click.command("report")
@root_option
@output_options
def command(root: Path | None, format_: str, output: Path | None) -> None:
    """Render the newest stored run in any format. Nothing is read again."""
    emit(from_stored(settings_of(root), root, lambda settings: _newest(settings, format_, output)), output)


def _newest(settings: Settings, format_: str, output: Path | None) -> Iterable[str]:
    from knowbound.evals.history import newest_evaluation
    from knowbound.evidence.investigate import newest_investigation
    from knowbound.gaps.observe import newest_report

    evaluation = newest_evaluation(settings)
    if evaluation is not None:
        from knowbound.cli.eval import rendered as rendered_evaluation

        return [rendered_evaluation(settings, evaluation, (), None, format_, output)]
    investigation = newest_investigation(settings)
    if investigation is not None:
        from knowbound.report.investigation import render_investigation

        return [render_investigation(investigation, cast("Any", format_), **look(output))]
    report, signals = newest_report(settings)
    return rendered(report, signals, format_, output)
