"""Other people's settings files, edited in place."""
