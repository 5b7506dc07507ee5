"""Rescue: a lookup that missed is answered with the place that was meant, or not at all.

In a hook it may read the kept index, files of the tree and the store, and writes nothing. Start with `rescue.py`;
`event.py` reads the event, `paths.py`, `globs.py` and `patterns.py` are the rules, `asking.py` asks a model.
"""
