"""Find and rank the items that a text is about."""
