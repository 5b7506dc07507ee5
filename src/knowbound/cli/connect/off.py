"""`knowbound off`: all hooks do nothing until `knowbound on`."""

from __future__ import annotations

import click

from knowbound.cli.echo import echo


@click.command("off")
def command() -> None:
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
