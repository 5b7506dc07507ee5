"""The verbs of the command line, each a thin function that reads options, calls one story and prints what it returns.

It may use every room below it, and joins two capabilities where a screen shows both. `main.py` lists the verbs with the
module of each (`VERB_command`); `options.py`, `asking.py` and `output.py` have what they share, so begin there.
"""
