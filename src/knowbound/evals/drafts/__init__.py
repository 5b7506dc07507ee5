"""Samples proposed from gaps and uncovered files."""
