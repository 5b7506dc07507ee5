"""Judges of turns: was an injected item on topic, used, contradicted (specification 2, section 3)."""
