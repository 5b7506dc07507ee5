"""Readers of traces: one module or folder per agent, with its lines, tool names and injected context."""
