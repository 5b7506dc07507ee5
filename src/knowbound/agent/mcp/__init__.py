"""The MCP server that an agent starts: its tools, and the events of hooks that it answers.

Only stdio.py reads and writes the connection; what a tool does is in the rooms below. Start with server.py.
"""
