"""Whether a sentence speaks of doubt (specification 1, section 4, source 3)."""
