"""`knowbound hook`: the same as `knowbound-hook`, which starts faster."""

from __future__ import annotations

import click


@click.command("hook", context_settings={"ignore_unknown_options": True})
@click.argument("event", default="")
def command(event: str) -> None:
    """Answer an agent's hook: EVENT is user-prompt-submit or session-start, or says that a turn has ended.

    Reads the agent's hook JSON on stdin and prints the context to inject, or nothing. stop, stop-failure, interrupt,
    subagent-stop and session-end print nothing: they queue the turn, and a worker in the background scores it. The
    exit code is always 0; failures are written to .knowbound/hook.log, which `knowbound doctor` shows. Agents should
    call knowbound-hook, which does the same and starts faster.
    """
    from knowbound.agent.hook import main

    main([event])
