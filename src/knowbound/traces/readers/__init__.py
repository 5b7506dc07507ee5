"""One module or folder per agent: its lines, its tool names, its injected context."""
