"""Traces of agents: found on disk, read by one reader per format, and turned into the events of `core.trace`.

It may read files that agents left and the store of what was read; it runs nothing of them, and knows no lens. Start at
`registry.py` (the readers), then `readers/claude_code/transcript.py`, and `sessions.py`, which reads what changed.
"""
