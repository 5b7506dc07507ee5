"""Index of a source tree: files, symbols, references, languages."""
