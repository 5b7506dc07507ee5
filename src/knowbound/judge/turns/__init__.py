"""Judges of turns: on topic, used, contradicted, for each item (specification 2, "The judge").

They may look at one turn and its items. Start with `rules.py`, which also has the protocol of a judge; `model.py` asks
a model, `values.py` finds the values that texts can contradict each other in.
"""
