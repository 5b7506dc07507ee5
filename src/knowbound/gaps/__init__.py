"""Specification 1: what agents looked for and did not find, how each miss ended, and the topics that come of it.

It may read traces and the tree of the project, ask a judge, and keep findings and reports in the store. Start with
`observe.py`; `lens.py` follows one session, `aggregate.py` counts.
"""
