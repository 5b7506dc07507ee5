"""Knowledge that hooks inject into an agent's context, and its record (specification 2)."""
