"""Lens 1: what the agent looked for and did not find (specification 1)."""
