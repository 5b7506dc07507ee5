"""How secrets look: vendors' tokens, private keys, addresses, commands, and values that have the name of a secret."""
