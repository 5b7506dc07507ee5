"""The rollout of measured ranking: legs, what decides about them, replay, monitors, effective confidences."""
