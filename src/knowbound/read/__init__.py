"""Traces and knowledge files turned into core values; one file per agent."""
