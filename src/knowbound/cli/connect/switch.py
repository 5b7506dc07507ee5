"""`knowbound on` and `knowbound off`: switch all hooks."""

from __future__ import annotations

import click

from knowbound.cli.output import echo


@click.command("on")
def on() -> None:
    """Switch all hooks on again after `knowbound off`."""
    from knowbound.agent.switch import VARIABLE, off_state, switch_on
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
    from knowbound.agent.switch import off_state, switch_off
    from knowbound.errors import StoreError

    try:
        switch_off()
    except OSError as error:
        raise StoreError(
            "switch-unwritable", f"The hooks cannot be switched off: {error}. Try: KNOWBOUND_OFF=1"
        ) from error
    echo(f"Hooks are off ({off_state()}). Try: knowbound on")
