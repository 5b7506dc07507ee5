"""Answers of a large model to the prompts of this project, recorded entry by entry (`*.jsonl`), and their making."""
