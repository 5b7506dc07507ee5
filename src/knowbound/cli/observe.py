"""Missed lookups: `knowbound observe` finds them, `report` shows the newest run, `export` writes tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knowbound.cli import options
from knowbound.cli.asking import asking, hint_at_model
from knowbound.cli.output import Out, echo, reading
from knowbound.cli.verb import argument, option, verb
from knowbound.errors import InputError
from knowbound.language import say
from knowbound.report import FOR_PEOPLE, GAP_FORMATS

if TYPE_CHECKING:
    from knowbound.config import Settings
    from knowbound.core.signal import Signal
    from knowbound.report.gaps.observe import Detail
    from knowbound.report.model import ObserveReport


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
    from knowbound.report.gaps.observe import Detail

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
    report: ObserveReport,
    signals: Iterator[Signal],
    out: Out,
    answers: str = "",
    detail: Detail | None = None,
) -> Iterator[str]:
    """Render the report; jsonl is a stream of all signals."""
    from knowbound.report.gaps.observe import Detail, render_observe

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
    from knowbound.report.gaps.topics import render_topic

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
