"""`knowbound export`: write what was read and decided for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from knowbound.cli.long_runs import ReadingProgress, end_agents_on_interrupt
from knowbound.cli.options import FilePath, absolute, root_option, session_filters, session_options, settings_of
from knowbound.cli.output import echo


@click.command("export")
@click.argument("folder", type=FilePath)
@click.argument("paths", nargs=-1, type=FilePath)
@click.option(
    "--format",
    "format_",
    type=click.Choice(["parquet", "jsonl", "telemetry"]),
    default="parquet",
    show_default=True,
    help="Write tables as Parquet or JSON lines, or verdicts as telemetry.",
)
@click.option("--otlp", metavar="ADDRESS", help="Send the verdicts to this OTLP/HTTP address, too (…/v1/logs).")
@root_option
@session_options()
def command(
    folder: Path, paths: tuple[Path, ...], format_: str, otlp: str | None, root: Path | None, **chosen: Any
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

    settings = settings_of(root)
    filters = session_filters(settings, bool(paths), **chosen)
    with ReadingProgress() as progress, end_agents_on_interrupt("What was read so far is kept."):
        _, signals = observe(
            absolute(paths), settings, filters, root_is_given=root is not None, progress=progress,
            also=[audit_lens(settings)],
        )  # fmt: skip
    with closing(Observed(settings.home)) as store:
        run = store.run("observe", ObserveReport)
        keys = run[1] if run is not None else []
        found = [one for one in store.findings(keys) if filters.admits(one)]
    audited = [one for one in Audited(settings.home).sessions(keys) if filters.admits(one)]
    if format_ == "telemetry" or otlp:
        _write_telemetry(folder, list(evaluations(audited, settings)), otlp)
    if format_ != "telemetry":
        written = write_tables(table_rows(found, list(signals), audited, settings), folder, format_)
        for name, rows in written.items():
            echo(f"{folder / name}.{format_}: {rows:,} rows")


def _write_telemetry(folder: Path, made: list[Any], address: str | None) -> None:
    """Write the verdicts into the folder, and send them to the address."""
    import msgspec

    from knowbound.files import replacing
    from knowbound.report.export import annotation_lines, otlp_logs

    folder.mkdir(parents=True, exist_ok=True)
    body = msgspec.json.encode(otlp_logs(made))
    with replacing(folder / "otlp-logs.json") as file:
        file.write(body)
    with replacing(folder / "annotations.jsonl") as file:
        file.writelines(line.encode() for line in annotation_lines(made))
    echo(f"{folder / 'otlp-logs.json'}: {len(made):,} verdicts")
    if address:
        _send(address, body)
        echo(f"{address}: sent {len(made):,} verdicts")


def _send(address: str, body: bytes) -> None:
    from urllib.error import URLError
    from urllib.request import Request, urlopen

    from knowbound.errors import InputError

    if not address.startswith(("http://", "https://")):
        raise InputError("no-such-path", f"--otlp {address} is no http address. Try: http://HOST:4318/v1/logs")
    request = Request(address, body, {"Content-Type": "application/json"})
    try:
        with urlopen(request, timeout=30):
            pass
    except (URLError, OSError) as error:
        raise InputError("no-such-path", f"Cannot send to {address}: {error}. Nothing was changed.") from error
