"""`knowbound on`: hooks work again after `knowbound off`."""

from __future__ import annotations

import click

from knowbound.cli.echo import echo


@click.command("on")
def command() -> None:
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
