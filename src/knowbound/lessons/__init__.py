"""Lessons: from what is missed again and again to verified lines, and from one miss to the right place (`rescue/`).

It may read traces, the tree and the store, ask a judge, and change a knowledge file only where a person applies a
lesson. Start with `learn.py`; `proposing.py` makes lessons of proposals, `verifying.py` checks them in the tree.
"""
