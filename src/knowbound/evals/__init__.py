"""Run a test set through an agent: samples, executors, grading, comparison (specification 1, sections 5 to 9)."""
