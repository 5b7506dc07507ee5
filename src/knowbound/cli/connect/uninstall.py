"""`knowbound uninstall`: restore an agent's settings as they were before `install`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from knowbound.cli.connect.install import agent_options, confirm_changes, project_of
from knowbound.cli.echo import echo


@click.command("uninstall")
@agent_options("all that is yours, here and in other projects")
def command(agent: str, scope: str | None, root: Path | None, yes: bool) -> None:
    """Remove knowbound from an AGENT's settings.

    A settings file that was not edited since `install` gets back exactly the bytes it had before. In an edited one,
    only knowbound's entries are removed. The changes are shown first.
    """
    from knowbound.agent.clients import settings_files
    from knowbound.agent.install import apply, installed_files, local_files, plan_uninstall

    project = project_of(root)
    files = list(settings_files(agent, scope or "user", project, os.environ))
    if agent == "claude-code" and scope in (None, "local"):
        files += local_files(os.environ, project)
        files += local_files(os.environ) if scope is None else ()
    changes = plan_uninstall(list(dict.fromkeys(files)))
    if not changes:
        echo(f"Nothing to do: knowbound is not installed in {agent} ({scope or 'user'}).")
        if scope is None and installed_files(agent, "project", project, os.environ):
            echo(f"It is in the shared settings of the project. Try: knowbound uninstall {agent} --scope project")
        return
    confirm_changes(changes, yes, f"Uninstall from {agent}{f' ({scope})' if scope else ''}?")
    apply(changes)
    echo(f"Uninstalled from {agent}{f' ({scope})' if scope else ''}.")
