"""The border between knowbound and agents: hooks, the MCP server, installation, `doctor`, `forget`.

It may use every room below, and alone writes agents' settings. Start with hook/run.py, which answers an
event; install/clients.py has what is installed where.
"""
