"""Whoever decides a question about text: rules, a model that the user allowed, a recorded verdict, a person's label.

It may read its prompts and cases, the user's permission and kept answers, and ask the configured model; no lens. Start
with `choice.py` (which model), `registry.py` (a judge by its name) and `models/asking.py` (a question and its answer).
"""
