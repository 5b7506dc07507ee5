"""Statements of knowledge files and items, checked against the tree."""
