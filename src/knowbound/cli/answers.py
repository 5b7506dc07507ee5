"""Answers of agents: `knowbound audit` checks their claims, `knowbound investigate` answers from evidence."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knowbound.cli import options
from knowbound.cli.asking import asker_of, asking, hint_at_model
from knowbound.cli.output import Out, echo, reading
from knowbound.cli.verb import argument, option, verb
from knowbound.errors import UNDECIDED, InputError
from knowbound.files import numbered_lines
from knowbound.report import PAGE_FORMATS

if TYPE_CHECKING:
    from knowbound.config import Settings
    from knowbound.core.audit import AuditedTurn
    from knowbound.report.answers import AuditReport


@verb("audit", around=asking)
def audit_command(
    paths: tuple[Path, ...] = argument(),
    root: Path | None = options.root,
    sessions: options.Sessions = options.sessions("turns"),
    cluster: str | None = options.cluster,
    session: str | None = option("Show a turn of this session (its id, or the beginning of its id); needs --turn."),
    turn: int | None = option("Show the turn of this number; needs --session.", within=(1, None)),
    most: int = option(
        "Let the model read so many answers, the most suspicious first.", "--judge", within=(0, None), default=30
    ),
    out: Out = options.output,
) -> None:
    """Check what agents claimed against what their traces show.

    Every turn gets one diagnosis: incomplete, chat, misled, unsupported, blind, ignored, unknown or grounded. Rules
    decide about tests, builds, lint, edits and git. A model that you allowed reads the most suspicious answers whole
    and quotes what shows each claim, or what contradicts it; without one those turns are unknown. PATHS are trace files
    and folders, as for observe. Without a path, knowbound looks where the agents keep their transcripts, and inside a
    project it reports that project only. --session and --turn show one turn: what was injected, searched, found and
    claimed, side by side.
    """
    from knowbound.audit.audit import Judging, audit
    from knowbound.lessons.learn import material_lens

    if (session is None) != (turn is None):
        raise click.UsageError("--session and --turn go together.")
    settings = options.settings_of(root, cluster_address=cluster)
    if session is not None and turn is not None:
        out.emit(_turn_page(options.absolute(paths), session, turn, settings.home, out))
        return
    filters = sessions.filters(settings, paths)
    with reading("What was audited so far is kept.") as progress:
        asker = asker_of(settings, "claims") if most else None
        report, turns = audit(
            options.absolute(paths),
            settings,
            filters,
            judging=Judging(asker, most) if asker is not None else None,
            progress=progress,
            also=[material_lens(settings.home)],
        )
    if not paths and filters.project:
        echo(f"Only sessions of {filters.project} (--all: of every project).", err=True)
    out.emit(_rendered(report, turns, out))
    hint_at_model(settings, "claims", out.format)


def _rendered(report: AuditReport, turns: Iterator[AuditedTurn], out: Out) -> Iterator[str]:
    """Render the report; jsonl is a stream of all turns."""
    from knowbound.report.answers import render_audit

    if out.format == "jsonl":
        from knowbound.report.answers import turn_line

        for turn in turns:
            yield turn_line(turn) + "\n"
        return
    yield render_audit(report, out.format, **out.layout)


def _turn_page(paths: list[Path], session: str, turn: int, home: Path, out: Out) -> Iterator[str]:
    from knowbound.audit.reading import turn_page
    from knowbound.report.answers import render_turn, turn_line

    page = turn_page(paths, session, turn, home)
    if out.format == "jsonl":
        yield turn_line(page.turn) + "\n"
    elif out.format in PAGE_FORMATS:
        yield render_turn(page, out.format, **out.layout)
    else:
        raise click.UsageError(f"One turn has no format {out.format}: text, json, jsonl, markdown or html.")


_SECONDS, _SECONDS_TO_RUN = 60.0, 600.0  # for one question: builds take longer than searches


@verb("investigate", context_settings={"ignore_unknown_options": True}, around=asking)
def investigate_command(
    question: tuple[str, ...] = argument(type=click.UNPROCESSED),
    root: Path | None = options.root,
    input_: Path | None = option('Answer the questions of FILE: {"id", "question"} per line.'),
    allow_run: bool = option("Allow builds and tests, in a copy and with a time limit."),
    trail: bool = option("Show each step in order, with the evidence it found."),
    seconds: float | None = option("Stop after this time (60; 600 with --allow-run).", within=(0.1, 10**7)),
    out: Out = options.page,
) -> int:
    """Answer a QUESTION about a project or a knowledge base from evidence.

    The answer names files and lines, and the quality of the evidence. Without enough evidence it names what is
    missing, shows the place that is probably meant, and the exit code is 3. A configured model says what to search and
    reads what is found; its quotations are verified. Without one, questions of how and why end with the place.
    """
    from knowbound.evidence.investigate import investigate_and_keep
    from knowbound.report.answers import render_investigation

    settings = options.settings_of(root)
    seconds = seconds or (_SECONDS_TO_RUN if allow_run else _SECONDS)
    if input_ is not None:
        out.emit(_answers_to_file(input_, settings, allow_run, trail, seconds))
        return 0
    question_text = " ".join(question).strip()
    if not question_text:
        raise click.UsageError(
            'Give a question: knowbound investigate "where is X defined"', click.get_current_context()
        )
    investigation = investigate_and_keep(question_text, settings, allow_run=allow_run, seconds=seconds)
    out.show(render_investigation, investigation, trail=trail)
    if investigation.probable is not None:
        hint_at_model(settings, "investigate", out.format)
    return 0 if investigation.outcome == "success" else UNDECIDED


def _answers_to_file(path: Path, settings: Settings, allow_run: bool, trail: bool, seconds: float) -> Iterator[str]:
    """Answer each question of a file with a JSON line that has its id."""
    import msgspec

    from knowbound.evidence.investigate import investigate_and_keep
    from knowbound.report.answers import render_investigation

    class QuestionLine(msgspec.Struct):
        question: str
        id: str | int = ""

    for number, line in numbered_lines(path):
        try:
            row = msgspec.json.decode(line, type=QuestionLine)
        except msgspec.DecodeError as error:
            raise InputError("bad-questions", f"{path}, line {number}: {error}.") from error
        investigation = investigate_and_keep(row.question, settings, allow_run=allow_run, seconds=seconds, keep=False)
        yield render_investigation(investigation, "jsonl", trail=trail, id_=str(row.id) or str(number))
