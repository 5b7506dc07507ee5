"""Suggested corrections in any format: which entry, what contradicted it, what would replace it, how to answer."""
