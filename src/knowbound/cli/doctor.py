"""`knowbound doctor`: is everything there that should be, and does it arrive."""

from __future__ import annotations

import os
from pathlib import Path

import click

from knowbound.cli.options import root_option
from knowbound.errors import WRONG_INPUT

_SIGNS = {"ok": "ok     ", "note": "note   ", "problem": "PROBLEM"}


@click.command("doctor")
@root_option
@click.option("--format", "format_", type=click.Choice(("text", "json")), default="text", show_default=True)
def command(root: Path | None, format_: str) -> int:
    """Check the store, the index, the hooks and the extras.

    Says what is wrong and the command that mends it; the exit code is 2 where something is. The durations of the
    hooks are their own, from the start of the process.
    """
    import msgspec

    from knowbound.agent.doctor import as_json, examine
    from knowbound.config import load

    settings = load((root or Path()).resolve())
    checks = examine(settings, os.environ)
    if format_ == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(as_json(checks, settings)), indent=2))
    else:
        width = max(len(check.name) for check in checks)
        for check in checks:
            todo = f"  → {check.do}" if check.do else ""
            click.echo(f"{_SIGNS[check.state]}  {check.name:{width}}  {check.found}{todo}")
    return WRONG_INPUT if any(check.state == "problem" for check in checks) else 0
