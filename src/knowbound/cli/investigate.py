"""`knowbound investigate`: answer a question from evidence, or name the evidence that is missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from knowbound.cli.asking import asking_options, hint_at_model
from knowbound.cli.options import page_options, root_option, settings_of
from knowbound.cli.output import emit, layout
from knowbound.errors import UNDECIDED, InputError
from knowbound.files import numbered_lines

if TYPE_CHECKING:
    from knowbound.config import Settings

_SECONDS, _SECONDS_TO_RUN = 60.0, 600.0  # for one question: builds take longer than searches


@click.command("investigate", context_settings={"ignore_unknown_options": True})
@click.argument("question", nargs=-1, type=click.UNPROCESSED)
@root_option
@click.option(
    "--input",
    "input_",
    type=click.Path(path_type=Path),
    help='Answer the questions of FILE: {"id", "question"} per line.',
)
@click.option("--allow-run", is_flag=True, help="Allow builds and tests, in a copy and with a time limit.")
@click.option("--trail", is_flag=True, help="Show each step in order, with the evidence it found.")
@click.option("--seconds", type=click.FloatRange(0.1, 10**7), help="Stop after this time (60; 600 with --allow-run).")
@asking_options()
@page_options
@click.pass_context
def command(
    ctx: click.Context,
    question: tuple[str, ...],
    root: Path | None,
    input_: Path | None,
    allow_run: bool,
    trail: bool,
    seconds: float | None,
    format_: str,
    output: Path | None,
) -> int:
    """Answer a QUESTION about a project or a knowledge base from evidence.

    The answer names files and lines, and the quality of the evidence. Without enough evidence it names what is
    missing, shows the place that is probably meant, and the exit code is 3. A configured model says what to search and
    reads what is found; its quotations are verified. Without one, questions of how and why end with the place.
    """
    from knowbound.evidence.investigate import investigate_and_keep
    from knowbound.report.investigation import render_investigation

    settings = settings_of(root)
    seconds = seconds or (_SECONDS_TO_RUN if allow_run else _SECONDS)
    if input_ is not None:
        emit(_many(input_, settings, allow_run, trail, seconds), output)
        return 0
    asked = " ".join(question).strip()
    if not asked:
        raise click.UsageError('Give a question: knowbound investigate "where is X defined"', ctx)
    found = investigate_and_keep(asked, settings, allow_run=allow_run, seconds=seconds)
    emit([render_investigation(found, cast("Any", format_), **layout(output), trail=trail)], output)
    if found.probable is not None:
        hint_at_model(settings, "investigate", format_)
    return 0 if found.outcome == "success" else UNDECIDED


def _many(path: Path, settings: Settings, allow_run: bool, trail: bool, seconds: float) -> Iterator[str]:
    """Answer each question of a file with a JSON line that has its id."""
    import msgspec

    from knowbound.evidence.investigate import investigate_and_keep
    from knowbound.report.investigation import render_investigation

    class QuestionLine(msgspec.Struct):
        question: str
        id: str | int = ""

    for number, line in numbered_lines(path):
        try:
            row = msgspec.json.decode(line, type=QuestionLine)
        except msgspec.DecodeError as error:
            raise InputError("bad-questions", f"{path}, line {number}: {error}.") from error
        found = investigate_and_keep(row.question, settings, allow_run=allow_run, seconds=seconds, keep=False)
        yield render_investigation(found, "jsonl", trail=trail, id_=str(row.id) or str(number))
