"""The readers of traces against a second reading by hand and a count by plain JSON."""
