"""Checks that command lines ran (tests, builds, lint) and the end of each."""
