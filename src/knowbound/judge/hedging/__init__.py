"""Judges of doubt in sentences (specification 1, section 4, source 3)."""
