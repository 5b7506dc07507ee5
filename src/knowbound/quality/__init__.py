"""Specification 2, the measuring half: turns that have ended are scored, logged, rolled up and shown.

It may read traces, the log of injections and the store, ask a judge, and write the quality log; what corrects an item
goes through the knowledge store. Start with `scoring.py` (a turn) and `status.py` (the screen); `found_turns.py` and
`joining.py` have what is known about a turn, `corrections.py` and `suggesting.py` what is contradicted.
"""
