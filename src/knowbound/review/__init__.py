"""The front door: actions from every lens, ranked, and their fixes."""
