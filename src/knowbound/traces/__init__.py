"""Traces of agents as core values; `readers/` has one module or folder per agent."""
