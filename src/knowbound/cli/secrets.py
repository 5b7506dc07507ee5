"""`knowbound secrets`: list secrets that lie in transcripts."""

from __future__ import annotations

from pathlib import Path

import click

from knowbound.cli.options import FilePath, absolute, report_options
from knowbound.cli.output import emit


@click.command("secrets")
@click.argument("paths", nargs=-1, type=FilePath)
@click.option("--since", help="Take only files that changed since then: 7d, 12h, 2w or a date.")
@report_options(("text", "json", "jsonl"))
@click.pass_context
def command(ctx: click.Context, paths: tuple[Path, ...], since: str | None, format_: str, output: Path | None) -> None:
    """List secrets that lie in transcripts: kind, file, line and age, never the value.

    Looks in the files and folders of PATHS, or where agents keep their transcripts. The rules are those by which
    knowbound redacts what it stores or sends. Each secret is listed once, with what to rotate. Nothing is stored and
    nothing is sent. Exit code 1 if a secret was found, 0 if none was.
    """
    from knowbound.cli.long_runs import ReadingProgress
    from knowbound.errors import InputError
    from knowbound.gaps.stored import since as since_time
    from knowbound.report.secrets import render_secrets
    from knowbound.text.clock import iso_time
    from knowbound.traces.corpus import scan
    from knowbound.traces.secrets import scan_for_secrets
    from knowbound.traces.sessions import places_of_agents

    known, existing = places_of_agents()
    files, notes = scan(absolute(paths) if paths else existing)
    if since:
        after = since_time(since)
        files = [file for file in files if iso_time(file.mtime_ns, 1_000_000_000) >= after]
    if not files:
        places = ", ".join(str(path) for path in paths or known)
        raise InputError("no-sessions", f"No transcripts found in {places}. Try: knowbound secrets PATH")
    with ReadingProgress() as progress:
        found = scan_for_secrets(files, progress)
    found.unreadable += notes
    emit(render_secrets(found, format_), output)
    if found.secrets:
        ctx.exit(1)
