"""The entry point of `knowbound`.

An agent waits for its MCP server before it asks the model, so `knowbound mcp` starts without the command line's own
0.1 s; every other command goes through it, and so does `knowbound mcp` with options.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run what the arguments say."""
    if sys.argv[1:] == ["mcp"]:
        from knowbound.agent.mcp.server import serve

        serve(None)
    else:
        from knowbound.cli.main import main as run

        run()
