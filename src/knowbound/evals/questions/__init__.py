"""Competency questions: what a knowledge base should be able to answer (specification 1, section 9)."""
