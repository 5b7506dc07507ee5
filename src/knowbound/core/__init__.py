"""Plain values that travel between rooms: a trace, a signal, evidence, an item, a statement, a path.

No file, process or clock is touched here, and nothing above is imported. Start at the noun that you need.
"""
