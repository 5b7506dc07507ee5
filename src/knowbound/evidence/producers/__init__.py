"""One module per source of evidence, behind one protocol."""
