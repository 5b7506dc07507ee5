"""`knowbound report`: the newest stored run, in any format."""

from __future__ import annotations

from pathlib import Path

import click

from knowbound.cli.observe import rendered
from knowbound.cli.options import emit, output_options, root_option


@click.command("report")
@root_option
@output_options
def command(root: Path | None, format_: str, output: Path | None) -> None:
    """Render the newest stored run in any format. Nothing is read again."""
    from knowbound import pipeline
    from knowbound.config import load

    settings = load((root or Path()).resolve())
    report, signals = pipeline.newest_report(settings)
    emit(rendered(report, signals, format_, to_file=output is not None), output)
