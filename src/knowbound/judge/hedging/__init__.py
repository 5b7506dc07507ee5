"""Judges of doubt in sentences (specification 1, section 4, source 3).

They may look at a sentence, its neighbours and the user's question. Start with `verdict.py`, which asks any judge
within its cap; `rules.py` judges without a
model.
"""
