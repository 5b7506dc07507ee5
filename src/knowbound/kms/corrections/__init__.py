"""Flags, superseded chains, copies and their removal."""
