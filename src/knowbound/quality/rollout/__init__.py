"""The rollout of measured ranking: legs, what decides about them, replay, monitors, effective confidences.

It may write the state of the rollout and the measured quality of items. Start with `progress.py`; `legs.py` is
values in, values out.
"""
