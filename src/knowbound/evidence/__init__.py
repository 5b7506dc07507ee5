"""Lens 3: is what was found enough to answer (specification 3)."""
