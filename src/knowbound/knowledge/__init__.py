"""Lens on what agents know: statements checked against the tree (`lint`), rules against sessions (`rules`).

It reads checkouts and sessions, runs nothing of a project, and writes only what is held back of items. Start at
`lint.py`: `statements.py` cuts a file, `named.py` says what a line names, `checking.py` looks it up.
"""
