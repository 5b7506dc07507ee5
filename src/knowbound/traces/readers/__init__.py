"""The readers: one module or folder per agent, with what is known of its format in the docstring.

A reader yields events and counts what it cannot use; it decides nothing about them. `chat.py` on `dialogue.py` is the
shortest whole one; docs/readers.md writes another.
"""
