"""Warranted corrections: raised, drafted, suggested, answered."""
