"""Rescue: a lookup that missed is answered with the place that was meant, or not at all."""
