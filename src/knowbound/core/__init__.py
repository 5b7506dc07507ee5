"""Plain values: no I/O, standard library and msgspec only."""
