"""Checks the health of an installation, one file per question. It repairs nothing."""
