"""Where knowbound meets the agents: hooks, MCP server, installation."""
