"""`knowbound share`: what this machine may show a team, in one file."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from knowbound.cli.long_runs import ReadingProgress, end_agents_on_interrupt
from knowbound.cli.options import FilePath, absolute, root_option, session_filters, session_options, settings_of
from knowbound.cli.output import confirm, echo, emit


@click.command("share")
@click.argument("paths", nargs=-1, type=FilePath)
@root_option
@session_options()
@click.option(
    "-o", "--output", metavar="PLACE", help="Write to this file, mongodb:// or s3:// address (default: show only)."
)
@click.option("--yes", is_flag=True, help="Write without asking.")
def command(paths: tuple[Path, ...], root: Path | None, output: str | None, yes: bool, **chosen: Any) -> None:
    """Share what agents of this machine miss, without a transcript.

    The file has the names that agents searched for and did not find, the lines of knowledge files that the tree
    contradicts, rules and injected items, each with counts. It has no prompt, no answer, no path outside of the
    project, no session id and no person; secrets are left out. It is shown whole, and nothing is written before you
    agree. knowbound review --team adds up the files of three people or more.
    """
    from knowbound.review.sharing import share
    from knowbound.review.team import share_text, write_share

    settings = settings_of(root)
    filters = session_filters(settings, bool(paths), **chosen)
    with ReadingProgress() as progress, end_agents_on_interrupt("What was read so far is kept."):
        shared = share(absolute(paths), settings, filters, root_is_given=root is not None, progress=progress)
    emit([share_text(shared)], None)
    if output is None:
        return
    sys.stdout.flush()
    confirm(f"Write this to {_shown(output)}?", "Nothing was written.", yes=yes, err=True)
    write_share(shared, output)
    echo(f"Written to {_shown(output)}. Of a team: knowbound review --team PLACE …", err=True)


def _shown(place: str) -> str:
    from knowbound.text.redact import redact

    return redact(place)
