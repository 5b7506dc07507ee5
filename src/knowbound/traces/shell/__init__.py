"""Shell command lines: their syntax, their lookups and the outcomes of these. Nothing is ever run.

The standard library and `core` only: a hook reads missed command lines with it. `parser.py` makes the tree of a line,
`programs.py` says what each program does, `plan.py` puts it together, `lookup.py` reads the output. Their neighbours
are loaded when a line has what they read.
"""
