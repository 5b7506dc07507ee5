"""Evaluations of a test set: one of them, two compared, their trend, their gates, and the questions of `probe`.

It turns the values of `stats/evaluation.py` into sections, and reads nothing else.
Start with `evaluation.py`, then `samples.py`, which has the rows that every format shows.
"""
