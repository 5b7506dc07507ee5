"""Lens 3: answers that rest on evidence, or what evidence is missing for one (specification 3)."""
