"""Can an answer be believed? Claims of recorded turns against the evidence in the trace, and one diagnosis per turn."""
