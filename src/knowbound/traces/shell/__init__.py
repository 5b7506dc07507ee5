"""What a shell command line does: its syntax, the lookups in it and how they ended."""
