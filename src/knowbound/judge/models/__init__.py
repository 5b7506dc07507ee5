"""Judges that are models: over an API, a command line, or recorded."""
