"""How good the machinery itself is: a judge against labels, and the relevance floor against labelled prompts.

It turns the values of `stats/calibration.py` and `stats/floor.py` into sections, and reads nothing else.
Start with `calibration.py`.
"""
