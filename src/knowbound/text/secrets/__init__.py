"""Patterns of secrets: vendors' tokens, private keys, addresses, commands, and values named as secrets."""
