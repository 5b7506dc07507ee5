"""Labelled sets as a yardstick for any tool: questions, a scorer, and the rows of ours (README.md)."""
