"""Build systems: how each one builds and tests, and what its output says."""
