"""`knowbound doctor`: check that everything is installed and working."""

from __future__ import annotations

import os
from pathlib import Path

import click

from knowbound.cli.echo import echo
from knowbound.cli.options import emit, format_option, root_option
from knowbound.errors import WRONG_INPUT

_SIGNS = {"ok": "ok     ", "note": "note   ", "problem": "PROBLEM"}


@click.command("doctor")
@root_option
@format_option(("text", "json"))
def command(root: Path | None, format_: str) -> int:
    """Check the store, the index, the hooks and the extras.

    For each problem it names the command that repairs it; the exit code is 2 where there is one. The durations of
    hooks are measured by the hooks themselves, from the start of the process.
    """
    from knowbound.agent.doctor.examine import as_json, examine
    from knowbound.config import load
    from knowbound.report.formats.json import json_text

    settings = load((root or Path()).resolve(), ignore_untrusted=True)
    checks = examine(settings, os.environ)
    if format_ == "json":
        emit([json_text(as_json(checks, settings))], None)
    else:
        width = max(len(check.name) for check in checks)
        for check in checks:
            todo = f"  → {check.do}" if check.do else ""
            echo(f"{_SIGNS[check.state]}  {check.name:{width}}  {check.found}{todo}")
    return WRONG_INPUT if any(check.state == "problem" for check in checks) else 0
