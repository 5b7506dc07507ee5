"""The knowledge store: items, backends, index, search, corrections, importing (specification 2)."""
