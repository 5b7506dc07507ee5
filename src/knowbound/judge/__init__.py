"""Judges decide questions about text: by rules, by a model, or from a recording."""
