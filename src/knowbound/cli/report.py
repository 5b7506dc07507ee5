"""`knowbound report`: render the newest stored run, or one of its topics, in any format."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from knowbound.cli.observe import rendered, with_lessons
from knowbound.cli.options import from_stored, output_options, root_option, settings_of
from knowbound.cli.output import emit, layout
from knowbound.cli.serve import studio_extra
from knowbound.report import GAP_FORMATS

if TYPE_CHECKING:
    from knowbound.config import Settings


@click.command("report")
@root_option
@click.option(
    "--topic", metavar="ID", help="Show one topic of the newest observed run, with file and line of every signal."
)
@click.option("--page", metavar="ADDRESS", help="Write this page of the studio as one HTML file, such as /sessions.")
@output_options
def command(root: Path | None, topic: str | None, page: str | None, format_: str, output: Path | None) -> None:
    """Render the newest stored run in any format, without reading traces again."""
    if page is not None:
        if format_ != "html" or topic is not None:
            raise click.UsageError("--page is for --format html, and not for --topic.")
        with studio_extra():
            from knowbound.web.rendering import static_page
        emit([static_page(settings_of(root), page)], output)
        return
    if topic is not None:
        if format_ in GAP_FORMATS:
            raise click.UsageError(f"--topic is not for --format {format_}.")
        emit([_topic(settings_of(root), topic, format_, output)], output)
        return
    emit(from_stored(settings_of(root), root, lambda settings: _newest(settings, format_, output)), output)


def _newest(settings: Settings, format_: str, output: Path | None) -> Iterable[str]:
    from knowbound.evals.history import newest_evaluation
    from knowbound.evidence.investigate import newest_investigation
    from knowbound.gaps.stored import newest_report

    evaluation = newest_evaluation(settings)
    if evaluation is not None:
        from knowbound.cli.evals.eval import rendered as rendered_evaluation

        return [rendered_evaluation(settings, evaluation, (), format_, output)]
    investigation = newest_investigation(settings)
    if investigation is not None:
        from knowbound.report.investigation import render_investigation

        return [render_investigation(investigation, cast("Any", format_), **layout(output))]
    report, signals = newest_report(settings)
    return rendered(with_lessons(report, settings), signals, format_, output)


def _topic(settings: Settings, name: str, format_: str, output: Path | None) -> str:
    """Render one topic; jsonl has a line for each of its signals."""
    from knowbound.gaps.stored import newest_topic
    from knowbound.report.formats.json import signal_line
    from knowbound.report.gaps.topics import render_topic

    found = newest_topic(settings, name)
    if format_ == "jsonl":
        return "".join(signal_line(one.signal, found.watermark) + "\n" for one in found.signals)
    return render_topic(found, cast("Any", format_), **layout(output))
