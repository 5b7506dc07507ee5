"""`knowbound hook` and `mcp`, which agents call; `on` and `off`, which switch all hooks; `wrong`, a word about one."""

from __future__ import annotations

from pathlib import Path

import click

from knowbound.cli.options import project_option
from knowbound.cli.output import echo


@click.command("hook", context_settings={"ignore_unknown_options": True})
@click.argument("event", default="")
def hook(event: str) -> None:
    """Answer the hook EVENT of an agent: user-prompt-submit, session-start, after a tool call, or the end of a turn.

    Reads the agent's hook JSON on stdin and prints the context to inject, or nothing. stop, stop-failure, interrupt,
    subagent-stop and session-end print nothing: they queue the turn, and a worker in the background scores it.
    post-tool-use and post-tool-use-failure print where the thing that a lookup missed really is, or nothing. The exit
    code is always 0; failures are written to .knowbound/hook.log, which `knowbound doctor` shows. Agents should call
    knowbound-hook, which does the same and starts faster.
    """
    from knowbound.agent.hook_process import main

    main([event])


@click.command("mcp")
@project_option
def mcp(root: Path | None) -> None:
    """Serve the knowledge store to an agent (MCP over stdio).

    `knowbound install` writes the settings that make an agent start the server. Without --root it serves the project
    that the agent works in: the nearest folder upwards that has a .knowbound, else the root of the repository. Settings
    of the project that you have not trusted count as not set.
    """
    from knowbound.agent.mcp.server import serve

    serve(root.resolve() if root else None)


@click.command("statusline")
def statusline() -> None:
    """Print one line for Claude Code's status line: gaps, unsupported claims and injected items of today.

    Reads the client's JSON on stdin. On a terminal it prints the setting that makes Claude Code call it. Sessions count
    once they were read: hooks have that done when a turn has ended, commands when they run.
    """
    from knowbound.agent.statusline import main

    main()


@click.command("on")
def on() -> None:
    """Switch all hooks on again after `knowbound off`."""
    from knowbound.agent.interruptions import off_state, switch_on
    from knowbound.agent.switch import VARIABLE
    from knowbound.errors import StoreError

    try:
        were_off = switch_on()
    except OSError as error:
        raise StoreError("switch-unwritable", f"The hooks cannot be switched on: {error}.") from error
    if off_state():
        echo(f"Hooks are still off here: {off_state()}. Try: unset {VARIABLE}")
    else:
        echo("Hooks are on." if were_off else "Hooks were on already.")


@click.command("off")
def off() -> None:
    """Switch all hooks off, in every agent and project, from the next prompt on.

    A hook that is off reads its input, prints nothing and records nothing. The agents' settings stay as they are;
    `knowbound on` switches the hooks on again. For one shell only: KNOWBOUND_OFF=1.
    """
    from knowbound.agent.interruptions import off_state, switch_off
    from knowbound.errors import StoreError

    try:
        switch_off()
    except OSError as error:
        raise StoreError(
            "switch-unwritable", f"The hooks cannot be switched off: {error}. Try: KNOWBOUND_OFF=1"
        ) from error
    echo(f"Hooks are off ({off_state()}). Try: knowbound on")


@click.command("wrong")
@click.argument("kind", type=click.Choice(["injection", "rescue", "check"]), required=False)
@project_option
def wrong(kind: str | None, root: Path | None) -> None:
    """Say that the last interruption was wrong: what was injected, a rescue, or the check before the agent stopped.

    With KIND, the last of that kind. knowbound doctor shows the share of wrong interruptions in the last seven days,
    and proposes to switch a kind off that was wrong more than once.
    """
    from knowbound.agent.interruptions import call_wrong
    from knowbound.cli.options import settings_of

    found = call_wrong(settings_of(root).home, kind or "")
    echo(f"Noted: the {found.kind} of {found.time} was wrong. The share of wrong ones: knowbound doctor")
