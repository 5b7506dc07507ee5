"""Traces of agents turned into core values; `readers/` has one module or folder per agent."""
