"""Test sets and what agents make of them: samples, executors, runs, grading, causes, drafts and questions.

It may use any lens, runs agents as processes, and keeps what it made through `store/evaluations.py`; reports are made
elsewhere. Start with `evaluate.py`, which is an evaluation from beginning to end.
"""
