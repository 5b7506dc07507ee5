"""Flags, chains of superseded items, copies, and changes in several backends at once."""
