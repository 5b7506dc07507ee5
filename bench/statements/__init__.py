"""Labelled statements of instruction files."""
