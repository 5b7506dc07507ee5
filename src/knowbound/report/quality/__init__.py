"""Does what we inject help? The screen, the page and the item pages of `quality`, and the rollout (specification 2).

It turns the values of `model.py` into sections; `quality/` makes them from the log.
Start with `status.py`.
"""
