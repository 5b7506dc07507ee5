"""Specification 2, the measuring half: turns that have ended are scored, logged, rolled up and shown."""
