"""Build systems: builds and tests in a copy of the tree, and what their output says."""
