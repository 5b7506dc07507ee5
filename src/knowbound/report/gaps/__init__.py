"""The report of `observe`, its topics, and the sections that every report about gaps shares.

It turns the values of `report/model.py` into sections, and reads nothing else.
Start with `observe.py`, then `figures.py`.
"""
