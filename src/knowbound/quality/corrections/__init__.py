"""Warranted corrections: raised, drafted, suggested, answered.

They may hold items back and, on an answer, supersede one in the knowledge store. Start with `discovery.py` (records),
then `fixing.py` (drafts), `answers.py` and `loop.py` (the worker).
"""
