"""The MCP server: the knowledge store and the evidence lens as tools of an agent."""
