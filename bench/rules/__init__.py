"""Rules of instruction files, and whether sessions obeyed them."""
