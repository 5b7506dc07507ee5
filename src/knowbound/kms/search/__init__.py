"""Search for the items that a text is about, and their ranking."""
