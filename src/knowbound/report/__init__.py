"""Reports for people and programs: what every lens found, in any format.

Made of values that lenses fill; it touches no file, no store and no model, and imports only `core`, `stats` and `text`.
Start with `sections.py` (what a page is made of), then `gaps/observe.py` (a report) and `formats/__init__.py`.
"""
