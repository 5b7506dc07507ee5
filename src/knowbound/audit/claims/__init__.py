"""The checkable statements of an answer, and what the trace says about each."""
