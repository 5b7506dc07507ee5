"""The entry point of `knowbound`.

An agent waits for its MCP server before it asks the model, so `knowbound mcp` without options starts without the
command line, which takes 0.1 s to load.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the verb that the arguments name."""
    if sys.argv[1:] == ["mcp"]:
        from knowbound.agent.mcp.server import serve

        serve(None)
    else:
        from knowbound.cli.main import main as run

        run()
