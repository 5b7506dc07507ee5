"""Stored text that tries to command an agent is refused."""
