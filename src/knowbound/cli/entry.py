"""The entry point of `knowbound`.

The command line takes 0.1 s to load. An agent waits for its MCP server before it asks the model, so `knowbound mcp`
without options starts without it; so do the status line and a report that was printed before and of which nothing has
changed.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the verb that the arguments name."""
    if sys.argv[1:] == ["mcp"]:  # an agent waits: nothing of the command line is imported
        from knowbound.agent.mcp.server import serve

        serve(None)
        return
    if sys.argv[1:] == ["statusline"]:  # likewise, many times a minute
        from knowbound.agent.statusline import main as print_line

        print_line()
        return
    from knowbound.cli.receipts import print_again, recorder_of

    if print_again(sys.argv[1:]):
        return
    recorder = recorder_of(sys.argv[1:])
    from knowbound.cli import output
    from knowbound.cli.main import main as run

    output.recorder = recorder
    try:
        run()
    except SystemExit as end:
        if recorder is not None and not end.code:
            recorder.keep()
        raise
