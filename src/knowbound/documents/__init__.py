"""Index of a documentation tree, and answers from its sections."""
