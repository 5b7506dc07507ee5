"""Agents: `knowbound install` and `uninstall` connect them, `doctor` looks at it, `on`, `off` and `wrong` switch hooks.

Agents themselves call `hook`, `mcp` and `statusline`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from knowbound.cli import options
from knowbound.cli.options import argument, option, verb
from knowbound.cli.output import confirm, echo, emit
from knowbound.errors import WRONG_INPUT, StoreError
from knowbound.language import say

if TYPE_CHECKING:
    from knowbound.agent.doctor import HealthCheck
    from knowbound.agent.install.changes import FileChange

_LIVE = (
    "The hooks add stored items to the prompts that they are about, say where a failed search should have looked, and "
    "queue each turn for scoring; the server lets the agent search and correct items. Nothing leaves this machine "
    "unless you allow a model. To stop all of it at once: knowbound off"
)
_SHADOW = "The hooks record what they would add to a prompt, and add nothing. To stop all of it at once: knowbound off"


_agent = argument(choices=("claude-code", "codex"))
_yes = option("Do not ask.")


def _scope_option(default: str) -> Any:
    scopes = "Change your settings everywhere, the project's shared settings, or your settings in this project."
    return option(f"{scopes} Default: {default}.", choices=("user", "project", "local"))


@verb("install")
def install_command(
    agent: str = _agent,
    root: Path | None = options.root,
    scope: str | None = _scope_option("user"),
    yes: bool = _yes,
    in_shadow: bool | None = option(
        "Record what would be injected, and inject nothing until you looked at ten choices; or inject at once.",
        "--shadow/--live",
    ),
) -> None:
    """Connect an AGENT: hooks that inject knowledge into its context, and the MCP server.

    A terminal asks which way to start. In shadow (for all your agents and projects) the hooks are installed without the
    server, and nothing reaches the agent: `knowbound quality shadow` shows what would have.
    Shows the change to every settings file first, and asks. The user scope works wherever an agent is started, and
    hooks do nothing in a project without stored knowledge. The other scopes are for the project that the current folder
    is in. Installing again brings an earlier installation up to date. Other entries stay as they are, byte for byte;
    `knowbound uninstall` restores exactly what was there before.
    """
    from knowbound.agent.hook.interruptions import note_late_hook
    from knowbound.agent.install.changes import apply, installed_files, local_files, plan_install
    from knowbound.agent.install.clients import DEFAULT_SCOPE, entries, settings_files, wants_late
    from knowbound.config import load
    from knowbound.injection.hook_settings import switch_shadow

    scope = scope or DEFAULT_SCOPE
    project = _project_of(root)
    scope_words = scope if scope == "user" else f"{scope}, {project}"
    files = settings_files(agent, scope, project, os.environ)
    if scope == "local" and installed_files(agent, "user", project, os.environ):
        echo(say("Nothing to do: knowbound is installed in {} (user), which includes this project.", agent))
        return
    is_everywhere = (agent, scope) == ("claude-code", "user")
    replaced = list(local_files(os.environ)) if is_everywhere else []  # both would answer every prompt
    in_shadow = _ask_for_shadow(yes) if in_shadow is None else in_shadow
    late = not in_shadow and wants_late(load(project, ignore_untrusted=True))  # one more hook, after every tool
    our_entries = entries(agent, scope, late=late, has_server=not in_shadow)
    if in_shadow:  # an agent could search the store by its tools
        replaced += [file for file in files if file.servers]
        files = tuple(file for file in files if file.has_hooks)
    changes = plan_install(files, our_entries, replaced)
    if changes:
        question = say("Install into {} ({})?", agent, scope_words)
        _confirm_changes(changes, yes, question, _SHADOW if in_shadow else _LIVE)
    switch_shadow(is_on=in_shadow)  # before the hooks are there
    apply(changes)
    note_late_hook(agent, is_installed=late and bool(our_entries.tool_hooks))
    if not changes:
        echo(say("Nothing to do: knowbound is installed in {} ({}).", agent, scope_words))
        return
    echo(say("Installed in {} ({}). To undo: knowbound uninstall {} --scope {}", agent, scope_words, agent, scope))
    if in_shadow:
        echo(say("In shadow: nothing reaches the agent. What would have: knowbound quality shadow"))
    for note in _next_steps(agent, scope, project):
        echo(note, err=True)


@verb("uninstall")
def uninstall_command(
    agent: str = _agent,
    root: Path | None = options.root,
    scope: str | None = _scope_option("all that is yours, here and in other projects"),
    yes: bool = _yes,
) -> None:
    """Remove knowbound from an AGENT's settings.

    A settings file that was not edited since `install` gets back exactly the bytes it had before. An edited file loses
    knowbound's entries only. The changes are shown first.
    """
    from knowbound.agent.hook.interruptions import note_late_hook
    from knowbound.agent.install.changes import apply, installed_files, local_files, plan_uninstall
    from knowbound.agent.install.clients import settings_files

    project = _project_of(root)
    files = list(settings_files(agent, scope or "user", project, os.environ))
    if agent == "claude-code" and scope in (None, "local"):
        files += local_files(os.environ, project)
        files += local_files(os.environ) if scope is None else ()  # in other projects
    changes = plan_uninstall(list(dict.fromkeys(files)))
    if not changes:
        echo(say("Nothing to do: knowbound is not installed in {} ({}).", agent, scope or "user"))
        if scope is None and installed_files(agent, "project", project, os.environ):
            echo(say("It is in the shared settings of the project. Try: knowbound uninstall {} --scope project", agent))
        return
    _confirm_changes(changes, yes, say("Uninstall from {}{}?", agent, f" ({scope})" if scope else ""))
    apply(changes)
    note_late_hook(agent, is_installed=False)
    echo(say("Uninstalled from {}{}.", agent, f" ({scope})" if scope else ""))


def _ask_for_shadow(yes: bool) -> bool:
    """Ask which way to start; a shadow that is on goes on. Without a terminal items are injected at once."""
    from knowbound.injection.hook_settings import shadow_is_on

    if shadow_is_on() or yes or not os.isatty(0):
        return shadow_is_on()
    words = "Start by injecting at once (live), or record only what would be injected and look at ten first (shadow)?"
    return str(click.prompt(say(words), type=click.Choice(("live", "shadow")), default="live")) == "shadow"


def _project_of(root: Path | None) -> Path:
    """Return the given folder, or the work tree that the current folder is in."""
    from knowbound.store.data_dir import work_tree

    current = os.getcwd()
    return root.resolve() if root else Path(work_tree(current) or current).resolve()


def _confirm_changes(changes: list[FileChange], yes: bool, question: str, explanation: str = "") -> None:
    """Show what would change, and what it does. Raises InputError unless the user agrees."""
    for change in changes:
        echo(change.difference() + (f"\n({change.note})" if change.note else "") + "\n")
    if explanation:
        echo(explanation)
    confirm(question, "Nothing was changed.", yes=yes)


def _next_steps(agent: str, scope: str, project: Path) -> list[str]:
    """Return what the user still has to do or to know, one sentence each."""
    import shutil

    from knowbound.distribution import is_temporary, path_command

    steps = ["Restart the agent: it reads its settings when it starts. To see that it works: knowbound doctor"]
    if agent == "codex":
        steps.append("Codex runs new or changed hooks only after they were reviewed: open /hooks in Codex.")
    if agent == "claude-code" and scope != "user":
        steps.append(
            say(
                "Claude Code reads these hooks only when it is started in {} itself. For subfolders and linked work "
                "trees: knowbound install claude-code",
                project,
            )
        )
    if scope == "project":
        steps.append(
            "The settings are shared: the hooks do nothing for users without knowbound-hook on their PATH, and "
            "for users who have the hooks in their own settings."
        )
        if not shutil.which("knowbound-hook"):
            steps.append(say("knowbound-hook is not on your PATH yet. Try: {}", path_command()))
    elif is_temporary():
        steps.append(
            "This knowbound runs from a temporary environment: install knowbound for good, then run this verb again."
        )
    return steps


_SIGNS = {"ok": "ok     ", "note": "note   ", "problem": "PROBLEM"}


@verb("doctor")
def doctor_command(root: Path | None = options.project, format_: str = options.format_of(("text", "json"))) -> int:
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
        _print_checks(checks, next_steps(checks), has_problem=has_problem)
    return WRONG_INPUT if has_problem else 0


def _print_checks(checks: list[HealthCheck], steps: list[HealthCheck], *, has_problem: bool) -> None:
    """Print what to do, then every check; missing extras that no setting needs share a line."""
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


@verb("hook", context_settings={"ignore_unknown_options": True})
def hook_command(event: str = argument(default="")) -> None:
    """Answer the hook EVENT of an agent: user-prompt-submit, session-start, after a tool call, or the end of a turn.

    Reads the agent's hook JSON on stdin and prints the context to inject, or nothing. stop, stop-failure, interrupt,
    subagent-stop and session-end print nothing: they queue the turn, and a worker in the background scores it.
    post-tool-use and post-tool-use-failure print where the thing that a lookup missed really is, or nothing. The exit
    code is always 0; failures are written to .knowbound/hook.log, which `knowbound doctor` shows. Agents should call
    knowbound-hook, which does the same and starts faster.
    """
    from knowbound.agent.hook.process import main

    main([event])


@verb("mcp")
def mcp_command(root: Path | None = options.project) -> None:
    """Serve the knowledge store to an agent (MCP over stdio).

    `knowbound install` writes the settings that make an agent start the server. Without --root it serves the project
    that the agent works in: the nearest folder upwards that has a .knowbound, else the root of the repository. Settings
    of the project that you have not trusted count as not set.
    """
    from knowbound.agent.mcp.server import serve

    serve(root.resolve() if root else None)


@verb("statusline")
def statusline_command() -> None:
    """Print one line for Claude Code's status line: gaps, unsupported claims and injected items of today.

    Reads the client's JSON on stdin. On a terminal it prints the setting that makes Claude Code call it. Sessions count
    once they were read: hooks have that done when a turn has ended, commands when they run.
    """
    from knowbound.agent.statusline import main

    main()


@verb("on")
def on_command() -> None:
    """Switch all hooks on again after `knowbound off`."""
    from knowbound.agent.hook.interruptions import off_state, switch_on
    from knowbound.agent.hook.resident import OFF_VARIABLE

    try:
        were_off = switch_on()
    except OSError as error:
        raise StoreError("switch-unwritable", f"The hooks cannot be switched on: {error}.") from error
    if off_state():
        echo(f"Hooks are still off here: {off_state()}. Try: unset {OFF_VARIABLE}")
    else:
        echo("Hooks are on." if were_off else "Hooks were on already.")


@verb("off")
def off_command() -> None:
    """Switch all hooks off, in every agent and project, from the next prompt on.

    A hook that is off reads its input, prints nothing and records nothing. The agents' settings stay as they are;
    `knowbound on` switches the hooks on again. For one shell only: KNOWBOUND_OFF=1.
    """
    from knowbound.agent.hook.interruptions import off_state, switch_off

    try:
        switch_off()
    except OSError as error:
        raise StoreError(
            "switch-unwritable", f"The hooks cannot be switched off: {error}. Try: KNOWBOUND_OFF=1"
        ) from error
    echo(f"Hooks are off ({off_state()}). Try: knowbound on")


@verb("wrong")
def wrong_command(
    kind: str | None = argument(choices=["injection", "rescue", "check"]), root: Path | None = options.project
) -> None:
    """Say that the last interruption was wrong: what was injected, a rescue, or the check before the agent stopped.

    With KIND, the last of that kind. knowbound doctor shows the share of wrong interruptions in the last seven days,
    and proposes to switch a kind off that was wrong more than once.
    """
    from knowbound.agent.hook.interruptions import call_wrong

    interruption = call_wrong(options.settings_of(root).home, kind or "")
    echo(f"Noted: the {interruption.kind} of {interruption.time} was wrong. The share of wrong ones: knowbound doctor")
