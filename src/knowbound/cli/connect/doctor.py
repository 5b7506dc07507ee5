"""`knowbound doctor`: check that everything is installed and working."""

from __future__ import annotations

import os
from pathlib import Path

import click

from knowbound.cli.options import format_option, project_option
from knowbound.cli.output import echo, emit
from knowbound.errors import WRONG_INPUT
from knowbound.language import say

_SIGNS = {"ok": "ok     ", "note": "note   ", "problem": "PROBLEM"}


@click.command("doctor")
@project_option
@format_option(("text", "json"))
def command(root: Path | None, format_: str) -> int:
    """Check the store, the index, the extras, and the hooks and the MCP server as an agent runs them.

    Prints first what to do next, with the repair of each problem; the exit code is 2 when there is a problem. Hooks
    and servers that your settings name are started once, within 20 seconds in all, and record nothing.
    """
    from knowbound.agent.doctor.examine import as_json, examine, next_steps, settings_for
    from knowbound.report.formats.json import json_text
    from knowbound.store.data_dir import project_root

    folder = root.resolve() if root else Path(project_root(os.getcwd())).resolve()
    settings, problem = settings_for(folder, os.environ)
    checks = examine(settings, os.environ, problem)
    has_problem = any(check.state == "problem" for check in checks)
    if format_ == "json":
        emit([json_text(as_json(checks, settings))], None)
    else:
        steps = next_steps(checks)
        echo("To do:" if has_problem else "All is well. You could:" if steps else "All is well.")
        for check in steps:
            echo(f"  {check.do}\n      {check.name}: {check.found}")
        echo("")
        missing = [check for check in checks if check.state == "note" and check.name.split()[0] == "extra"]
        rows = [(_SIGNS[check.state], check.name, check.found) for check in checks if check not in missing]
        if missing:
            names = ", ".join(check.name.split()[1] for check in missing)
            rows.append((_SIGNS["note"], "extras", say("not installed, and not needed by the settings: {}", names)))
        width = max(len(name) for _, name, _ in rows)
        for sign, name, found in rows:
            echo(f"{sign}  {name:{width}}  {found}")
    return WRONG_INPUT if has_problem else 0
