"""The report of `audit`: diagnoses, the turns to look at first, and one turn side by side.

It turns the values of `model.py` into sections, and never opens a trace.
Start with `page.py`; `machines.py` has the formats for programs.
"""
