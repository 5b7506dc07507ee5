"""The read model: the items of every backend in one local SQLite file, and the search in it."""
