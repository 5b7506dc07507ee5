"""Claims that rules find in an answer and check against the facts of its session."""
