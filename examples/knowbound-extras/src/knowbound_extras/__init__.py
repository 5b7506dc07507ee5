"""Parts that this package adds to knowbound."""
