"""`knowbound uninstall`: restore an agent's settings as they were before `install`."""

from __future__ import annotations

import os
from pathlib import Path

import click

from knowbound.cli.echo import echo
from knowbound.cli.install import agent_options, confirm_changes


@click.command("uninstall")
@agent_options
def command(agent: str, scope: str | None, root: Path | None, yes: bool) -> None:
    """Remove knowbound from an AGENT's settings.

    A settings file that was not edited since `install` gets back exactly the bytes it had before. In an edited one,
    only knowbound's entries are removed. The changes are shown first.
    """
    from knowbound.agent.clients import DEFAULT_SCOPE, settings_files
    from knowbound.agent.install import apply, plan_uninstall

    scope = scope or DEFAULT_SCOPE[agent]
    changes = plan_uninstall(settings_files(agent, scope, (root or Path()).resolve(), os.environ))
    if not changes:
        echo(f"Nothing to do: knowbound is not installed in {agent} ({scope}).")
        return
    confirm_changes(changes, yes, f"Uninstall from {agent} ({scope})?")
    apply(changes, keep_originals=False)
    echo(f"Uninstalled from {agent} ({scope}).")
