"""Shell command lines: their syntax, their lookups and the outcomes of these."""
