"""Lens 2: what the agent is told: items, backends, retrieval, injection (specification 2)."""
