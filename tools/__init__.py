"""Tools for whoever works on knowbound."""
