"""How misses ended."""
