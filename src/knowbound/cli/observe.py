"""Traces, read for a report: `knowbound observe` finds missed lookups, `audit` checks claims, `export` writes tables.

`report` shows the newest run, and `investigate` answers from evidence as an agent should.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knowbound.cli import options
from knowbound.cli.asking import asker_of, asking, hint_at_model
from knowbound.cli.options import argument, option, verb
from knowbound.cli.output import Out, echo, reading
from knowbound.errors import UNDECIDED, InputError
from knowbound.language import say
from knowbound.report import FOR_PEOPLE, GAP_FORMATS, PAGE_FORMATS

if TYPE_CHECKING:
    from knowbound.config import Settings
    from knowbound.core.audit import AuditedTurn
    from knowbound.core.signal import Signal
    from knowbound.report.answers import AuditReport
    from knowbound.report.model import ObserveReport
    from knowbound.report.observe import Detail


@verb("observe", around=asking)
def observe_command(
    paths: tuple[Path, ...] = argument(),
    root: Path | None = options.root,
    sessions: options.Sessions = options.sessions("samples"),
    cluster: str | None = options.cluster,
    all_rates: bool = option("Show every rate with its interval and how to read it."),
    as_specified: bool = options.as_specified,
    verbose: bool = option("Show everything: more topics, sources, skills, files, every signal."),
    out: Out = options.output,
) -> None:
    """Report what agents looked for and did not find.

    PATHS are trace files and folders, read recursively, .gz and .zst too; the content says which format they have.
    Without a path, knowbound looks where the agents keep their transcripts, and inside a project it reports the
    sessions of that project, its subfolders and worktrees only (--all: of every project). Observing again reads only
    what changed. Shows one screen: the topics to act on, and one line of figures with its watermark; --verbose,
    --all-rates and --format html have the rest.
    """
    from knowbound.audit.stored import shares_line, stored_shares
    from knowbound.gaps.observe import observe as observe_traces
    from knowbound.report.observe import Detail

    settings = options.settings_of(root, as_specified=as_specified or None, cluster_address=cluster)
    filters = sessions.filters(settings, paths)
    with reading() as progress:
        report, signals = observe_traces(
            options.absolute(paths), settings, filters, root_is_given=root is not None, progress=progress
        )
    report = with_lessons(report, settings)
    if not paths:
        only = say(" for sessions of {} (--all: of every project)", filters.project) if filters.project else ""
        echo(say("Looked in {}{}.", report.watermark.path, only), err=True)
    answers = shares_line(stored_shares(settings.home, filters.admits)) if out.format in FOR_PEOPLE else ""
    detail = Detail.FULL if verbose else Detail.RATES if all_rates else Detail.SHORT
    out.emit(rendered(report, signals, out, answers, detail))
    hint_at_model(settings, "hedges", out.format)


def with_lessons(report: ObserveReport, settings: Settings) -> ObserveReport:
    """Add to each topic the line that `learn` proposes for it."""
    from msgspec.structs import replace

    from knowbound.store.decisions import with_proposed

    return replace(report, topics=with_proposed(report.topics, settings.home))


def rendered(
    report: ObserveReport, signals: Iterator[Signal], out: Out, answers: str = "", detail: Detail | None = None
) -> Iterator[str]:
    """Render the report; jsonl is a stream of all signals."""
    from knowbound.report.observe import Detail, render_observe

    if out.format == "jsonl":
        from knowbound.report.formats.json import signal_line

        for signal in signals:
            yield signal_line(signal, report.watermark) + "\n"
        return
    yield render_observe(report, out.format, **out.layout, answers=answers, detail=detail or Detail.FULL)


@verb("report")
def report_command(
    root: Path | None = options.root,
    topic: str | None = option(
        "Show one topic of the newest observed run, with file and line of every signal.", metavar="ID"
    ),
    page: str | None = option("Write this page of the studio as one HTML file, such as /sessions.", metavar="ADDRESS"),
    out: Out = options.output,
) -> None:
    """Render the newest stored run in any format, without reading traces again."""
    if page is not None:
        from knowbound.cli.start import studio_extra

        if out.format != "html" or topic is not None:
            raise click.UsageError("--page is for --format html, and not for --topic.")
        with studio_extra():
            from knowbound.web.rendering import static_page
        out.emit([static_page(options.settings_of(root), page)])
        return
    if topic is not None:
        if out.format in GAP_FORMATS:
            raise click.UsageError(f"--topic is not for --format {out.format}.")
        out.emit([_render_topic(options.settings_of(root), topic, out)])
        return
    out.emit(options.from_stored(options.settings_of(root), root, lambda settings: _render_newest(settings, out)))


def _render_newest(settings: Settings, out: Out) -> Iterable[str]:
    """Render the newest stored run of eval, investigate or observe."""
    from knowbound.evals.history import newest_evaluation
    from knowbound.evidence.investigate import newest_investigation
    from knowbound.gaps.stored import newest_report

    evaluation = newest_evaluation(settings)
    if evaluation is not None:
        from knowbound.cli.evals.eval import rendered as rendered_evaluation

        return [rendered_evaluation(settings, evaluation, (), out)]
    investigation = newest_investigation(settings)
    if investigation is not None:
        from knowbound.report.answers import render_investigation

        return [render_investigation(investigation, out.format, **out.layout)]
    report, signals = newest_report(settings)
    return rendered(with_lessons(report, settings), signals, out)


def _render_topic(settings: Settings, name: str, out: Out) -> str:
    """Render one topic; jsonl has a line for each of its signals."""
    from knowbound.gaps.stored import newest_topic
    from knowbound.report.formats.json import signal_line
    from knowbound.report.topics import render_topic

    topic = newest_topic(settings, name)
    if out.format == "jsonl":
        return "".join(signal_line(placed.signal, topic.watermark) + "\n" for placed in topic.signals)
    return render_topic(topic, out.format, **out.layout)


@verb("export")
def export_command(
    folder: Path = argument(),
    paths: tuple[Path, ...] = argument(),
    format_: str = option(
        "Write tables as Parquet or JSON lines, or verdicts as telemetry.",
        choices=["parquet", "jsonl", "telemetry"],
        default="parquet",
    ),
    otlp: str | None = option("Send the verdicts to this OTLP/HTTP address, too (…/v1/logs).", metavar="ADDRESS"),
    root: Path | None = options.root,
    sessions: options.Sessions = options.sessions(),
) -> None:
    """Write sessions, turns, signals, claims, items and verdicts into FOLDER, for other programs.

    Tables are Parquet (extra `tables`) or JSON lines, one file each. Telemetry is otlp-logs.json, events
    gen_ai.evaluation.result, and annotations.jsonl as OpenInference has them. Reads the traces of PATHS, or where
    agents keep theirs, as observe and audit do. Secrets are left out of all texts. Nothing is sent except to --otlp.
    """
    from contextlib import closing

    from knowbound.audit.audit import audit_lens
    from knowbound.gaps.observe import observe
    from knowbound.report.export import write_tables
    from knowbound.report.model import ObserveReport
    from knowbound.review.exporting import evaluations, table_rows
    from knowbound.store.observed import Audited, Observed

    settings = options.settings_of(root)
    filters = sessions.filters(settings, paths)
    with reading() as progress:
        _, signals = observe(
            options.absolute(paths), settings, filters, root_is_given=root is not None, progress=progress,
            also=[audit_lens(settings)],
        )  # fmt: skip
    with closing(Observed(settings.home)) as store:
        newest = store.run("observe", ObserveReport)
        _, keys = newest or (None, [])
        findings = [finding for finding in store.findings(keys) if filters.admits(finding)]
    audited = [session for session in Audited(settings.home).sessions(keys) if filters.admits(session)]
    if format_ == "telemetry" or otlp:
        _write_telemetry(folder, list(evaluations(audited, settings)), otlp)
    if format_ != "telemetry":
        row_counts = write_tables(table_rows(findings, list(signals), audited, settings), folder, format_)
        for name, rows in row_counts.items():
            echo(f"{folder / name}.{format_}: {rows:,} rows")


def _write_telemetry(folder: Path, verdicts: list[Any], address: str | None) -> None:
    """Write the verdicts into the folder, and send them to the address."""
    import msgspec

    from knowbound.files import replacing
    from knowbound.report.export import annotation_lines, otlp_logs

    folder.mkdir(parents=True, exist_ok=True)
    body = msgspec.json.encode(otlp_logs(verdicts))
    with replacing(folder / "otlp-logs.json") as file:
        file.write(body)
    with replacing(folder / "annotations.jsonl") as file:
        file.writelines(line.encode() for line in annotation_lines(verdicts))
    echo(f"{folder / 'otlp-logs.json'}: {len(verdicts):,} verdicts")
    if address:
        _send(address, body)
        echo(f"{address}: sent {len(verdicts):,} verdicts")


def _send(address: str, body: bytes) -> None:
    from urllib.error import URLError
    from urllib.request import Request, urlopen

    if not address.startswith(("http://", "https://")):
        raise InputError("no-such-path", f"--otlp {address} is no http address. Try: http://HOST:4318/v1/logs")
    request = Request(address, body, {"Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=30):
            pass
    except (URLError, OSError) as error:
        raise InputError("no-such-path", f"Cannot send to {address}: {error}. Nothing was changed.") from error


# What agents say


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
            also=[material_lens(settings.home)],  # for learn and review, which then read nothing again
        )
    if not paths and filters.project:
        echo(f"Only sessions of {filters.project} (--all: of every project).", err=True)
    out.emit(_rendered_audit(report, turns, out))
    hint_at_model(settings, "claims", out.format)


def _rendered_audit(report: AuditReport, turns: Iterator[AuditedTurn], out: Out) -> Iterator[str]:
    """Render the report; jsonl is a stream of all turns."""
    from knowbound.report.answers import render_audit

    if out.format == "jsonl":
        from knowbound.report.answers import turn_line

        for turn in turns:
            yield turn_line(turn) + "\n"
        return
    yield render_audit(report, out.format, **out.layout)


def _turn_page(paths: list[Path], session: str, turn: int, home: Path, out: Out) -> Iterator[str]:
    """Render one turn with its claims, in the formats that a turn has."""
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
    from knowbound.files import numbered_lines
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
