"""`knowbound install`: add hooks and the MCP server to an agent's settings."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knowbound.cli.echo import echo
from knowbound.cli.options import Function, confirm, root_option

if TYPE_CHECKING:
    from knowbound.agent.install import FileChange


def agent_options(function: Function) -> Function:
    """AGENT, --scope, --root and --yes."""
    function = click.option("--yes", is_flag=True, help="Do not ask.")(function)
    function = click.option(
        "--scope",
        type=click.Choice(("user", "project", "local")),
        help="Whose settings: yours everywhere, the project's (shared), yours in this project. "
        "Default: local for claude-code, user for codex.",
    )(function)
    return click.argument("agent", type=click.Choice(("claude-code", "codex")))(root_option(function))


@click.command("install")
@agent_options
def command(agent: str, scope: str | None, root: Path | None, yes: bool) -> None:
    """Connect an AGENT: hooks that inject knowledge into its context, and the MCP server.

    Shows the change to every settings file first, and asks. Other entries stay as they are, byte for byte;
    `knowbound uninstall` restores exactly what was there before.
    """
    from knowbound.agent.clients import DEFAULT_SCOPE, entries, settings_files
    from knowbound.agent.install import apply, plan_install

    scope = scope or DEFAULT_SCOPE[agent]
    files = settings_files(agent, scope, (root or Path()).resolve(), os.environ)
    changes = plan_install(files, entries(agent, scope))
    if not changes:
        echo(f"Nothing to do: knowbound is installed in {agent} ({scope}).")
        return
    confirm_changes(changes, yes, f"Install into {agent} ({scope})?")
    apply(changes, keep_originals=True)
    echo(f"Installed in {agent} ({scope}). To undo: knowbound uninstall {agent} --scope {scope}")
    for note in _notes(agent, scope):
        echo(note, err=True)


def confirm_changes(changes: list[FileChange], yes: bool, question: str) -> None:
    """Show what would change, and continue only where the user agrees."""
    for change in changes:
        echo(change.difference() + (f"\n({change.note})" if change.note else "") + "\n")
    if yes:
        return
    confirm(question, "Nothing was changed.")


def _notes(agent: str, scope: str) -> list[str]:
    """What the user still has to do, one sentence each."""
    import shutil

    notes = ["Restart the agent: it reads its settings when it starts."]
    if agent == "codex":
        notes.append("Codex runs new hooks only after they were reviewed: open /hooks in Codex.")
    if scope == "project" and not shutil.which("knowbound-hook"):
        notes.append("The settings are shared, so they call knowbound-hook by its name; it is not on your PATH yet.")
    return notes
