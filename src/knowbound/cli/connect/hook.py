"""`knowbound hook`: the same as `knowbound-hook`, which starts faster."""

from __future__ import annotations

import click


@click.command("hook", context_settings={"ignore_unknown_options": True})
@click.argument("event", default="")
def command(event: str) -> None:
    """Answer an agent's hook: EVENT is user-prompt-submit, session-start, after a tool call, or the end of a turn.

    Reads the agent's hook JSON on stdin and prints the context to inject, or nothing. stop, stop-failure, interrupt,
    subagent-stop and session-end print nothing: they queue the turn, and a worker in the background scores it.
    post-tool-use and post-tool-use-failure say where what a lookup did not find really is, or nothing. The
    exit code is always 0; failures are written to .knowbound/hook.log, which `knowbound doctor` shows. Agents should
    call knowbound-hook, which does the same and starts faster.
    """
    from knowbound.agent.hook import main

    main([event])
