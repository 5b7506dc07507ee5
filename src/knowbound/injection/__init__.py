"""What hooks inject into an agent's context, and the record of it (specification 2)."""
