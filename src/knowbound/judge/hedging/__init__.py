"""Whether a sentence expresses doubt (specification 1, section 4, source 3)."""
