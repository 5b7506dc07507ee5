"""`knowbound mcp`: the MCP server that agents start."""

from __future__ import annotations

from pathlib import Path

import click

from knowbound.cli.options import project_option


@click.command("mcp")
@project_option
def command(root: Path | None) -> None:
    """Serve the knowledge store to an agent (MCP over stdio).

    `knowbound install` writes the settings that make an agent start it. Without --root it serves the project that the
    agent works in: the nearest folder upwards that has a .knowbound, else the root of the repository. Settings of the
    project that you have not trusted count as not set.
    """
    from knowbound.agent.mcp.server import serve

    serve(root.resolve() if root else None)
