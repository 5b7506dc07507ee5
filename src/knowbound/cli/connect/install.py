"""`knowbound install`: add hooks and the MCP server to an agent's settings."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knowbound.cli.echo import echo
from knowbound.cli.options import Function, confirm, root_option

if TYPE_CHECKING:
    from knowbound.agent.install import FileChange


def agent_options(default_scope: str) -> Callable[[Function], Function]:
    """AGENT, --scope, --root and --yes."""

    def with_options(function: Function) -> Function:
        function = click.option("--yes", is_flag=True, help="Do not ask.")(function)
        function = click.option(
            "--scope",
            type=click.Choice(("user", "project", "local")),
            help="Whose settings: yours everywhere, the project's (shared), yours in this project. "
            f"Default: {default_scope}.",
        )(function)
        return click.argument("agent", type=click.Choice(("claude-code", "codex")))(root_option(function))

    return with_options


@click.command("install")
@agent_options("user")
def command(agent: str, scope: str | None, root: Path | None, yes: bool) -> None:
    """Connect an AGENT: hooks that inject knowledge into its context, and the MCP server.

    Once is enough: the user scope works wherever an agent is started, and hooks do nothing where no project around has
    knowledge stored. The other scopes are for the project that the current folder is in. Installing again brings an
    earlier installation up to date. Shows the change to every settings file first, and asks. Other entries stay as they
    are, byte for byte; `knowbound uninstall` restores exactly what was there before.
    """
    from knowbound.agent.clients import DEFAULT_SCOPE, entries, settings_files
    from knowbound.agent.install import apply, installed_files, local_files, plan_install

    scope = scope or DEFAULT_SCOPE
    project = project_of(root)
    where = scope if scope == "user" else f"{scope}, {project}"
    files = settings_files(agent, scope, project, os.environ)
    if scope == "local" and installed_files(agent, "user", project, os.environ):
        echo(f"Nothing to do: knowbound is installed in {agent} (user), which includes this project.")
        return
    is_everywhere = (agent, scope) == ("claude-code", "user")
    replaced = list(local_files(os.environ)) if is_everywhere else []  # both would answer every prompt
    changes = plan_install(files, entries(agent, scope), replaced)
    if not changes:
        echo(f"Nothing to do: knowbound is installed in {agent} ({where}).")
        return
    confirm_changes(changes, yes, f"Install into {agent} ({where})?")
    apply(changes)
    echo(f"Installed in {agent} ({where}). To undo: knowbound uninstall {agent} --scope {scope}")
    for note in _notes(agent, scope, project):
        echo(note, err=True)


def project_of(root: Path | None) -> Path:
    """The project that is meant: the given folder, or the work tree that the current one is in."""
    from knowbound.store.data_dir import work_tree

    current = os.getcwd()
    return root.resolve() if root else Path(work_tree(current) or current).resolve()


def confirm_changes(changes: list[FileChange], yes: bool, question: str) -> None:
    """Show what would change, and continue only where the user agrees."""
    for change in changes:
        echo(change.difference() + (f"\n({change.note})" if change.note else "") + "\n")
    if yes:
        return
    confirm(question, "Nothing was changed.")


def _notes(agent: str, scope: str, project: Path) -> list[str]:
    """What the user still has to do or to know, one sentence each."""
    import shutil

    from knowbound.distribution import is_temporary, path_command

    notes = ["Restart the agent: it reads its settings when it starts. To see that it works: knowbound doctor"]
    if agent == "codex":
        notes.append("Codex runs new or changed hooks only after they were reviewed: open /hooks in Codex.")
    if agent == "claude-code" and scope != "user":
        notes.append(
            f"Claude Code reads these hooks only when it is started in {project} itself. For subfolders and linked "
            "work trees: knowbound install claude-code"
        )
    if scope == "project":
        notes.append(
            "The settings are shared: the hooks do nothing for those who have no knowbound-hook on their PATH, and "
            "give way where someone has them in their own settings."
        )
        if not shutil.which("knowbound-hook"):
            notes.append(f"It is not on your PATH yet. Try: {path_command()}")
    elif is_temporary():
        notes.append("This knowbound runs from a temporary environment: install it to stay, and then install again.")
    return notes
