"""Lens on answers: claims of recorded turns against the evidence in their traces, and one diagnosis per turn.

It may read traces, the other lenses and what is stored, and starts nothing. Start at `audit.py`, the main steps;
`reading.py` reads one session, `success.py` and `exact.py` have the rules of each claim, `runs.py` the checks that ran.
"""
