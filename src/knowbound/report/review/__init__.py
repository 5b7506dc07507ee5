"""The front door: the actions of a project on one screen, and the same for a team.

It prints what `review/` ranked, and ranks nothing itself; `team_model.py` is also the format of a shared file.
Start with `page.py`.
"""
