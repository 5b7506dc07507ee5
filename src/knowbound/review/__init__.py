"""The front door: actions of every lens, ranked by what they cost, their fixes, and what a team shares.

The room joins what other capabilities have stored and writes to the project only in fixing.py, after a person agreed.
Start with review.py, which has the main steps; sharing.py and team.py are `share` and `review --team`.
"""
