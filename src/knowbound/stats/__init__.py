"""Rates, intervals, paired tests, agreement, trend and gates."""
