"""Turns as they are found, joined from what is known about each, and scored from traces.

They may read traces and the log of injections, and write nothing. Start with `found.py`, then `joining.py`;
`recorded.py` scores traces that no hook reported.
"""
