"""A source tree: its files, definitions, passages and their ranking, languages, manifests."""
