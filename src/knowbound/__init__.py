"""knowbound finds the edge of what AI agents know."""

__version__ = "0.1.0"
