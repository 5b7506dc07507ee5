"""One module per backend of record, behind one protocol."""
