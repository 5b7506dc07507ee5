"""Whoever decides a question about text: the protocol, rules, cache."""
