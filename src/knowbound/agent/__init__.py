"""The border between knowbound and agents: hooks, MCP server, installation, doctor, forget."""
