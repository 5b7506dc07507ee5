"""The verbs about items and what became of them when they were injected. Begin with `verbs.py`."""
