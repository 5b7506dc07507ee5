"""Counts, rates, intervals, paired tests, agreement, trends and gates, as values without input or output.

It touches `core` values and numbers alone, so every figure can be tested against its formula. Start with `rate.py`,
then `paired.py` and `gate.py`.
"""
